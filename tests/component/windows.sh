#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, one-sided communication over btl/myr gives wrong results: on one node, or between hosts, with and
# without packet loss. ob1 must ignore the module for windows.
. "$(dirname "$0")/common.sh"
component=btl_myr myr="--mca pml ob1 --mca btl myr,self"
. "$(dirname "$0")/messages_common.sh"

drawn windows --flavour '{"collectives": ["barrier"], "hows": "b", "windows": true, "atomics": true}'
by_letters="--mca btl_myr_flags send"
beside="--mca pml ob1 --mca btl $usual,myr" # messages use the others

for processes in 1 2 4; do
    check "one-sided operations, $processes processes" over_myr $processes "${windows[@]}"
    myr=$beside check "one-sided operations by btl/myr and messages by other BTLs, $processes processes" over_myr $processes "${windows[@]}"
done
# shellcheck disable=SC2086 # options
{
    check "one-sided operations by messages only, without reads of memory" over_myr 3 $by_letters "${windows[@]}"
    check "one-sided operations, all messages through the NIC" over_myr 3 $by_letters --mca btl_myr_inlet 0 "${windows[@]}"
    check "one-sided operations with few tokens and buffers" over_myr 4 $by_letters --mca btl_myr_tokens 8 --mca btl_myr_buffers 8 "${windows[@]}"
    check "one-sided operations with small fragments" over_myr 3 $by_letters --mca btl_myr_eager_limit 256 \
        --mca btl_myr_far_eager_limit 300 --mca btl_myr_max_send_size 1000 "${windows[@]}"
}
check "one-sided operations while processes wait in barriers" over_myr 3 "$programs/progress"
check "threads access dynamic windows" over_myr 3 "$programs/attached"

export NPS="3" MODES="windows" MPIRUN="mpirun $myr"
killed_over_myr 3

if there_are_hosts; then
    check "one-sided operations between 2 hosts" on_hosts 2 1 "${windows[@]}"
    check "one-sided operations between 3 hosts" on_hosts 3 1 "${windows[@]}"
    check "one-sided operations between 2 hosts with 2 processes each" on_hosts 2 2 "${windows[@]}"
    myr=$beside check "one-sided operations by btl/myr and messages by other BTLs, 2 hosts with 2 processes each" on_hosts 2 2 "${windows[@]}"
    check "threads access dynamic windows, 3 hosts" on_hosts 3 1 "$programs/attached"
    check "one-sided operations between 2 hosts with packet loss" on_hosts --loss 10 --reorder 5 --seed "$seed" 2 1 "${windows[@]}"
    check "one-sided operations between 3 hosts with packet loss and duplicates" on_hosts --loss 5 --duplicate 5 --seed "$seed" 3 1 "${windows[@]}"
    gone() { # mpirun ends the job and reports that a process was killed
        # shellcheck disable=SC2086 # options
        ! timeout -k 5 "${watchdog:-100}" "$nethosts" 3 1 $myr "$programs/killed" --mode windows \
            --after-us 300000 > "$scratch/out" 2>&1 && said "exited on signal 9"
    }
    check "one-sided operations end when a process on another host is killed" gone
fi
finish
