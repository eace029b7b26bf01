#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr with each collective component of Open MPI, instead of only with its default:
#
#     bench/rivals.sh [-c CHUNKS] [-m MIN:MAX] [-r COMPONENT]... [-a ARGUMENT]... [-j FILE] LAYOUT OPERATION...
#     bench/rivals.sh 2 barrier allreduce bcast          # 2 processes on this node
#     bench/rivals.sh -r han -r tuned 4x2 allreduce      # 4 hosts (nethosts; needs root) of 2 processes
#
# There is a job for each component, in which the component and nicbarr's choice after tuning are measured alternately
# (nicbarr_bench). For operations that the component does not implement, its communicators use tuned, basic and libnbc.
# The script prints a table in Markdown for each OPERATION (see nicbarr_bench --help). By size, it contains the
# component's time divided by nicbarr's, as first quartile, median and third quartile over CHUNKS (100). If a job
# crashes or takes longer than five minutes, the table contains `failed`, and the first line of the job's output is
# printed below it. The results are also written into FILE for bench/figures.py. COMPONENT is tuned, han, xhc, acoll,
# ucc, sm or adapt (default: those of them that ompi_info lists). ARGUMENT is passed to mpirun (-a '--mca
# coll_ucc_enable 1'). Measures what ./setup.sh has built, or the components and commands of the environment.
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

# Compares one operation with one component. Adds a JSON object per size to the results, or one that states the
# failure.
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
