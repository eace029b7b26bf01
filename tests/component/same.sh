#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real programs compute the same with the component and without.
. "$(dirname "$0")/common.sh"

same() { test -s "$1" && cmp "$1" "$2"; }
python=/usr/bin/python3
if $python -c 'import mpi4py' 2> /dev/null; then
    for processes in 2 5; do
        check "mpi4py without, $processes processes" job $processes --mca coll ^nicbarr \
            $python "$srcdir/tests/mpi/mpi4py_same.py"
        grep -v nicbarr "$scratch/out" > "$scratch/without"
        check "mpi4py with" job $processes $python "$srcdir/tests/mpi/mpi4py_same.py"
        check "computes the same" same "$scratch/out" "$scratch/without"
    done
else
    echo "skip mpi4py: not installed (python3-mpi4py)"
fi

energies() { grep -E '^ +[0-9]+ +-?[0-9.]+ ' "$scratch/out"; }
if command -v lmp > /dev/null; then
    check "LAMMPS without" job 4 --mca coll ^nicbarr lmp -in "$srcdir/bench/lj.in" -log none
    energies > "$scratch/without"
    check "LAMMPS with" job 4 --mca coll_nicbarr_verbose 1 lmp -in "$srcdir/bench/lj.in" -log none
    check "runs nicbarr's barriers" said "MPI_COMM_WORLD, 4 processes on one node"
    energies > "$scratch/with"
    check "computes the same" same "$scratch/with" "$scratch/without"
else
    echo "skip LAMMPS: not installed (lammps)"
fi
finish
