#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What does a wrong choice in the tuning cache cost, and what does watching (coll_nicbarr_tune_watch) make of
# it? MPI_Barrier, nicbarr against Open MPI's own:
#
#     bench/regret.sh [--runs N] [PROCESSES | HOSTSxPER-HOST...]     # default: 4 runs, 2 4 4x1
#
# First the shape is measured. Then three sorts of jobs take turns: with that cache; with one that has the
# slowest candidate for the best, unwatched; the same watched. In each, nicbarr and Open MPI's own take
# turns after 4,000 barriers (nicbarr_bench), so jobs are compared by times faster than Open MPI's own:
# medians and quartiles of these over the runs. Uses what ./setup.sh has built, or the components and
# commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=nethosts/usage.sh
. "$top/nethosts/usage.sh"

runs=4 layouts=()
while [ $# -gt 0 ]; do
    case $1 in
        --runs)
            [ $# -ge 2 ] || usage
            runs=$2
            shift ;;
        [1-9]* ) layouts+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#layouts[@]} != 0 ] || layouts=(2 4 4x1)
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
# shellcheck source=bench/quantiles.sh
. "$top/bench/quantiles.sh"
# shellcheck source=tests/rewrite_cache.sh
. "$top/tests/rewrite_cache.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

job() { # LAYOUT CACHE MPIRUN-ARGUMENT...: how many times faster
    # shellcheck disable=SC2206 # words
    local start=(mpirun -np "$1" $bound)
    [ "$1" = "${1%x*}" ] || start=("$top/nethosts/nethosts" "${1%x*}" "${1#*x}")
    "${start[@]}" --mca coll_nicbarr_cache "$2" "${@:3}" nicbarr_bench barrier -x 4000 -c 100 2> /dev/null |
        awk '$1 == "B/A" { print $(NF - 1) }'
}

layout() { # LAYOUT
    rm -f "$scratch"/*
    job "$1" "$scratch/good" --mca coll_nicbarr_tune_budget 1000 > /dev/null
    rewrite_cache "$scratch/good" "$scratch/sure" 0.99
    rewrite_cache "$scratch/good" "$scratch/wrong" 0.99 slowest
    for ((run = 0; run < runs; ++run)); do
        cp "$scratch/wrong" "$scratch/unwatched.cache"
        cp "$scratch/wrong" "$scratch/watched.cache"
        job "$1" "$scratch/sure" >> "$scratch/right.log"
        job "$1" "$scratch/unwatched.cache" --mca coll_nicbarr_tune_watch 0 >> "$scratch/unwatched.log"
        job "$1" "$scratch/watched.cache" >> "$scratch/watched.log"
    done
    for sort in right unwatched watched; do
        awk -v layout="$1" -v kind=$sort "$quantiles"'
            { values[++n] = $1 }
            END {
                sort(values, n)
                printf "%9s  %-16s %6.2f (%.2f to %.2f)\n", layout, kind, quantile(values, n, 0.5),
                    quantile(values, n, 0.25), quantile(values, n, 0.75)
            }' "$scratch/$sort.log"
    done
}

echo "   layout  cache            times faster than Open MPI's own (quartiles)"
for each in "${layouts[@]}"; do
    layout "$each"
done
