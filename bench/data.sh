#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr's collectives that carry data with Open MPI's, on this node:
#
#     bench/data.sh [--chunks N] [PROCESSES...]     # default: 2 4 8 16
#
# Within each job both are measured alternately (nicbarr_bench), together with nicbarr's barrier and the raw limit,
# which is the fastest of several barriers of the same processes in shared memory without MPI. The script prints
# medians in microseconds, and medians and quartiles of the ratios. Times of different runs are not comparable.
# Processes are bound to processors. Measures what ./setup.sh has built, or the components and commands of the
# environment.
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
# Results must not depend on the measurements of earlier jobs.
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
