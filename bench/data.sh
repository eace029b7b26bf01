#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives that carry data, on this node, nicbarr against Open MPI:
#
#     bench/data.sh [--chunks N] [PROCESSES...]     # default: 2 4 8 16
#
# Both alternate in each job (nicbarr_bench), as do the barrier of nicbarr and the raw limit: the best of several bare
# barriers by the same processes. Prints medians in microseconds, and median and quartiles of the ratios. Never
# compare figures of two runs. Processes are bound.
# Uses what ./setup.sh has built, or the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

chunks=200 jobs=()
while [ $# -gt 0 ]; do
    case $1 in
        --chunks)
            [ $# -ge 2 ] || usage
            chunks=$2
            shift ;;
        [1-9]*) jobs+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#jobs[@]} != 0 ] || jobs=(2 4 8 16)
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
# Independent of earlier jobs' measurements.
export OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100

# shellcheck source=bench/data_table.sh
. "$top/bench/data_table.sh"

# shellcheck disable=SC2154 # of data_table.sh
echo "$heading"
for processes in "${jobs[@]}"; do
    for operation in "allreduce -m 8:64" "allreduce -m 512:512" "allreduce -m 4096:4096" "bcast -m 8:64" "bcast -m 512:512" \
        "bcast -m 4096:4096" "bcast -m 65536:65536" "bcast -m 1048576:1048576" "reduce -m 8:64" "allgather -m 8:64" \
        "gather -m 8:64" "scatter -m 8:64" "iallreduce -m 8:8" dup; do
        # shellcheck disable=SC2154,SC2086 # of jobs.sh; words
        mpirun -np "$processes" $bound nicbarr_bench $operation -c "$chunks" -x 200 --raw \
            --beside barrier | grep -v Pass | table "$processes" "${operation%% *}" node
    done
done
