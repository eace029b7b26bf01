#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job hangs silently when hosts or processes do not enter a barrier, or a late host is mistaken for a
# dead host. A message must name a silent host, which must be given up after coll_nicbarr_timeout. While the NIC of a
# late host answers, the others must wait without a message. Uses small values of coll_nicbarr_warn and
# coll_nicbarr_timeout.
#
#     CUT=60 make check TESTS=tests/component/overdue.sh
#
# CUT: additional seconds for which a host is cut off (0).
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
export dir=$scratch/files out=$scratch/out CUT=${CUT:-0}

# Shell functions for the commands $beside, which cause faults while the job runs. Each function waits for the event
# that it names, and the watchdog ends the script if the event does not occur.
cat > "$scratch/beside.sh" << 'EOS'
#!/bin/bash
until_there() { until [ -e "$dir/$1" ]; do sleep 0.05; done; }
until_all() { for r in $(seq 0 $((processes - 1))); do until_there "$1.$r"; done; }
until_said() { until grep -q -- "$1" "$out"; do sleep 0.05; done; }
tell() { touch "$dir/$1"; }
until_stopped() { until grep -q '^State:.T' "/proc/$(cat "$dir/pid.$1")/status"; do sleep 0.05; done; }
signal() { # SIGNAL RANK...
    local name=$1
    shift
    for r in "$@"; do kill "-$name" "$(cat "$dir/pid.$r")"; done
}
"$NETHOSTS_MPIRUN" "$@" &
job=$!
trap 'signal CONT $stopped 2> /dev/null' EXIT
until_all pid
eval "$beside"
wait $job
EOS
chmod +x "$scratch/beside.sh"

# held_up NAME "NETHOSTS-OPTIONS HOSTS PER-HOST" BESIDE PROGRAM-OPTIONS MCA...: runs a job and the commands BESIDE; the
# job must succeed.
held_up() {
    local name=$1 layout=$2
    beside=$3
    export beside
    # shellcheck disable=SC2086 # words
    set -- "${@:4}" -- $layout
    local options=$1 mca=()
    shift
    while [ "$1" != -- ]; do
        mca+=("$1")
        shift
    done
    shift
    local nodes=${*: -2:1} each=${*: -1}
    export processes=$((nodes * each))
    rm -rf "$dir"
    mkdir "$dir"
    # shellcheck disable=SC2086 # words
    check "$name" on_hosts "${@:1:$#-2}" --shell "$nodes" "$each" "$scratch/beside.sh" \
        --mca coll_nicbarr_verbose 1 "${mca[@]}" "$programs/overdue" --directory "$dir" \
        --ledger "$scratch/ledger" --seed "$seed" $options
}
soon=(--mca coll_nicbarr_warn 1 --mca coll_nicbarr_timeout 3)
given_up() { # NUMBER of the silent host, or a pattern: all processes must have given it up
    check "a message names the silent host" said "barrier [0-9]* on the first has waited for .* without a response from \\(host\\|10.77.0.\\)$1 (rank"
    check "messages on all hosts give the reason for the end" said "barrier [0-9]* on the first .* will not complete: "
    check "the barrier of each process has failed" test "$(find "$dir" -name 'failed.*' | wc -l)" = "$processes"
}
not_a_word() { ! said "without a response from"; }
not_begun() { ! said "reduction 0 on"; }

