# SPDX-License-Identifier: BSD-3-Clause
# Shared by the scripts whose jobs use collectives that carry data between hosts; to be sourced after common.sh and
# with `seed` set.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/component/drawn_common.sh
. "$(dirname "${BASH_SOURCE[0]}")/drawn_common.sh"

# Collectives that carry data by nicbarr, with a program that checks every bit of the results.
reductions=(--mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_reduce exchange)
ours=("${reductions[@]}" --mca coll_nicbarr_bcast ring --mca coll_nicbarr_allgather exchange
    --mca coll_nicbarr_gather exchange --mca coll_nicbarr_scatter ring)
drawn data --length $((60 * ${longer:-1})) --first 2 --ours hosts

carried() { # all of these collectives
    local collective
    for collective in "${@:3}"; do
        said "MPI_$collective up to .* on $1 nodes: $2 (parameter" || return
    done
}
