#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives that carry data, on this node, nicbarr against Open MPI's own:
#
#     bench/data.sh [--chunks N] [PROCESSES...]     # default: 2 4 8 16
#
# Both take turns in each job (nicbarr_bench), and so does nicbarr's barrier. Microseconds: medians;
# ratios: median and quartiles. Never compare figures of two runs. Processes are bound.
# Uses what ./setup.sh has built, or the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=nethosts/usage.sh
. "$top/nethosts/usage.sh"

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
# What earlier jobs have measured is left out of it.
export OMPI_MCA_coll_nicbarr_cache=none

# shellcheck source=bench/data_table.sh
. "$top/bench/data_table.sh"

echo "processes  operation    bytes    nicbarr   Open MPI  times faster (quartiles)  of nicbarr's barrier"
for processes in "${jobs[@]}"; do
    for operation in allreduce reduce allgather gather scatter bcast "bcast -m 65536:65536" "bcast -m 1048576:1048576" iallreduce dup; do
        # shellcheck disable=SC2154,SC2086 # of jobs.sh; words
        mpirun -np "$processes" $bound nicbarr_bench $operation -c "$chunks" -x 200 \
            --beside barrier | grep -v Pass | table "$processes" "${operation%% *}"
    done
done
