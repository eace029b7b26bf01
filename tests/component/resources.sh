#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, long jobs run out of memory, or waiting processes occupy CPUs that others need.
. "$(dirname "$0")/common.sh"

passes() { job "$@" && said "^ok"; }
for processes in 2 4; do
    check "communicators are created and freed without leaks, $processes processes" \
        passes $processes "$programs/soak" --cycles $((20000 / processes))
done
# The test compares the CPU time of each waiting process with the time for which it waited. The fraction is usually 0.03
# to 0.08, and was at most 0.27 on a busy virtual machine. With Open MPI's own barrier the three waiting processes
# occupy both processors, so their fraction is 0.67 each.
check "a process that waits for a second uses little CPU time" \
    passes 4 "$programs/cputime" --max-fraction 0.4
grep -E '^ +[0-9]|^#' "$scratch/out"
# A waiting process that does not sleep uses all CPU time that it can get. If it has a processor of its own, its
# fraction is close to 1, which the check above would detect. (Status 77: the kernel does not report how much it could
# get.)
takes_all() {
    job 4 --mca coll_nicbarr_sleep_after -1 "$programs/cputime" --never-sleeps && said "^ok"
    local status=$?
    [ "$status" = 0 ] || [ "$status" = 77 ]
}
check "a process that never sleeps uses a whole CPU" takes_all
finish
