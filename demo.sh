#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Demonstrates nicbarr on this machine. It compares nicbarr's MPI_Barrier with Open MPI's function, on
# this node and on a cluster of four hosts, which are network namespaces. It also runs a real program
# with nicbarr and without, and prints the reports that explain the choices. First it installs and
# builds what is missing (setup.sh); the rest takes three minutes. The results are kept in _demo. If
# parts require root, they are skipped with a message.
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
[ $# = 0 ] || usage
cd "$(dirname "$0")"
./setup.sh build
. ./env.sh
. ompi/jobs.sh

export results=_demo
rm -rf "$results"
mkdir "$results"
if [ "$(id -u)" = 0 ]; then
    trap 'chown -R --reference=. "$results"' EXIT # in a directory of another user, the results belong to that user
fi
# The demonstration measures everything itself, and does not use the tuning cache of other jobs.
export OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100

say() { printf '\n== %s\n' "$*"; }
left_out=()

show() { # REPORT PICTURE
    [ -s "$1" ] || { echo "(none: the job was not finished)"; return; }
    nicbarr report "$1"
    local why # a short job may end before it has measured a barrier
    if why=$(nicbarr report "$1" --plot "$2" 2>&1 > "$results/plot.txt"); then
        echo "(as a picture: $2)"
    else
        echo "(no picture: ${why#*: nothing to plot: })"
    fi
}

tell_load() { # prints a line if other programs compete for the processors
    awk -v processors="$(nproc)" '$1 > processors / 2 {
        printf "load %.0f on %d CPUs: the measurements are unreliable\n", $1, processors }' /proc/loadavg
}
tell_load

# ---- this node

# The time limit of a job in seconds, which is only reached on a busy machine.
export most=60
limited() { timeout "$most" "$@" || echo "(it was not finished after $most s: the machine is busy with other jobs)"; }

# Measures both barriers alternately within one job.
compare() { # PROCESSES BINDING NAME
    say "$1 processes, $3: nicbarr (A) and Open MPI's own barrier (B), measured alternately in one job"
    # shellcheck disable=SC2086 # the binding is two words
    limited mpirun -np "$1" $2 --mca coll_nicbarr_report "$results/report-$1-$3.json" \
        nicbarr_bench --raw -c 100 --json "$results/barrier-$1-$3.json" | tee "$results/barrier-$1-$3.txt"
}

for processes in 2 4 8; do
    compare "$processes" "$bound" bound
done
compare 8 "$unbound" unbound

# ---- a real program

# Starts jobs without and with nicbarr alternately for 20 s, and at least three of each. On a busy machine this
# may take longer, but no job begins after $most s. Tuning takes 1 % of their time, as it does by default.
lammps() { # WHERE MPIRUN-ARGUMENT...
    local where=$results/lammps-$1 round=0 began=$SECONDS side
    shift
    while [ $round = 0 ] || [ $((SECONDS - began)) -lt $((round < 3 ? most : 20)) ]; do
        round=$((round + 1))
        for side in without with; do
            "$@" --mca coll "$([ $side = with ] || echo ^nicbarr)" \
                --mca coll_nicbarr_tune_share 1 --mca coll_nicbarr_report "$where.json" lmp -in bench/lj.in -log none > "$where-$side.txt"
            awk -v side=$side '/^Loop time/ { print side, $4 }' "$where-$side.txt" >> "$where.times"
            # The last line of the table of energies is the result of the computation.
            grep -E '^ +500 ' "$where-$side.txt" >> "$where.energies"
        done
    done
    # Prints the ratios of pairs of successive jobs. As there are only few pairs, their range is printed instead of
    # quartiles.
    awk '$1 == "without" { before = $2; without += $2 }
         $1 == "with" { with += $2; r[++n] = before / $2 }
         END {
             for (i = 2; i <= n; ++i) # sorted
                 for (j = i; j > 1 && r[j] < r[j - 1]; --j) { t = r[j]; r[j] = r[j - 1]; r[j - 1] = t }
             middle = (r[int((n + 1) / 2)] + r[int((n + 2) / 2)]) / 2
             printf "alternating jobs of each: %d; %.2f s without nicbarr, %.2f s with (means)\n", n, without / n, with / n
             if (n < 3) { print "these are too few for a result: the machine is busy with other jobs"; exit }
             printf "with nicbarr %.2f times %s (median of %d pairs, times faster: %.2f to %.2f)%s\n",
                 middle < 1 ? 1 / middle : middle, middle < 1 ? "slower" : "faster", n, r[1], r[n],
                 (r[1] < 1 && r[n] > 1) ? ": no significant difference in so few jobs" : ""
         }' "$where.times"
    if [ "$(sort -u "$where.energies" | wc -l)" != 1 ]; then
        echo "THE RESULTS DIFFER: see $where.energies" >&2
        return 1
    fi
    echo "all computed the same: $(head -n 1 "$where.energies")"
}

