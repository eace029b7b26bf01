#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares messages over two BTLs or MTLs, in short jobs of nicbarr_p2p that alternate:
#
#     bench/p2p.sh [-n ROUNDS] [-h] [-r] [-p PROGRAM] A B [OPTION-OF-PROGRAM...]
#     bench/p2p.sh myr,self vader,self            # on one node
#     bench/p2p.sh -h myr,self tcp,self           # on two hosts (nethosts; needs root)
#     bench/p2p.sh mtl:myr vader,self --posted 1000
#     OMPI_MCA_mtl_myr_runner=1 bench/p2p.sh -r mtl:myr vader,self --overlap 1048576
#
# A and B are values for mpirun's --mca btl (with pml ob1), or mtl:NAME (with pml cm). The script prints the medians
# over the rounds, and the quartiles of the ratio A/B of each round. If A is better, the ratio is less than 1 for
# latency, and greater than 1 for bandwidth. With -r, a rank of A that does not compute sleeps and leaves its
# processor to the progress thread of mtl/myr (nicbarr_p2p --rest), whereas a rank of B waits in MPI. mpirun must
# find the components (env.sh).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=ompi/jobs.sh
. "$here/../ompi/jobs.sh"
# shellcheck source=bench/quantiles.sh
. "$here/quantiles.sh"
# shellcheck source=tools/usage.sh
. "$here/../tools/usage.sh"

rounds=5 hosts=no program=nicbarr_p2p rest=
while getopts n:hrp: option; do
    case $option in
        n) rounds=$OPTARG ;;
        h) hosts=yes ;;
        r) rest=--rest ;;
        p) program=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
a=$1 b=$2
shift 2

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

run() { # BTLS|mtl:NAME PROGRAM-OPTION...
    local by="--mca pml ob1 --mca btl $1"
    case $1 in mtl:*) by="--mca pml cm --mca mtl ${1#mtl:}" ;; esac
    shift
    # shellcheck disable=SC2086 # options
    if [ $hosts = yes ]; then
        "$here/../testbeds/hosts/nethosts" 2 $by "$program" "$@"
    else
        mpirun -np 2 $bound $by "$program" "$@"
    fi
}

for round in $(seq 1 "$rounds"); do
    for side in a b; do
        # shellcheck disable=SC2086 # nothing, or an option
        if [ $side = a ]; then run "$a" "$@" $rest; else run "$b" "$@"; fi > "$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
        awk -v side=$side -v round="$round" '/^(latency|bandwidth|hidden)/ {
            print $1, $2, $3, side, round, $5 }' "$scratch/out" >> "$scratch/figures"
    done
done

echo "# A is $a, B is $b; $rounds alternating rounds of each"
awk "$quantiles"'
    { key = $1 " " $2 " " $3; keys[key] = 1; value[key, $4, $5] = $6; if ($5 > rounds) rounds = $5 }
    END {
        printf "# %-26s%12s%12s%10s%10s%10s\n", "", "A", "B", "A/B q1", "median", "q3"
        for (key in keys) {
            for (r = 1; r <= rounds; r++) {
                as[r] = value[key, "a", r]; bs[r] = value[key, "b", r]; ratios[r] = bs[r] > 0 ? as[r] / bs[r] : 0
            }
            sort(as, rounds); sort(bs, rounds); sort(ratios, rounds)
            printf "%-28s%12.3f%12.3f%10.2f%10.2f%10.2f\n", key, quantile(as, rounds, 0.5),
                quantile(bs, rounds, 0.5), quantile(ratios, rounds, 0.25),
                quantile(ratios, rounds, 0.5), quantile(ratios, rounds, 0.75)
        }
    }' "$scratch/figures"
