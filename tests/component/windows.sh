#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, one-sided communication over btl/myr gives wrong results: on one node, with and without permission to
# copy between processes, or between hosts, with and without packet loss. ob1 must ignore the module for windows.
. "$(dirname "$0")/common.sh"
component=btl_myr myr="--mca pml ob1 --mca btl myr,self"
. "$(dirname "$0")/messages_common.sh"

play() { # ARGUMENTS of the program, as one word
    local processes=$1 arguments=${!#}
    # shellcheck disable=SC2086 # options
    job "$processes" $myr "${@:2:$#-2}" "$programs/windows" $arguments && said "^ok windows"
}
by_letters="--mca btl_myr_flags send"
beside="--mca pml ob1 --mca btl $usual,myr" # messages use the others

for processes in 1 2 4; do
    check "windows, $processes processes" play $processes ""
    myr=$beside check "beside other BTLs, $processes processes" play $processes ""
done
# shellcheck disable=SC2086 # options
{
    check "processes may not read each other's memory" play 3 "--no-read"
    check "messages only, without reads" play 3 $by_letters ""
    check "all messages through the NIC" play 3 $by_letters --mca btl_myr_inlet 0 ""
    check "few tokens and buffers" play 4 $by_letters --mca btl_myr_tokens 8 --mca btl_myr_buffers 8 ""
    check "small fragments" play 3 $by_letters --mca btl_myr_eager_limit 256 \
        --mca btl_myr_far_eager_limit 300 --mca btl_myr_max_send_size 1000 ""
    check "large windows" play 2 $by_letters "--windows 3 --rounds 3 --largest 8000000"
}
spoilt() { ! play 2 "--spoil" && said "FAIL windows"; }
check "a corrupted window is detected" spoilt
check "several threads" over_myr 3 "$programs/progress"
check "threads with dynamic windows" over_myr 3 "$programs/attached"

export NPS="3" MODES="windows" MPIRUN="mpirun $myr"
killed_over_myr 3

if there_are_hosts; then
    hosts() { # [NETHOSTS-OPTION...] HOSTS PER-HOST ARGUMENTS: of the program, as one word
        # shellcheck disable=SC2086 # options
        on_hosts "${@:1:$#-1}" "$programs/windows" ${!#} && said "^ok windows"
    }
    check "2 hosts" hosts 2 1 ""
    check "3 hosts" hosts 3 1 "--windows 6"
    check "2 hosts with 2 processes each" hosts 2 2 "--windows 6"
    myr=$beside check "beside other BTLs, 2 hosts with 2 processes each" hosts 2 2 "--windows 6"
    check "threads with dynamic windows, 3 hosts" on_hosts 3 1 "$programs/attached"
    check "2 hosts, losses" hosts --loss 10 --reorder 5 --seed 7 2 1 \
        "--windows 6 --rounds 3 --largest 60000"
    check "3 hosts, losses and duplicates" hosts --loss 5 --duplicate 5 --seed 8 3 1 \
        "--windows 3 --rounds 3 --largest 60000"
    gone() { # mpirun ends the job and reports that a process was killed
        # shellcheck disable=SC2086 # options
        ! timeout -k 5 "${watchdog:-100}" "$nethosts" 3 1 $myr "$programs/killed" --mode windows \
            --after-us 300000 > "$scratch/out" 2>&1 && said "exited on signal 9"
    }
    check "3 hosts, a process is killed" gone
fi
finish
