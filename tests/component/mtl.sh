#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mtl/myr: all of a job's messages by pml/cm, matched and moved by libmyr, on one node and between hosts; and
# nothing of it in jobs that have not asked for it.
. "$(dirname "$0")/common.sh"
ln -s "$builddir/mtl_myr/.libs/mca_mtl_myr.so" "$scratch/components/"
nethosts=$srcdir/nethosts/nethosts
myr="--mca pml cm --mca mtl myr"
runner="--mca mtl_myr_runner 1"
case $(mpirun --version) in
    *"(Open MPI) 4."*) release=4.1 usual=self,vader,tcp ;;
    *) release=5.0 usual=self,sm,tcp ;;
esac
unset OMPI_MCA_btl

ok() { job "$@" && said "^ok"; }
over_myr() { # PROCESSES PROGRAM...
    local processes=$1
    shift
    # shellcheck disable=SC2086 # options
    ok "$processes" $myr "$@"
}

# The test of matching is right: plain Open MPI passes it, and what is spoilt is found.
check "matching, Open MPI's own" ok 3 --mca pml ob1 --mca btl $usual "$programs/matching" --rounds 3
spoilt() {
    # shellcheck disable=SC2086 # options
    ! job 3 $myr "$programs/matching" --rounds 3 --spoil && said "FAIL matching.*overtaken"
}
check "a wrong order is found" spoilt

for way in "" "$runner" "--mca mtl_myr_direct 0" "--mca mtl_myr_buffers 8 --mca mtl_myr_messages 60"; do
    for processes in 1 2 5; do
        # shellcheck disable=SC2086 # options
        check "matching, $processes processes $way" over_myr $processes $way "$programs/matching" \
            --rounds 3 --truncate
    done
done
for way in "" "$runner" "--mca mtl_myr_direct 0" "--mca mtl_myr_buffers 8"; do
    # shellcheck disable=SC2086 # options
    check "messages $way" over_myr 3 $way "$programs/pt2pt" --rounds 5
done
check "messages of several threads" over_myr 3 "$programs/pt2pt" --rounds 3 --threads 4
# shellcheck disable=SC2086 # options
check "messages of several threads, runner" over_myr 3 $runner "$programs/pt2pt" --rounds 3 --threads 4
check "processes that come later" over_myr 3 "$programs/pt2pt" --rounds 2 --spawn
check "no reading of others' memory" over_myr 3 "$programs/pt2pt" --rounds 5 --no-read

for coll in nicbarr,tuned,basic,libnbc,inter,sync,self,sm ^nicbarr; do
    for program in "barrier_ledger --iterations 500" "barrier_shapes --steps 400" ibarrier \
        "threads" "soak --cycles 500"; do
        # shellcheck disable=SC2086 # a program with its options
        check "$program, coll $coll" over_myr 4 --mca coll $coll "$programs"/$program
    done
done

# A long message moves while its receiver and its sender make no call; without a runner it does not. The
# runner may have to wait for a processor, so the program waits for the message, not for a time.
moving() { # LONGEST-WAIT WAY...
    local patience=$1
    shift
    rm -rf "$scratch/files"
    mkdir "$scratch/files"
    # shellcheck disable=SC2086 # options
    ok 2 $myr "$@" "$programs/moving" --folder "$scratch/files" --watchdog "$patience"
}
# shellcheck disable=SC2086 # options
{
    check "a message moves without its hosts" moving 300 $runner
    check "also by pieces" moving 300 $runner --mca mtl_myr_direct 0
}
stands() { ! moving 5 && said "waiting for a message that does not move"; }
check "without a runner it does not" stands

export NPS="3" MPIRUN="mpirun $myr"
check "killed at any moment" bash -c "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' 2 \
    > '$scratch/out' 2>&1"

# Only who asks for it gets it.
verbose="--mca mtl_base_verbose 20"
quiet_ledger="$programs/barrier_ledger --iterations 20"
unsaid() { ! said "$1"; }
# shellcheck disable=SC2086 # options
refused() { ! job 1 $myr "$@" $quiet_ledger; }
# shellcheck disable=SC2086 # options
{
    check "not asked for" ok 2 $verbose --mca pml ob1 --mca btl $usual $quiet_ledger
    check "is not even opened" unsaid "component myr"
    # (One process: Open MPI ends the job with the first that has no PML, maybe before another one speaks.)
    check "no network" refused --mca mtl_myr_network 203.0.113.0/24
    check "says why" said "nicbarr: mtl myr: not used: there is no network to use"
    check "a wrong parameter" refused --mca mtl_myr_buffers 1
    check "says what" said "mtl_myr_buffers is 1, but goes from"
}

if [ $release = 4.1 ] && "$nethosts" 2 true > /dev/null 2>&1; then
    on_hosts() { # HOSTS PER-HOST PROGRAM...
        local hosts=$1 per_host=$2
        shift 2
        # shellcheck disable=SC2086 # options
        timeout -k 5 "${watchdog:-300}" "$nethosts" "$hosts" "$per_host" $myr "$@" \
            > "$scratch/out" 2>&1 && said "^ok"
    }
    check "2 hosts" on_hosts 2 1 "$programs/pt2pt" --rounds 8
    check "3 hosts with 2 processes each" on_hosts 3 2 "$programs/pt2pt" --rounds 3
    check "threads, 2 hosts with 2 processes each" on_hosts 2 2 "$programs/pt2pt" --rounds 2 \
        --threads 3
    # shellcheck disable=SC2086 # options
    for way in "" "$runner"; do
        check "matching, 2 hosts with 2 processes each $way" on_hosts 2 2 $way \
            "$programs/matching" --rounds 3 --truncate
        check "matching, 5 hosts $way" on_hosts 5 1 $way "$programs/matching" --rounds 3
    done
    rm -rf "$scratch/files"
    mkdir "$scratch/files"
    # shellcheck disable=SC2086 # options
    check "a message moves between hosts" on_hosts 2 1 $runner "$programs/moving" \
        --folder "$scratch/files"
else
    echo "skip hosts: nethosts needs root and 4.1's launcher"
fi
finish
