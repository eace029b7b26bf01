#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job that nicbarr cannot serve hangs or prints no message. All processes of a communicator must fall
# back to the barrier of Open MPI together, and one message must give the reason.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/drawn_common.sh"
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
. "$(dirname "$0")/odd_common.sh"
program=$programs/barrier_ledger
works() { job "$@" && said "^ok"; }
why() { check "one message gives the reason: $1" said_once "are left to Open MPI: .*$2"; }

odd() { works 4 "$scratch/odd.sh" "$@" "$program"; }

check "a job of which one process has other parameters" odd OMPI_MCA_coll_nicbarr_tune_after=7
why "other parameters" "process [0-3] has other coll_nicbarr parameters"
check "a job of which one process lacks the component" odd OMPI_MCA_coll=^nicbarr
why "without the component" "process 2 does not have the component"
# A component with another version number (VERSION), which is compatible, and one with another format of the hellos
# (NICBARR_HELLO_FORMAT), which is not.
version=$(cat "$srcdir/VERSION")
changed() { # NAME SED-COMMAND: writes a component with this change to the directory NAME
    mkdir "$scratch/$1"
    changed_component "$2" > "$scratch/$1/mca_coll_nicbarr.so"
    check "the component with a different $1 is created" eval "! cmp -s '$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so' '$scratch/$1/mca_coll_nicbarr.so'"
}
changed version "s/${version//./\\.}/${version//[0-9]/9}/g"
changed format "$to_another_format"
OMPI_MCA_coll_nicbarr_verbose=1 check "a job of which one process has a component with another version number" odd "OMPI_MCA_mca_base_component_path=$scratch/version:SYSTEM_DEFAULT"
check "nicbarr executes the barriers in spite of the different version" said "one node: .*(measured"
check "a job of which one process has a component with another format" odd "OMPI_MCA_mca_base_component_path=$scratch/format:SYSTEM_DEFAULT"
why "another format" "process [0-3] does not have the component, has another version of it"
# Rank 0, which lacks the component here, is the first member of the communicators that the program creates, by
# MPI_Comm_dup or MPI_Comm_split.
odd_rank=0 check "a job of 2 processes of which rank 0 lacks the component" works 2 "$scratch/odd.sh" OMPI_MCA_coll=^nicbarr \
    "$programs/soak" --cycles 300
why "rank 0 lacks the component" "process 0 does not have the component"
# One process has a /proc of its own, as in another container.
if unshare --pid --fork --propagation unchanged --mount-proc true 2> /dev/null; then
    cat > "$scratch/container.sh" << 'EOF'
#!/bin/bash
[ "${OMPI_COMM_WORLD_RANK-${PMIX_RANK-}}" != 2 ] ||
    exec unshare --pid --fork --propagation unchanged --mount-proc "$@"
exec "$@"
EOF
    chmod +x "$scratch/container.sh"
    check "a job of which one process is in another container" \
        works 4 "$scratch/container.sh" "$program" --ledger "$scratch/ledger"
    check "a message names the process in the other container" said "are left to Open MPI: process"
else
    echo "skip another container: no right to unshare"
fi

# An Open MPI whose structures differ from those in the headers with which the component was built.
others=$builddir/tests/component/.libs/other_structures.so
check "a job with an Open MPI whose structures differ" works 2 -x LD_PRELOAD="$others" --mca coll_nicbarr_verbose 1 "$program"
check "a message reports the different structures" said "nicbarr: not used: built for Open MPI .*has other structures"
! said "MPI_Barrier on"
verdict $? "another release's structures: no barrier is nicbarr's"

# One process has so little address space that Open MPI works, but cannot reserve 256 MiB more. If this process creates
# the shared memory, it is smaller; otherwise the process cannot map it.
for address_space in 300000 400000 500000 600000 800000 1000000 1200000; do
    OMPI_MCA_coll=^nicbarr odd "$address_space" && break
done
check "a job of which one process has little address space" odd "$address_space"

