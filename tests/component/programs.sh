#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real programs compute the same across hosts with the component and without.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

# across NAME MPIRUN-ARGUMENT...: on 3 hosts with 2 processes each.
across() {
    timeout -k 5 "${watchdog:-300}" "$nethosts" 3 2 --mca coll_nicbarr_verbose 1 "$@" > "$scratch/out" 2>&1
}
results() { "$filter" "$scratch/out" > "$scratch/$1"; }
same() { test -s "$scratch/with" && cmp "$scratch/with" "$scratch/without"; }
compare() { # NAME FILTER MPIRUN-ARGUMENT...
    local name=$1
    filter=$2
    shift 2
    check "$name without" across --mca coll ^nicbarr "$@"
    results without
    check "$name with" across "$@"
    check "runs on the NICs" said "processes on [23] nodes: [^o]"
    results with
    check "computes the same" same
}

python=/usr/bin/python3
digest() { grep '^digest' "$1"; }
if $python -c 'import mpi4py' 2> /dev/null; then
    compare mpi4py digest --mca coll_nicbarr_algorithm pairwise \
        $python "$srcdir/tests/mpi/mpi4py_same.py" --steps 200 --ledger "$scratch/ledger"
else
    echo "skip mpi4py: not installed (python3-mpi4py)"
fi

energies() { grep -E '^ +[0-9]+ +-?[0-9.]+ ' "$1"; }
if command -v lmp > /dev/null; then
    compare LAMMPS energies lmp -in "$srcdir/bench/lj.in" -log none
else
    echo "skip LAMMPS: not installed (lammps)"
fi

# HPL's input, in the lines that it wants: N 240 in blocks of 24, on 2 x 3 processes; its report goes
# to a file. Of that, what was computed, not how fast; but for the parallel RandomAccess, whose lost
# updates are chance, and with them whether it calls that a success.
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
    check "and right" grep -q '1 tests completed and passed' "$scratch/with"
else
    echo "skip hpcc: not installed (hpcc)"
fi
finish
