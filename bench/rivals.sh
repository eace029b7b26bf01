#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How does nicbarr compare with each collective component of Open MPI, and not only with its default?
#
#     bench/rivals.sh [-c CHUNKS] [-m MIN:MAX] [-r COMPONENT]... [-a ARGUMENT]... [-j FILE] LAYOUT OPERATION...
#     bench/rivals.sh 2 barrier allreduce bcast          # 2 processes on this node
#     bench/rivals.sh -r han -r tuned 4x2 allreduce      # 4 hosts (nethosts; needs root) of 2 processes
#
# Each component competes in a job of its own, in turns with nicbarr's choice after tuning (nicbarr_bench):
# communicators prefer the component, then tuned, basic and libnbc for what it does not implement. Prints a table in
# Markdown for each OPERATION (see nicbarr_bench --help): by size, the component's time over nicbarr's, quartile, median
# and quartile over CHUNKS (100). `failed` is a job that crashed or took longer than five minutes; its first line is
# below the table. FILE gets all of it for bench/figures.py. COMPONENT: tuned, han, xhc, acoll, ucc, sm or adapt (all of
# these that ompi_info lists). ARGUMENT is for mpirun (-a '--mca coll_ucc_enable 1'). Uses what ./setup.sh has built, or
# the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
chunks=100 sizes='' rivals=() arguments='' result=
while getopts c:m:r:a:j: option; do
    case $option in
        c) chunks=$OPTARG ;;
        m) sizes=$OPTARG ;;
        r) rivals+=("$OPTARG") ;;
        a) arguments+=" $OPTARG" ;;
        j) result=$(realpath -m "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
layout=$1
shift
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ ${#rivals[@]} = 0 ]; then
    mapfile -t rivals < <(ompi_info --parsable | sed -n 's/^mca:coll:\(tuned\|han\|xhc\|acoll\|ucc\|sm\|adapt\):version:"mca.*/\1/p')
fi
# shellcheck disable=SC2206 # words
start=(mpirun -np "$layout" $bound)
[ "$layout" = "${layout%x*}" ] || start=("$top/testbeds/hosts/nethosts" "${layout%x*}" "${layout#*x}")

# A line `SIZE q1 **median** q3` per size, or `failed`.
compete() { # OPERATION COMPONENT
    local row="\"operation\": \"$1\", \"layout\": \"$layout\", \"component\": \"$2\""
    # shellcheck disable=SC2086 # words
    if timeout 300 "${start[@]}" --mca coll_nicbarr_cache none --mca coll_nicbarr_tune_share 100 $arguments \
        nicbarr_bench "$1" -b "$2,tuned,basic,libnbc,self,inter" -c "$chunks" ${sizes:+-m "$sizes"} > "$scratch/out" 2>&1; then
        awk -v row="$row" '$1 == "B/A" {
            printf "{%s, \"bytes\": %s, \"ratio\": [%s, %s, %s]}\n", row, NF == 5 ? $2 : "null", $(NF - 2), $(NF - 1), $NF
        }' "$scratch/out" >> "$scratch/rows"
    else
        grep -am 1 '[[:alpha:]]' "$scratch/out" | sed "s/^/$1 with $2: /" >> "$scratch/failures"
        echo "{$row, \"bytes\": null, \"failed\": true}" >> "$scratch/rows"
    fi
}

: > "$scratch/failures"
for operation; do
    for rival in "${rivals[@]}"; do
        compete "$operation" "$rival"
    done
done
result=${result:-$scratch/result}
"$top/bench/figures.py" store rivals "$result" "${command[@]}" < "$scratch/rows"
"$top/bench/figures.py" table "$result"
cat "$scratch/failures"
