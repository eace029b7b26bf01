#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs with mtl/myr lose, mix up or misorder messages, on one node or between hosts, or jobs use it
# without requesting it.
. "$(dirname "$0")/common.sh"
component=mtl_myr myr="--mca pml cm --mca mtl myr"
. "$(dirname "$0")/messages_common.sh"
runner="--mca mtl_myr_runner 1"

for way in "" "$runner" "--mca mtl_myr_direct 0" "--mca mtl_myr_buffers 8 --mca mtl_myr_messages 60"; do
    for processes in 1 2 5; do
        # shellcheck disable=SC2086 # options
        check "messages between $processes processes $way" over_myr $processes $way "${messages[@]}"
    done
done
# shellcheck disable=SC2086 # options
check "messages of several threads, with a progress thread" over_myr 3 $runner "${in_threads[@]}"
# shellcheck disable=SC2086 # options
check "the progress thread receives no signals" over_myr 2 --mca coll ^nicbarr $runner "$programs/signals"
check "the performance variables count messages correctly" over_myr 2 "$programs/message_pvars"
check "messages with spawned processes" over_myr 3 "${meetings[@]}"
check "messages between processes that may not read each other's memory" over_myr 3 "${blind[@]}"

for bytes in 8 300 4000; do
    check "messages of $bytes bytes that are sent before any is received" over_myr 4 --mca mtl_myr_buffers 8 \
        "$programs/early_sends" --bytes $bytes
done
late_on_one_node
barriers_over_myr
check "messages between 128 processes" many_over_myr

# With a progress thread (mtl_myr_runner) a long message is transferred while neither side makes an MPI call, and
# without one it is not. The thread may have to wait for a processor, so the program waits for the message instead of a
# fixed time.
moving() { # LONGEST-WAIT WAY...
    local patience=$1
    shift
    rm -rf "$scratch/files"
    mkdir "$scratch/files"
    # shellcheck disable=SC2086 # options
    ok 2 $myr "$@" "$programs/moving" --directory "$scratch/files" --watchdog "$patience"
}
# shellcheck disable=SC2086 # options
{
    check "a message is transferred by a progress thread without MPI calls" moving 300 $runner
    check "a message in fragments is transferred by a progress thread without MPI calls" moving 300 $runner --mca mtl_myr_direct 0
}
stands() { ! moving 5 && said "waiting for a message that is not transferred"; }
check "without a progress thread the message is not transferred" stands

export NPS="3" MPIRUN="mpirun $myr"
killed_over_myr 2

# Only jobs that request mtl/myr use it.
verbose="--mca mtl_base_verbose 20"
quiet_ledger="$programs/barrier_ledger --iterations 20"
# shellcheck disable=SC2086 # options
refused() { ! job 1 $myr "$@" $quiet_ledger; }
# shellcheck disable=SC2086 # options
{
    check "a job that does not request the MTL" ok 2 $verbose --mca pml ob1 --mca btl $usual $quiet_ledger
    check "the MTL is not opened" unsaid "component myr"
    # These jobs have one process, because Open MPI ends a job as soon as one process has no PML, perhaps before another
    # one has printed its message.
    check "a job that requires the MTL ends if there is no network" refused --mca mtl_myr_network 203.0.113.0/24
    check "a message gives the reason" said "nicbarr: mtl myr: not used: there is no network to use"
    check "a job that requires the MTL ends if the number of buffers is invalid" refused --mca mtl_myr_buffers 1
    check "a message names the invalid value" said "mtl_myr_buffers is 1, but must be from"
    check "a job that requires the MTL ends if the warning time is invalid" refused --mca mtl_myr_warn -1
    check "a message names the invalid value" said "mtl_myr_warn is -1, but must be from"
    check "a job that requires the MTL ends if a number does not fit into an int" refused --mca mtl_myr_buffers 4294967328
    check "a message names the invalid value" said "mtl_myr_buffers is 4294967328, but must be from"
}

if there_are_hosts; then
    messages_on_hosts
    # shellcheck disable=SC2086 # options
    check "messages between 2 hosts with 2 processes each, progress threads" on_hosts 2 2 $runner "${messages[@]}"
    for bytes in 8 4000; do
        check "messages of $bytes bytes that are sent before any is received, 2 hosts with 2 processes each" on_hosts 2 2 \
            "$programs/early_sends" --bytes $bytes
    done
    check "messages between 5 hosts" on_hosts 5 1 "${messages[@]}"
    check "8 receivers that make no calls delay no others, 10 hosts" away_on_hosts 10 --probe --messages 150 --bytes 40000
    rm -rf "$scratch/files"
    mkdir "$scratch/files"
    # shellcheck disable=SC2086 # options
    check "a message between hosts is transferred by a progress thread without MPI calls" on_hosts 2 1 $runner "$programs/moving" \
        --directory "$scratch/files"
fi
finish
