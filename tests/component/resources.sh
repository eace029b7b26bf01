#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, long jobs run out of memory, or waiting processes occupy CPUs that others need.
. "$(dirname "$0")/common.sh"

passes() { job "$@" && said "^ok"; }
for processes in 2 4; do
    check "communicators are created and freed without leaks, $processes processes" \
        passes $processes "$programs/soak" --cycles $((20000 / processes))
done
# Open MPI's own waiters take all processors: three have 0.67 each of two. The test checks CPU time, not elapsed time:
# usually 0.03 to 0.08, and 0.27 in bad hours of a virtual machine.
check "a process that waits for a second uses little CPU time" \
    passes 4 "$programs/cputime" --max-fraction 0.4
grep -E '^ +[0-9]|^#' "$scratch/out"
# A waiter that does not sleep takes all CPU time that it can get. Alone on its processor that is a fraction close to
# 1, which the check above would detect. (77: the kernel does not say how much it can get.)
takes_all() {
    job 4 --mca coll_nicbarr_sleep_after -1 "$programs/cputime" --never-sleeps && said "^ok"
    local status=$?
    [ "$status" = 0 ] || [ "$status" = 77 ]
}
check "a process that never sleeps uses a whole CPU" takes_all
finish