say "LAMMPS, a Lennard-Jones liquid with a barrier before each exchange, without and with nicbarr"
lammps node mpirun -np 2 --bind-to core

# ---- four hosts

# Runs in the shell of nethosts, so that all measurements on these hosts use the same ones.
on_hosts() { # KIND-OF-NIC...
    local nic
    for nic; do
        say "4 hosts: nicbarr by the NIC \"$nic\" (A) and Open MPI's own barrier over TCP (B), measured alternately"
        limited "$NETHOSTS_MPIRUN" --mca coll_nicbarr_nic "$nic" \
            nicbarr_bench -a '' -b ^nicbarr -c 100 --json "$results/hosts-$nic.json" | tee "$results/hosts-$nic.txt"
    done
    say "LAMMPS on the 4 hosts, without and with nicbarr, which has all these NICs to choose from"
    lammps hosts "$NETHOSTS_MPIRUN"
}
export -f say limited lammps on_hosts

nics=(soft kernel) options=(--kernel)
why=$(nethosts --kernel --shell 2 true 2>&1) || {
    left_out+=("the kernel NIC (${why##*: }); with root: sudo $PWD/demo.sh")
    nics=(soft) options=()
}
if why=$(nethosts --shell 2 true 2>&1); then
    say "a cluster: 4 hosts on this machine, each with a network and an address of its own"
    # shellcheck disable=SC2016 # expanded inside
    nethosts "${options[@]}" --shell 4 1 bash -euc 'on_hosts "$@"' bash "${nics[@]}"
    say "what nicbarr measured for LAMMPS on the hosts, and what it chose"
    show "$results/lammps-hosts.json" "$results/hosts.svg"
else
    nics=()
    left_out+=("the cluster (${why##*: }); with root: sudo $PWD/demo.sh")
fi

# ---- summary

say "what nicbarr measured in the first job, and what it chose"
show "$results/report-2-bound.json" "$results/report.svg"

# Prints a line of the summary. On an idle machine the ratio of the medians is close to the median of the
# ratios; otherwise the line ends in "?".
row() { # NAME FILE
    awk -v name="$1" '
        NF == 4 && sub("^A/", "", $1) { raw = $1; next } # the fastest raw barrier
        NF == 4 { median[$1] = $3; low[$1] = $2; high[$1] = $4 }
        END {
            a = median["A"]; b = median["B"]; ratio = median["B/A"]
            if (!a) { printf "%-26s   it was not finished after '"$most"' s\n", name; exit }
            restless = high["B/A"] > 2 * low["B/A"] || b / a < low["B/A"] || b / a > high["B/A"]
            printf "%-26s%9.2f%10.2f%11s   %.2f (%.2f to %.2f)%s\n", name, a, b, raw == "" ? "" : sprintf("%.2f", median[raw]),
                ratio, low["B/A"], high["B/A"], restless ? " ?" : ""
        }' "$2"
}
say "summary: time of a barrier in microseconds (medians), and how many times faster nicbarr is"
printf '%-26s%9s%10s%11s   %s\n' "" nicbarr "Open MPI" "raw limit" "times faster (quartiles)"
{
    for run in 2-bound 4-bound 8-bound 8-unbound; do
        row "${run%%-*} processes, ${run##*-}" "$results/barrier-$run.txt"
    done
    for nic in "${nics[@]}"; do
        row "4 hosts, NIC $nic" "$results/hosts-$nic.txt"
    done
} | tee "$results/short.txt"
echo "\"Times faster\" is the median of the ratios of pairs that were measured directly after each other."
echo "Since the speed of the machine varies, it differs from the ratio of the columns."
! grep -q '?$' "$results/short.txt" ||
    echo "?: the speed changed too much for a reliable result. Try again when the machine is idle."
tell_load
for what in "${left_out[@]}"; do echo "left out: $what"; done
echo
echo "To use it in this shell:  . ./env.sh   and then  mpirun ./a.out  as usual."
