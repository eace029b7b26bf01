#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr with another MPI library, or with Open MPI over UCX:
#
#     bench/other_mpi.sh [-n ROUNDS] [-c MPICC] [-j FILE] NAME NP LAUNCHER OPERATION[:BYTES]...
#     bench/other_mpi.sh -c mpicc.mpich MPICH 2 'mpiexec.mpich -np 2' barrier allreduce:8 bcast:4096
#     ucx='--mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any' # without a fabric, too
#     bench/other_mpi.sh UCX 2 "mpirun -np 2 --mca coll ^nicbarr $ucx" barrier
#
# In each of ROUNDS (20), the script starts two jobs (other_mpi.c), one after the other: NP processes of this Open
# MPI with nicbarr, whose choices were measured by an earlier job, and the processes that LAUNCHER starts, for which
# the program is compiled by MPICC (mpicc). It prints a table in Markdown with the time of NAME divided by nicbarr's
# time, as first quartile, median and third quartile over the rounds. The results are also written into FILE for
# bench/figures.py. Measures what ./setup.sh has built, or the components and commands of the environment.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
rounds=20 compiler=mpicc result=
while getopts n:c:j: option; do
    case $option in
        n) rounds=$OPTARG ;;
        c) compiler=$OPTARG ;;
        j) result=$(realpath -m "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 4 ] || usage
name=$1 processes=$2 launcher=$3
shift 3
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
# shellcheck source=bench/quantiles.sh
. "$top/bench/quantiles.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mpicc -O2 -o "$scratch/ours" "$top/bench/other_mpi.c"
"$compiler" -O2 -o "$scratch/theirs" "$top/bench/other_mpi.c"

ours() {
    # shellcheck disable=SC2086 # words
    mpirun -np "$processes" $bound --mca coll_nicbarr_cache "$scratch/cache" --mca coll_nicbarr_tune_share 100 \
        "$scratch/ours" "$@"
}
theirs() {
    # shellcheck disable=SC2086 # words
    $launcher "$scratch/theirs" "$@"
}

ours "$@" > /dev/null
for ((round = 0; round < rounds; ++round)); do
    ours "$@" | sed "s/^/ours $round /"
    theirs "$@" | sed "s/^/theirs $round /"
done > "$scratch/times"
awk -v rounds="$rounds" -v name="$name" -v layout="$processes" "$quantiles"'
$1 == "ours" { ours[$2, $3, $4] = $5; if ($2 == 0) { operation[++n] = $3; bytes[n] = $4 } }
$1 == "theirs" { theirs[$2, $3, $4] = $5 }
END {
    for (i = 1; i <= n; i++) {
        for (r = 0; r < rounds; r++) v[r + 1] = theirs[r, operation[i], bytes[i]] / ours[r, operation[i], bytes[i]]
        sort(v, rounds)
        printf "{\"operation\": \"%s\", \"layout\": \"%s\", \"component\": \"%s\", \"bytes\": %s, ",
            operation[i], layout, name, operation[i] == "barrier" ? "null" : bytes[i]
        printf "\"ratio\": [%.3f, %.3f, %.3f]}\n",
            quantile(v, rounds, 0.25), quantile(v, rounds, 0.5), quantile(v, rounds, 0.75)
    }
}' "$scratch/times" > "$scratch/rows"
result=${result:-$scratch/result}
"$top/bench/figures.py" store rivals "$result" "${command[@]}" < "$scratch/rows"
"$top/bench/figures.py" table "$result"
