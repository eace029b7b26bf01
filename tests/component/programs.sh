#!/bin/bash
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
        $python "$srcdir/tests/mpi/mpi4py_across.py"
else
    echo "skip mpi4py: not installed (python3-mpi4py)"
fi

energies() { grep -E '^ +[0-9]+ +-?[0-9.]+ ' "$1"; }
if command -v lmp > /dev/null; then
    compare LAMMPS energies lmp -in "$srcdir/bench/lj.in" -log none
else
    echo "skip LAMMPS: not installed (lammps)"
fi

# Only what it computed: the rest of its report is how fast that was.
verdicts() { grep -E '^(PTRANS|HPL|MPIRandomAccess_Errors|.*_failed|.*Success=|.*PASSED|.*FAILED)' "$1"; }
if command -v hpcc > /dev/null; then
    mkdir "$scratch/hpcc"
    cd "$scratch/hpcc" || exit 1
    cp "$srcdir/tests/component/hpcc.txt" hpccinf.txt
else
    echo "skip hpcc: not installed (hpcc)"
fi
finish
