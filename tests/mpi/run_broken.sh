#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A test must be able to fail: runs one of the MPI tests with barriers broken on purpose and wants it
# to fail.
#
# usage: run_broken.sh NP PROGRAM [options...]
# environment:
#   MPIRUN              the launcher with its options (default: mpirun; ompi/jobs.sh sets the environment for it)
#   NICBARR_TEST_BREAK  N: one barrier in N does nothing (default 1: all); negative: it waits without
#                       MPI, which progress must find (by --watchdog 5)
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
# The test's own message has to be there: a job that failed to start proves nothing.
if [ $status -eq 0 ] || ! printf '%s\n' "$output" | grep -q '^FAIL '; then
    echo "FAIL run_broken: $* did not notice broken barriers (status $status):"
    printf '%s\n' "$output" | tail -n 20
    exit 1
fi
echo "ok run_broken $(basename "$1") np=$np: $(printf '%s\n' "$output" | grep -m 1 '^FAIL ')"
