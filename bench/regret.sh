#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures what a wrong choice in the tuning cache costs MPI_Barrier, and how much of this cost re-evaluation
# (coll_nicbarr_tune_watch) saves:
#
#     bench/regret.sh [--runs N] [-j FILE] [PROCESSES | HOSTSxPER-HOST...]     # default: 4 runs, 2 4 4x1
#
# A first job measures the shape and writes a cache. Then jobs of three kinds alternate: with that cache; with a cache
# that states the slowest candidate as the best one, without re-evaluation; and with the same wrong cache and
# re-evaluation. In each job, nicbarr and Open MPI are measured alternately after 4,000 barriers (nicbarr_bench), and
# jobs are compared by their ratio of Open MPI's time to nicbarr's, of which the script prints medians and quartiles
# over the runs. If the processes are on this node and each has its own processor, there are also longer jobs with the
# right cache, with and without re-evaluation. During these jobs other programs begin to use all processors, or only
# the first one, so that one rank is late. (If processes shared processors, the duration of a barrier would then be
# determined by the time slices of the scheduler.) The ratios are also written into FILE for bench/figures.py. Measures
# what ./setup.sh has built, or the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
runs=4 layouts=() result=
while [ $# -gt 0 ]; do
    case $1 in
        --runs)
            [ $# -ge 2 ] || usage
            runs=$2
            shift ;;
        -j)
            [ $# -ge 2 ] || usage
            result=$(realpath -m "$2")
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
scratch=$(mktemp -d) rows=$(mktemp)
trap 'rm -rf "$scratch" "$rows"' EXIT

job() { # LAYOUT CACHE MPIRUN-ARGUMENT...: how many times faster, over $chunks chunks
    # shellcheck disable=SC2206 # words
    local start=(mpirun -np "$1" $bound)
    [ "$1" = "${1%x*}" ] || start=("$top/testbeds/hosts/nethosts" "${1%x*}" "${1#*x}")
    "${start[@]}" --mca coll_nicbarr_cache "$2" --mca coll_nicbarr_tune_share 100 "${@:3}" \
        nicbarr_bench barrier -x 4000 -c "$chunks" 2> /dev/null |
        awk '$1 == "B/A" { print $(NF - 1) }'
}
chunks=100

# Runs a longer job, while other programs use these processors from its second second on.
crowded() { # PROCESSORS LAYOUT CACHE MPIRUN-ARGUMENT...
    local processor others=()
    for processor in $1; do
        (sleep 1 && exec taskset -c "$processor" bash -c 'while :; do :; done') &
        others+=($!)
    done
    chunks=4000 job "${@:2}"
    kill "${others[@]}"
    wait "${others[@]}" 2> /dev/null || true
}
all=$(seq -s ' ' 0 $(($(nproc) - 1)))

layout() { # LAYOUT
    local cache=$scratch/cache watch
    rm -f "$scratch"/*
    job "$1" "$scratch/good" --mca coll_nicbarr_tune_budget 1000 > /dev/null
    rewrite_cache "$scratch/good" "$scratch/right" 0.99
    rewrite_cache "$scratch/good" "$scratch/wrong" 0.99 slowest
    for ((run = 0; run < runs; ++run)); do
        cp "$scratch/right" "$cache"
        job "$1" "$cache" >> "$scratch/right.1"
        for watch in 0 1; do
            cp "$scratch/wrong" "$cache"
            job "$1" "$cache" --mca coll_nicbarr_tune_watch $watch >> "$scratch/wrong.$watch"
            [ "$1" -le "$(nproc)" ] 2> /dev/null || continue
            cp "$scratch/right" "$cache"
            crowded "$all" "$1" "$cache" --mca coll_nicbarr_tune_watch $watch >> "$scratch/all.$watch"
            cp "$scratch/right" "$cache"
            crowded 0 "$1" "$cache" --mca coll_nicbarr_tune_watch $watch >> "$scratch/one.$watch"
        done
    done
    show "$1" right.1 "right"
    show "$1" wrong.0 "wrong, unwatched"
    show "$1" wrong.1 "wrong, watched"
    show "$1" all.0 "right, all CPUs wanted, unwatched"
    show "$1" all.1 "right, all CPUs wanted, watched"
    show "$1" one.0 "right, one CPU wanted, unwatched"
    show "$1" one.1 "right, one CPU wanted, watched"
}

show() { # LAYOUT FILE WORDS
    [ -e "$scratch/$2" ] || return 0
    awk -v layout="$1" -v words="$3" -v rows="$rows" "$quantiles"'
        { values[++n] = $1 }
        END {
            sort(values, n)
            printf "%9s  %-40s %6.2f (%.2f to %.2f)\n", layout, words, quantile(values, n, 0.5),
                quantile(values, n, 0.25), quantile(values, n, 0.75)
            printf "{\"layout\": \"%s\", \"cache\": \"%s\", \"ratio\": [%.2f, %.2f, %.2f]}\n", layout, words,
                quantile(values, n, 0.25), quantile(values, n, 0.5), quantile(values, n, 0.75) >> rows
        }' "$scratch/$2"
}

printf '%9s  %-40s %s\n' layout cache "times faster than Open MPI's own (quartiles)"
for each in "${layouts[@]}"; do
    layout "$each"
done
[ -z "$result" ] || "$top/bench/figures.py" store regret "$result" "${command[@]}" < "$rows"
