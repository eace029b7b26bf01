#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, nicbarr breaks some legal MPI program. Random programs (tests/programs) must give the results of a
# simple reference, and so must those that failed once.
#
# NICBARR_SEED=N repeats the programs. NICBARR_TEST_SECONDS is the time for which random programs run (60).
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/random_common.sh"
is_open_mpi 5 && {
    echo "skip: the generator knows what Open MPI 4.1 and 6.0 cannot do by themselves, and not yet what 5.0 cannot"
    exit 77
}

case_passes() { "$machine" play "$1" > "$scratch/out" 2>&1; }
for program in "$srcdir"/tests/programs/cases/*.program; do
    # (6.0.0rc2 crashes in MPI_Init with pml/monitoring, with and without nicbarr.)
    ! is_open_mpi 6 || [ "${program##*/}" != monitoring.program ] || continue
    check "a case that once failed: $(basename "$program" .program)" case_passes "$program"
done
seconds=${NICBARR_TEST_SECONDS:-40}
check "random programs under random conditions" random "$seconds" "$seed"

# The test itself must detect a wrong result.
wrong() {
    printf '%s\n' "@np 2" "@odd 1 LD_PRELOAD $builddir/tests/component/.libs/wrong_results.so" \
        "1 coll what=allreduce how=b c=0 type=MPI_FLOAT op=MPI_SUM n=3" > "$scratch/wrong"
    case_passes "$scratch/wrong"
}
found() { ! wrong && said "FAIL.*the result"; }
check "a wrong result is detected" found
finish
