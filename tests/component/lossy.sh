#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a bad network or slow processes break barriers or hang jobs. While packets of the NICs are lost or
# damaged, or processes are slow or stopped, each barrier must be correct according to the ledger of the programs, and
# each job must end.
#
# NICBARR_TEST_STOP is the number of seconds for which a process is stopped (5).
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/playing_common.sh"

bad() { # NAME PROGRAM SWITCH-OPTION...
    played "$@" 3 2
}

for program in "$ledger" "$shapes" "$threads"; do
    bad "barriers with 10 % packet loss" "$program" --loss 10
    check "some packets were lost" did lost
    bad "barriers with 30 % packet loss" "$program" --loss 30
    check "some packets were lost" did lost
done
for program in "$ledger" "$shapes"; do
    bad "barriers with duplicated packets" "$program" --duplicate 10
    check "some packets were duplicated" did duplicated
    bad "barriers with reordered packets" "$program" --reorder 20
    check "some packets were reordered" did reordered
    bad "barriers with corrupted packets" "$program" --corrupt 10
    check "the NICs received corrupted packets" did repaired
    bad "barriers with delayed packets" "$program" --delay 300
    bad "barriers with all faults of the network at once" "$program" --loss 10 --duplicate 10 --reorder 10 --corrupt 10 --delay 100
    check "some packets were lost" did lost
done
# shellcheck disable=SC2086 # words
check "algorithms are chosen by tuning over a bad network" on_hosts --seed "$seed" --loss 10 --duplicate 10 --reorder 10 3 1 \
    --mca coll_nicbarr_verbose 1 $ledger

# ---- slow and stopped processes

# stopping.sh VICTIM TIMES STOPPED RUNNING ARGUMENT...: runs a job, and stops its process VICTIM TIMES times, for
# STOPPED seconds each, with RUNNING seconds in between. The job continues until this is finished.
cat > "$scratch/stopping.sh" << 'EOS'
#!/bin/bash
victim=$1 times=$2 stopped=$3 running=$4
shift 4
rm -f "$over"
"$NETHOSTS_MPIRUN" "$@" &
job=$!
members() {
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/exe")" = "$program" ] && echo "${process#/proc/}"
    done
}
until grep -q ": np " "$output"; do sleep 0.1; done # the program has started
pid=$(members | sort -n | sed -n "${victim}p")
for i in $(seq "$times"); do
    kill -STOP "$pid" || break
    sleep "$stopped"
    kill -CONT "$pid" && echo "stop number $i is over"
    sleep "$running"
done
touch "$over"
wait $job
EOS
chmod +x "$scratch/stopping.sh"
program=$(realpath "$programs/barrier_ledger")
output=$scratch/out over=$scratch/over
export program output over
stop=${NICBARR_TEST_STOP:-5}
for victim in 1 4; do
    check "process $victim is stopped for $stop s" on_hosts --shell 3 2 "$scratch/stopping.sh" $victim 1 \
        "$stop" 0.1 --mca coll_nicbarr_algorithm dissemination:1 \
        "$programs/barrier_ledger" --until "$over" --ledger "$scratch/ledger" --seed "$seed"
    check "the process was stopped during the job" said "stop number 1 is over"
done
check "a process is stopped repeatedly for short times" on_hosts --shell 3 2 "$scratch/stopping.sh" 3 30 0.05 0.05 \
    --mca coll_nicbarr_algorithm pairwise \
    "$programs/barrier_ledger" --until "$over" --ledger "$scratch/ledger" --seed "$seed"
check "the process was stopped repeatedly" said "stop number 30 is over"
finish
