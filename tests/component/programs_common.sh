# SPDX-License-Identifier: BSD-3-Clause
# Compares the results of real programs with nicbarr and without. To be sourced after common.sh. The script must define
# the function `run MPIRUN-ARGUMENT...`, which runs a job with output to $scratch/out, and the variable `served`, a
# pattern of nicbarr's message about that job.
# shellcheck shell=bash
same() { test -s "$scratch/with" && cmp "$scratch/with" "$scratch/without"; }
compare() { # NAME FILTER MPIRUN-ARGUMENT...; the command `FILTER FILE` prints the lines that must not differ
    local name=$1 filter=$2
    shift 2
    check "$name runs without nicbarr" run --mca coll ^nicbarr "$@"
    "$filter" "$scratch/out" > "$scratch/without"
    check "$name runs with nicbarr" run --mca coll_nicbarr_verbose 1 "$@"
    check "nicbarr executes collectives of $name" said "$served"
    "$filter" "$scratch/out" > "$scratch/with"
    check "the results of $name are the same with and without nicbarr" same
}

python=/usr/bin/python3
digest() { grep '^digest' "$1"; }
compare_mpi4py() { # arguments of mpirun, --, arguments of the program
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    if $python -c 'import mpi4py' 2> /dev/null; then
        compare mpi4py digest "${options[@]}" $python "$srcdir/tests/mpi/mpi4py_same.py" "${@:2}"
    else
        echo "skip mpi4py: not installed (python3-mpi4py)"
    fi
}

energies() { grep -E '^ +[0-9]+ +-?[0-9.]+ ' "$1"; }
compare_lammps() {
    if command -v lmp > /dev/null; then
        compare LAMMPS energies lmp -in "$srcdir/bench/lj.in" -log none
    else
        echo "skip LAMMPS: not installed (lammps)"
    fi
}