# Commands that make host 2 silent: they stop its processes, or disconnect it.
stops='stopped="2 3"; signal STOP 2 3; until_there failed.0; signal CONT 2 3; until_all failed; tell resume'
unplugs='"$NETHOSTS_RUN" 2 ip link set eth0 down; until_there failed.0; "$NETHOSTS_RUN" 2 ip link set eth0 up; until_all failed; tell resume'
for nic in soft kernel; do
    kernel=
    [ $nic = soft ] || kernel=--kernel
    if [ $nic = kernel ] && ! "$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1; then
        echo "skip: $(cat "$scratch/out")"
        continue
    fi
    by=(--mca coll_nicbarr_algorithm "dissemination:1@$nic")
    held_up "$nic NIC: a host is disconnected, and barriers on it fail" "$kernel 2 1" "$unplugs" --fails "${by[@]}" "${soon[@]}"
    given_up "[12]"
    held_up "$nic NIC: a host is disconnected, and MPI_Ibarrier fails" "$kernel 2 1" "$unplugs" "--fails --ibarrier" "${by[@]}" "${soon[@]}"
    given_up "[12]"
    held_up "$nic NIC: one of three hosts is disconnected, and barriers fail" "$kernel 3 1" "$unplugs" --fails "${by[@]}" "${soon[@]}"
    given_up "[123]"
    # The host is disconnected for less than coll_nicbarr_timeout, which has its default here.
    held_up "$nic NIC: a host is disconnected for some seconds, and the job continues" "$kernel 2 1" \
        '"$NETHOSTS_RUN" 2 ip link set eth0 down; until_said "without a response from"; sleep $CUT; "$NETHOSTS_RUN" 2 ip link set eth0 up; until_said "continues now"; tell stop' \
        "" "${by[@]}" --mca coll_nicbarr_warn 1
done
by=(--mca coll_nicbarr_algorithm dissemination:1@soft)
died() { # OPTION
    timeout -k 5 "$patience" "$nethosts" 2 2 --enable-recovery --mca coll_nicbarr_nic soft "${by[@]}" \
        "$programs/absent" "$1" > "$scratch/out" 2>&1
    [ $? != 124 ]
}
for option in --dies --idies; do
    check "a process is killed, and its launcher does not end the job ($option)" died $option
    check "a message names the dead process" said "and will not complete: rank 1 has died, or has exited without calling MPI_Finalize\$"
    check "a message on the other host names the silent host" said "and will not complete: host1 (ranks 0 to 1) does not respond, or its processes have exited\$"
done
held_up "all processes of a host are stopped, and barriers on it fail" "2 2" "$stops" --fails "${by[@]}" "${soon[@]}"
given_up 2
# Only the oldest of several outstanding reductions waits for the network. With `rooted` a process of the first host
# combines all contributions, so the others wait for its result.
stops_first='stopped="0 1"; signal STOP 0 1; until_there failed.2; signal CONT 0 1; until_all failed; tell resume'
for way in "exchange $stops" "rooted $stops_first"; do
    held_up "all processes of a host are stopped, and MPI_Iallreduce fails (${way%% *})" "2 2" "${way#* }" "--fails --iallreduce" \
        --mca coll_nicbarr_allreduce "${way%% *}" "${by[@]}" "${soon[@]}"
    check "the reductions of each process have failed" test "$(find "$dir" -name 'failed.*' | wc -l)" = "$processes"
    check "a message names the silent host" said "\(reduction\|broadcast\) [1-9][0-9]* on the first has waited for .* without a response from"
    check "no message is about a reduction that has not begun" not_begun
done
# Hosts that are late but not silent, because another process of the host or the kernel answers.
waits='signal STOP $stopped; sleep 8; signal CONT $stopped; tell stop'
held_up "one process of a host is stopped, another one answers, and the job continues" "2 2" \
    'stopped=3; tell halt.3; until_stopped 3; sleep 8; signal CONT 3; tell stop' "" "${by[@]}" "${soon[@]}"
check "no message reports a silent host" not_a_word
# The job is suspended for longer than PAUSE_MS (coll_nicbarr/overdue.c).
held_up "a process is late, the whole job is suspended meanwhile, and the job continues" "2 2" \
    'stopped="3 2 1 0"; tell halt.3; until_stopped 3; sleep 3; signal STOP 0 1 2; sleep 12; signal CONT 0 1 2; sleep 1; signal CONT 3; tell stop; tell resume' \
    "" "${by[@]}" "${soon[@]}"
if "$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1; then
    held_up "all processes of a host are stopped, its kernel answers, and the job continues" "--kernel 2 2" "stopped='2 3'; $waits" "" \
        --mca coll_nicbarr_algorithm dissemination:1@kernel "${soon[@]}"
    check "no message reports a silent host" not_a_word
fi
finish
