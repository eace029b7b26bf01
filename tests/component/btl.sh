#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs with btl/myr lose or mix up messages, on one node or between hosts, or jobs use it without
# requesting it.
. "$(dirname "$0")/common.sh"
component=btl_myr myr="--mca pml ob1 --mca btl myr,self"
. "$(dirname "$0")/messages_common.sh"

check "messages between 2 processes" over_myr 2 "${messages[@]}"
check "messages between 5 processes" over_myr 5 "${messages[@]}"
check "messages with spawned processes" over_myr 3 "${meetings[@]}"
check "messages between processes that may not read each other's memory" over_myr 3 "${blind[@]}"
check "messages by sends only, without reads of memory" over_myr 3 --mca btl_myr_flags send "${messages[@]}"
check "messages between processes of a node through the NIC only" over_myr 4 --mca btl_myr_inlet 0 "${messages[@]}"
check "messages with few tokens and buffers" over_myr 4 --mca btl_myr_tokens 8 --mca btl_myr_buffers 8 "${messages[@]}"
check "messages in small fragments" over_myr 3 --mca btl_myr_eager_limit 256 --mca btl_myr_far_eager_limit 300 \
    --mca btl_myr_max_send_size 1000 --mca btl_myr_flags send "${messages[@]}"

late_on_one_node
barriers_over_myr
check "messages between 128 processes" many_over_myr
check "processes that wait in a barrier progress messages" over_myr 3 "$programs/progress"

same() { test -s "$1" && cmp "$1" "$2"; }
python=/usr/bin/python3
if $python -c 'import mpi4py' 2> /dev/null; then
    for coll in ^nicbarr ^monitoring; do
        check "mpi4py over Open MPI's default BTLs, coll $coll" job 4 --mca coll $coll --mca pml ob1 --mca btl $usual \
            $python "$srcdir/tests/mpi/mpi4py_same.py"
        grep "^digest" "$scratch/out" > "$scratch/usual"
        # shellcheck disable=SC2086 # options
        check "mpi4py over btl/myr, coll $coll" job 4 --mca coll $coll $myr \
            $python "$srcdir/tests/mpi/mpi4py_same.py"
        grep "^digest" "$scratch/out" > "$scratch/myr"
        check "mpi4py has the same results over both, coll $coll" same "$scratch/usual" "$scratch/myr"
    done
else
    echo "skip mpi4py: not installed (python3-mpi4py)"
fi

export NPS="3" MPIRUN="mpirun $myr"
killed_over_myr 2

# Only jobs that request btl/myr use it, and only between processes for which there is no better BTL.
verbose="--mca btl_base_verbose 20"
quiet_ledger="$programs/barrier_ledger --iterations 20"
# shellcheck disable=SC2086 # options
{
    check "a job that does not request the BTL" ok 2 $verbose --mca pml ob1 --mca btl $usual $quiet_ledger
    check "the BTL is not opened" unsaid "select: initializing btl component myr"
    check "a job that requests only the BTL" ok 2 $verbose $myr $quiet_ledger
    check "the BTL is opened and used" said "Using myr btl for send"
    check "a job that requests the BTL in addition to others" ok 2 $verbose --mca pml ob1 --mca btl $usual,myr $quiet_ledger
    check "the BTL is opened" said "select: init of component myr returned success"
    check "the BTL is not used" unsaid "Using myr btl for send"
}

# Without a NIC, other BTLs take over; if there are none, Open MPI reports it.
nowhere="--mca btl_myr_network 203.0.113.0/24" # reserved for documentation (RFC 5737)
# shellcheck disable=SC2086 # options
{
    check "other BTLs take over if there is no network for this one" ok 3 --mca pml ob1 --mca btl $usual,myr $nowhere $quiet_ledger
    check "one message gives the reason" said_once "nicbarr: btl myr: not used: there is no network to use"
    check "a job with an invalid number of tokens uses other BTLs" ok 3 --mca pml ob1 --mca btl $usual,myr --mca btl_myr_tokens 1 \
        $quiet_ledger
    check "one message names the invalid value" said_once "btl_myr_tokens is 1, but must be from"
    check "a job with an invalid warning time uses other BTLs" ok 3 --mca pml ob1 --mca btl $usual,myr --mca btl_myr_warn -1 $quiet_ledger
    check "one message names the invalid value" said_once "btl_myr_warn is -1, but must be from"
    for tokens in 4294967328 abc; do # truncated to 32 bits, the first would be 32, which is valid
        check "a job with the invalid number of tokens $tokens uses other BTLs" ok 3 --mca pml ob1 --mca btl $usual,myr --mca btl_myr_tokens $tokens \
            $quiet_ledger
        check "one message names the invalid value" said_once "not used: btl_myr_tokens is .*$tokens"
    done
}
alone_fails() {
    # shellcheck disable=SC2086 # options
    ! job 3 $myr $nowhere $quiet_ledger && said "nicbarr: btl myr: not used"
}
check "Open MPI reports an error if there is no network for the only BTL" alone_fails

# Receivers that make no MPI calls occupy fragments. With the default number of fragments, exhausting them would take
# 1,000 messages to each of 30 receivers, so the test reduces this number below that of receivers.
scarce() { myr="$myr --mca btl_myr_tokens 8" away "$@"; }
for bytes in 200 1000 20000; do
    check "8 receivers that make no calls delay no others, few fragments, $bytes bytes" scarce 10 --bytes $bytes
done
check "78 receivers that make no calls delay no others" scarce 80
check "one-sided: receivers that make no calls delay no others" scarce 10 --window --messages 100
check "receivers that make no calls delay no others after contact with another job" scarce 10 --met --rounds 1
check "... nor does this delay the receipt of long messages" scarce 10 --met --rounds 1 --bytes 5000 --unasked --probe

# A process that waits in MPI_Comm_disconnect makes no progress, but its acknowledgements must arrive.
acknowledges="--acknowledge --file $scratch/go --bytes 4"
acknowledged() { # PROGRAM-OPTION...
    rm -f "$scratch/go"
    # shellcheck disable=SC2086 # options
    over_myr 1 "$programs/late_receiver" $acknowledges "$@"
}
check "a process that disconnects sends thousands of acknowledgements" acknowledged --messages 5000
# Some of these messages wait for a fragment when the process is spawned. (From Open MPI 5.0 on, MPI_Comm_disconnect makes
# no progress, so the same hangs with Open MPI's own BTLs.)
sent_before() {
    rm -f "$scratch/go"
    over_myr 2 --mca btl_myr_inlet 0 "$programs/late_receiver" --before --file "$scratch/go" --messages 300 --bytes 4
}
! is_open_mpi 4 || check "messages arrive that were sent before the first contact with another job" sent_before

if there_are_hosts; then
    messages_on_hosts
    rm -f "$scratch/go"
    # shellcheck disable=SC2086 # options
    check "a process that disconnects sends acknowledgements to another host" late_from_host "--loss 20" \
        --mca coll ^nicbarr -- $acknowledges --messages 3000
    check "one-sided: a receiver that makes no calls delays no others, 3 hosts" away_on_hosts 3 --window
    for coll in ^nicbarr ^monitoring; do
        check "barriers, 2 hosts with 2 processes each, coll $coll" on_hosts 2 2 --mca coll $coll \
            "${shapes[@]}"
    done
fi
finish
