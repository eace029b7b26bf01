#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs that spawn processes on other hosts, or connect to other jobs, hang or run without nicbarr. A job
# that starts on one host must open its NICs then, and they must play the barriers of all. Where they cannot, a line
# gives the true reason. tests/mpi/spawned.c does the rest.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

# 6.0.0rc2 fails if a program spawns more than once (spawn-twice in tests/programs/machine/program.py), as it does to
# let two jobs connect.
generations=2
! is_open_mpi 6 || generations=1
starts() { # HOSTS "PROGRAM-OPTION..." MPIRUN-ARGUMENT...: two processes on the first host
    # shellcheck disable=SC2016,SC2086 # NETHOSTS_MPIRUN is nethosts' own; words
    on_hosts --shell "$1" 2 bash -c 'exec "$NETHOSTS_MPIRUN" -np 2 "$@"' starts \
        --mca coll_nicbarr_verbose 2 "${@:3}" "$programs/spawned" $2 --ledger "$scratch/ledger" \
        --cells "$scratch/ledger" --seed "$seed" --generations $generations
}
# Two processes on the first host, two more on the second; the last two, one on each, have NICs from the start, among
# others that have opened theirs later.
spawning() { starts 2 "--hosts 10.77.0.2 --more-hosts 10.77.0.1,10.77.0.2" "$@"; }
# The second host's two processes meet the third host's.
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
check "plain Open MPI" spawning --mca coll ^nicbarr
check "all generations end" all_ended

for algorithm in auto tree:2; do
    check "$algorithm" spawning --mca coll_nicbarr_algorithm "$algorithm"
    check "all generations end" all_ended
    check "the first with the second: the NICs or what is faster" \
        said "MPI_Barrier on $unnamed, 4 processes on 2 nodes: "
    [ $generations = 1 ] || check "all three" said "MPI_Barrier on $unnamed, 6 processes on 2 nodes: "
    check "nobody goes without" unsaid "stay Open MPI's own"
done
check "by the NICs where they are forced" said "$unnamed, $((2 + 2 * generations)) processes on 2 nodes: tree:2@"
check "the NICs run on for other jobs" said "$lingers"

strangers() {
    check "strangers, plain Open MPI" connecting --mca coll ^nicbarr
    check "all jobs end" all_ended 2
    for algorithm in auto tree:2; do
        check "strangers, $algorithm" connecting --mca coll_nicbarr_algorithm "$algorithm"
        check "all jobs end" all_ended 2
        check "the NICs or what is faster" said "MPI_Barrier on $unnamed, 4 processes on 2 nodes: "
        check "nobody goes without" unsaid "stay Open MPI's own"
    done
    check "by the NICs where they are forced" said "$unnamed, 4 processes on 2 nodes: tree:2@"
}
[ $generations = 1 ] || strangers

# The last packets of a job whose only process on its host ends after its last barrier are lost, too.
ending() {
    # shellcheck disable=SC2016 # NETHOSTS_MPIRUN is nethosts' own
    on_hosts --loss 20 --shell 2 2 bash -c 'exec "$NETHOSTS_MPIRUN" -np 1 "$@"' ends --mca coll_nicbarr_algorithm \
        tree:2 "$programs/spawned" --spawned 1 --generations 1 --barriers 15 --hosts 10.77.0.2 \
        --more-hosts 10.77.0.2 --ledger "$scratch/ledger" --cells "$scratch/ledger"
}
for _ in 1 2 3; do check "a job ends while packets are lost" ending; done

check "no NIC wanted" spawning --mca coll_nicbarr_nic none
check "is said" said "nicbarr: $unnamed is left to Open MPI: .*coll_nicbarr_nic is none"
check "and they end at once" unsaid "$lingers"
check "NICs that no barrier uses" spawning --mca coll_nicbarr_algorithm openmpi
check "end at once, too" unsaid "$lingers"
check "no such network" spawning --mca coll_nicbarr_network 192.0.2.0/24
check "is said" said "barriers on $unnamed (4 processes) stay Open MPI's own: process [0-9]*: .*192.0.2.0/24"
finish