composes="type=two-numbers-of-a-user op=composition-of-maps send=G n=2 c=0"
# Each allocation of the component fails once, in one of the processes. Then either all processes must fall back to Open
# MPI, or the job must end with a message. The second communicator is set up before the first one is tuned, so it adopts
# the first one's choice.
written scarce < <(printf '%s\n' "1 dup c=0 d=1" "2 coll what=barrier how=b times=2 c=1" \
    "3 coll what=barrier how=b times=60 c=0" "4 coll what=barrier how=b times=20 c=1" \
    "5 coll what=allreduce type=MPI_DOUBLE op=MPI_SUM n=4 how=b times=20 c=1" \
    "6 coll what=allreduce how=i $composes r=0 times=8" "7 wait r=0" \
    "8 coll what=allgather how=i type=MPI_INT send=G recv=G n=2 c=0 r=0" "9 wait r=0" \
    "10 coll what=bcast how=i type=MPI_INT send=G recv=G n=2 c=0 r=0" "11 wait r=0" \
    "12 coll what=allreduce how=p $composes r=0" "13 start r=0" "14 wait r=0" "15 rfree r=0" \
    "16 coll what=allgather how=p type=MPI_INT send=G recv=G n=2 c=0 r=0" "17 start r=0" "18 wait r=0" "19 rfree r=0" \
    "20 coll what=allreduce how=b $composes times=5" "21 coll what=allgather how=b type=MPI_INT send=G recv=G n=2 c=0 times=5")
no_memory=$builddir/tests/component/.libs/no_memory.so
ends_or_works() { # NUMBER-OF-THE-ALLOCATION [MPIRUN-OPTION...]
    NO_MEMORY=$1 watchdog=60 works 3 --mca coll_nicbarr_tune_after 3 "${@:2}" \
        "$scratch/odd.sh" LD_PRELOAD="$no_memory" "${scarce[@]}" || said "nicbarr: out of memory"
}
number=0
while ends_or_works "$number" && said "an allocation fails"; do
    number=$((number + 1))
done
! said "an allocation fails" && [ "$number" -gt 20 ]
verdict $? "each allocation of one process fails once, up to number $number: the job works or ends with a message"
check "with coll_nicbarr_check, the first allocation fails" ends_or_works 0 --mca coll_nicbarr_check 1
check "with coll_nicbarr_check, the third allocation fails, during a call" ends_or_works 2 --mca coll_nicbarr_check 1

# When the shared memory is exhausted, all members of further communicators must use Open MPI's functions.
written many < <(for i in {1..600}; do printf "$i %s=$i\n" "dup c=0 d" "coll what=barrier how=b times=2 c"; done)
check "hundreds of communicators in 1 MiB of shared memory" works 4 --mca coll_nicbarr_memory 1 "${many[@]}"
why "1 MiB" "shared memory is used up"

# nicbarr does not use /dev/shm, which may be full or missing. (Open MPI's own transport must not use it here either.)
for options in size=4k mode=000; do
    cat > "$scratch/shm.sh" << EOF
mount --make-rprivate /dev/shm 2> /dev/null
mount -t tmpfs -o $options tmpfs /dev/shm && head -c 1M /dev/zero > /dev/shm/full 2> /dev/null
[ $options != mode=000 ] || umount /dev/shm
exec timeout -k 5 120 mpirun -np 3 --mca btl self,tcp --mca btl_tcp_if_include lo \
    --mca coll_nicbarr_verbose 1 "$program"
EOF
    unshare --mount --propagation unchanged bash "$scratch/shm.sh" > "$scratch/out" 2>&1
    status=$?
    if said "unshare failed\|ermission denied"; then
        echo "skip /dev/shm with $options: no right to mount"
        continue
    fi
    verdict $status "/dev/shm with $options"
    check "nicbarr executes the barriers nevertheless" said "one node: .*(measured"
done

# The kernel NIC executes barriers only between nodes.
check "a job on one node with an algorithm for the kernel NIC" works 4 --mca coll_nicbarr_algorithm tree:4@kernel \
    "$program"
why "an algorithm for the kernel NIC" "coll_nicbarr_algorithm is tree:4@kernel, but on one node"

# Communicators that nicbarr never serves are left to Open MPI without a message.
drawn_barriers shapes 400
check "intercommunicators and other communicators" works 4 "${shapes[@]}"
check "no message is printed" silent
finish
