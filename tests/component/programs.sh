#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, results of real programs across hosts differ with and without nicbarr.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/programs_common.sh"

run() { timeout -k 5 "${watchdog:-300}" "$nethosts" 3 2 "$@" > "$scratch/out" 2>&1; }
served="processes on [23] nodes: [^o]"
compare_mpi4py --mca coll_nicbarr_algorithm pairwise -- --steps 200 --ledger "$scratch/ledger"
compare_lammps

# With forced algorithms nicbarr combines in the same order from the first call on. Therefore six processes must get the
# same bits in every placement.
placed() { # HOSTS PER-HOST
    timeout -k 5 "${watchdog:-300}" "$nethosts" "$1" "$2" --mca coll_nicbarr_allreduce exchange \
        --mca coll_nicbarr_reduce exchange lmp -in "$srcdir/bench/lj.in" -log none > "$scratch/out" 2>&1 &&
        energies "$scratch/out" > "$scratch/$1-hosts"
}
if command -v lmp > /dev/null; then
    for game in "1 6" "2 3" "6 1"; do
        # shellcheck disable=SC2086 # words
        check "LAMMPS runs with the placement HOSTS PER-HOST $game" placed $game
    done
    cp "$scratch/1-hosts" "$scratch/without"
    for hosts in 2 6; do
        cp "$scratch/$hosts-hosts" "$scratch/with"
        check "the results of LAMMPS on $hosts hosts are the same as on one" same
    done
fi

# The input file of HPCC: HPL with N = 240 in blocks of 24, on 2 x 3 processes. The benchmark writes its report to a
# file. Only results are compared, not times, and the parallel RandomAccess is excluded, because it loses updates by
# chance and therefore fails by chance.
mkdir "$scratch/hpcc"
printf '%s\n' "small" "by line" - 8 1 240 1 24 0 1 2 3 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 8 - 0 0 0 0 \
    > "$scratch/hpcc/hpccinf.txt"
verdicts() {
    grep -E 'tests completed and|^\|\|Ax|^PTRANS_residual|Validates|with error' "$scratch/hpcc/hpccoutf.txt"
    rm "$scratch/hpcc/hpccoutf.txt"
}
if command -v hpcc > /dev/null; then
    cd "$scratch/hpcc" || exit 1
    compare hpcc verdicts hpcc
    check "HPL reports that its results are correct" grep -q '1 tests completed and passed' "$scratch/with"
else
    echo "skip hpcc: not installed (hpcc)"
fi
finish
