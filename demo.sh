#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A demonstration on this machine: MPI_Barrier by nicbarr against Open MPI's own, a real program with
# the component on, and the report that says what was chosen and why. Installs and builds what is
# missing first (setup.sh); then it takes two minutes at the most. What it measures is kept in _demo.
set -eu
cd "$(dirname "$0")"
./setup.sh build
. ./env.sh
. ompi/jobs.sh

results=_demo
rm -rf "$results"
mkdir "$results"
# The demonstration measures anew, and leaves what your jobs have measured alone.
export OMPI_MCA_coll_nicbarr_cache=none

say() { printf '\n== %s\n' "$*"; }

# One job in which both barriers take turns.
compare() { # PROCESSES BINDING NAME
    say "$1 processes, $3: nicbarr (A) and Open MPI's own barrier (B) in turns, in one job"
    # shellcheck disable=SC2086 # the binding is two words
    mpirun -np "$1" $2 --mca coll_nicbarr_report "$results/report-$1-$3.json" \
        nicbarr_bench --raw --json "$results/barrier-$1-$3.json" | tee "$results/barrier-$1-$3.txt"
}

for processes in 2 4 8; do
    compare "$processes" "$bound" bound
done
compare 8 "$unbound" unbound

say "LAMMPS, a Lennard-Jones liquid with a barrier before each exchange, without and with nicbarr"
lammps() { # NAME COMPONENTS
    mpirun -np 2 --bind-to core --mca coll "$2" lmp -in bench/lj.in -log none > "$results/lammps-$1.txt"
    printf '%8s: %s\n' "$1" "$(grep '^Loop time' "$results/lammps-$1.txt")"
    # The last line of the table of energies: what was computed.
    grep -E '^ +500 ' "$results/lammps-$1.txt" > "$results/lammps-$1.energy"
}
lammps without '^nicbarr'
lammps with ''
if cmp -s "$results/lammps-without.energy" "$results/lammps-with.energy"; then
    echo "both computed the same: $(cat "$results/lammps-with.energy")"
else
    echo "THE RESULTS DIFFER: see $results/lammps-*.txt" >&2
    exit 1
fi

say "what nicbarr measured in the first job, and what it chose"
nicbarr report "$results/report-2-bound.json" --plot "$results/report.svg"
echo "(as a picture: $results/report.svg)"

say "in short (microseconds; medians of one run each)"
printf '%-22s %10s %10s %10s %14s\n' "" nicbarr "Open MPI" "raw limit" "times faster"
# median FILE NAME: the middle one of the three figures in the line of that name.
median() { awk -v name="$2" '$1 == name && NF == 4 { print $3 }' "$1"; }
for run in 2-bound 4-bound 8-bound 8-unbound; do
    file=$results/barrier-$run.txt
    best=$(sed -n 's/^A\/\([^ ]*\) .*/\1/p' "$file")
    printf '%-22s %10s %10s %10s %14s\n' "${run%%-*} processes, ${run##*-}" "$(median "$file" A)" \
        "$(median "$file" B)" "$(median "$file" "$best")" "$(median "$file" B/A)"
done
echo
echo "To use it in this shell:  . ./env.sh   and then  mpirun ./a.out  as ever."
