#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the component takes: memory that does not grow, processors that are given up while waiting.
. "$(dirname "$0")/common.sh"

passes() { job "$@" && said "^ok"; }
for processes in 2 4; do
    check "dup, barrier, free: nothing grows, $processes processes" \
        passes $processes "$programs/soak" --cycles $((20000 / processes))
done
# Open MPI's own waiters take all the processors there are: three have 0.67 each of two. CPU time, not
# time, is what is judged. It is 0.03 to 0.08 as a rule, and 0.27 in bad hours of a virtual machine.
check "who waits for a second takes little of a processor" \
    passes 4 "$programs/cputime" --max-fraction 0.4
grep -E '^ +[0-9]|^#' "$scratch/out"
# A waiter that does not sleep takes all that it can get: alone on its processor that is a fraction of
# 1, which the check above would see. (77: the kernel does not tell what it can get.)
takes_all() {
    job 4 --mca coll_nicbarr_sleep_after -1 "$programs/cputime" --never-sleeps && said "^ok"
    local status=$?
    [ "$status" = 0 ] || [ "$status" = 77 ]
}
check "who does not sleep takes all that there is" takes_all
finish
