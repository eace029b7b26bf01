#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Tests an MPI test: it must fail when barriers are broken on purpose.
#
# usage: run_broken.sh NP PROGRAM [options...]
# environment:
#   MPIRUN              the launcher with its options (default: mpirun; ompi/jobs.sh sets the environment for it)
#   NICBARR_TEST_BREAK  N: every Nth barrier does nothing (default 1: all); negative: it waits without calling
#                       MPI's progress, which the test must detect (use --watchdog 5)
set -u
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"
[ $# -ge 2 ] || usage
np=$1
shift
NICBARR_TEST_BREAK=${NICBARR_TEST_BREAK:-1}
export NICBARR_TEST_BREAK
output=$(${MPIRUN:-mpirun} -np "$np" "$@" 2>&1 </dev/null)
status=$?
# The test's own message must appear: a job that failed to start proves nothing.
if [ $status -eq 0 ] || ! printf '%s\n' "$output" | grep -q '^FAIL '; then
    echo "FAIL run_broken: $* did not notice broken barriers (status $status):"
    printf '%s\n' "$output" | tail -n 20
    exit 1
fi
echo "ok run_broken $(basename "$1") np=$np: $(printf '%s\n' "$output" | grep -m 1 '^FAIL ')"
