#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs that spawn processes on other hosts, or connect to other jobs, hang or run without nicbarr. A job
# that starts on a single host must open its NICs at that point, and the NICs must execute the barriers of all
# processes. If they cannot, a message must give the correct reason. tests/mpi/spawned.c implements the jobs.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

# Open MPI 6.0.0rc2 fails if a program spawns processes more than once (spawn-twice in
# tests/programs/machine/program.py), which is necessary for a third generation and for two jobs that connect.
generations=2
! is_open_mpi 6 || generations=1
starts() { # HOSTS "PROGRAM-OPTION..." MPIRUN-ARGUMENT...: two processes on the first host
    # shellcheck disable=SC2016,SC2086 # NETHOSTS_MPIRUN is nethosts' own; words
    on_hosts --shell "$1" 2 bash -c 'exec "$NETHOSTS_MPIRUN" -np 2 "$@"' starts \
        --mca coll_nicbarr_verbose 2 "${@:3}" "$programs/spawned" $2 --ledger "$scratch/ledger" \
        --cells "$scratch/ledger" --seed "$seed" --generations $generations
}
# Two processes on the first host spawn two more on the second one, and all of them spawn one on each host. The last two
# have NICs from their start, whereas the others have opened theirs later.
spawning() { starts 2 "--hosts 10.77.0.2 --more-hosts 10.77.0.1,10.77.0.2" "$@"; }
# Two processes on the second host connect to two processes on the third host.
connecting() { starts 3 "--strangers --hosts 10.77.0.2 --more-hosts 10.77.0.3" "$@"; }
all_ended() { # [GENERATIONS]
    [ "$(grep -c "^ok spawned" "$scratch/out")" = $((${1-$generations} + 1)) ]
}
unnamed="an unnamed communicator (context id [0-9]*)"
lingers="nicbarr: the NICs run for another .* for processes of other jobs"
unsaid() { ! said "$1"; }

if [ "$launches" -gt 1 ] && ! (launches=1 patience=60 && spawning --mca coll ^nicbarr); then
    echo "skip: this release's launcher does not spawn onto hosts that are network namespaces"
    exit 77
fi
check "a job spawns processes on other hosts without nicbarr" spawning --mca coll ^nicbarr
check "all generations of processes end normally" all_ended

for algorithm in auto tree:2; do
    check "a job spawns processes on other hosts, algorithm $algorithm" spawning --mca coll_nicbarr_algorithm "$algorithm"
    check "all generations of processes end normally" all_ended
    check "nicbarr chooses the barriers of the first two generations" \
        said "MPI_Barrier on $unnamed, 4 processes on 2 nodes: "
    [ $generations = 1 ] || check "nicbarr chooses the barriers of all three generations" said "MPI_Barrier on $unnamed, 6 processes on 2 nodes: "
    check "no communicator falls back" unsaid "are left to Open MPI"
done
check "the NICs execute the barriers if their algorithm is forced" said "$unnamed, $((2 + 2 * generations)) processes on 2 nodes: tree:2@"
check "the NICs continue to run for other jobs" said "$lingers"

strangers() {
    check "two jobs connect without nicbarr" connecting --mca coll ^nicbarr
    check "both jobs and the one that started them end normally" all_ended 2
    for algorithm in auto tree:2; do
        check "two jobs connect, algorithm $algorithm" connecting --mca coll_nicbarr_algorithm "$algorithm"
        check "both jobs and the one that started them end normally" all_ended 2
        check "nicbarr chooses the barriers of the connected jobs" said "MPI_Barrier on $unnamed, 4 processes on 2 nodes: "
        check "no communicator falls back" unsaid "are left to Open MPI"
    done
    check "the NICs execute the barriers if their algorithm is forced" said "$unnamed, 4 processes on 2 nodes: tree:2@"
}
[ $generations = 1 ] || strangers

# The only process on a host ends after its last barrier. The last packets of its NIC may be lost as well, and must be
# retransmitted for the other job.
ending() {
    # shellcheck disable=SC2016 # NETHOSTS_MPIRUN is nethosts' own
    on_hosts --loss 20 --shell 2 2 bash -c 'exec "$NETHOSTS_MPIRUN" -np 1 "$@"' ends --mca coll_nicbarr_algorithm \
        tree:2 "$programs/spawned" --spawned 1 --generations 1 --barriers 15 --hosts 10.77.0.2 \
        --more-hosts 10.77.0.2 --ledger "$scratch/ledger" --cells "$scratch/ledger"
}
for _ in 1 2 3; do check "processes on both hosts end although the last packets are lost" ending; done

check "a job spawns processes, but no NIC is allowed" spawning --mca coll_nicbarr_nic none
check "a message gives the reason" said "nicbarr: $unnamed is left to Open MPI: .*coll_nicbarr_nic is none"
check "the processes end without delay" unsaid "$lingers"
check "a job spawns processes, but barriers are left to Open MPI" spawning --mca coll_nicbarr_algorithm openmpi
check "the processes end without delay" unsaid "$lingers"
check "a job spawns processes, but the network for NICs does not exist" spawning --mca coll_nicbarr_network 192.0.2.0/24
check "a message gives the reason" said "barriers on $unnamed (4 processes) are left to Open MPI: process [0-9]*: .*192.0.2.0/24"
finish
