#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr's collectives that carry data with Open MPI's over TCP, across hosts (network
# namespaces of this machine):
#
#     bench/data_hosts.sh [--nic KIND] [--chunks N] [HOSTSxPER-HOST...]     # default: soft, 2x1 4x1 8x1 16x1 4x4
#
# Within each job both are measured alternately (nicbarr_bench), together with nicbarr's barrier. The raw limit is the
# time of a packet from the first host to the second: half of a UDP round trip between two polling processes, measured
# before each layout. The script prints medians in microseconds, and medians and quartiles of the ratios. Times of
# different runs are not comparable. KIND is soft, kernel (needs root) or auto (chosen by tuning). Measures what
# ./setup.sh has built, or the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

nic=soft chunks=100 layouts=() hosts=()
while [ $# -gt 0 ]; do
    case $1 in
        --nic | --chunks)
            [ $# -ge 2 ] || usage
            [ "$1" = --nic ] && nic=$2
            [ "$1" = --chunks ] && chunks=$2
            shift ;;
        [0-9]*x[0-9]*) layouts+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1 8x1 16x1 4x4)
[ "$nic" = soft ] || hosts=(--kernel)
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=bench/data_table.sh
. "$top/bench/data_table.sh"
# shellcheck source=bench/udp_round_trip.sh
. "$top/bench/udp_round_trip.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Results must not depend on the measurements of earlier jobs.
export OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100 nic chunks scratch

layout() { # HOSTSxPER-HOST
    export NETHOSTS_HOSTS=${1%x*} NETHOSTS_PER_HOST=${1#*x}
    local way
    way=$(udp_round_trip 300 | awk '$1 == "polling" { print $3 / 2 }')
    for operation in "allreduce -m 8:64" "allreduce -m 1024:1024" "bcast -m 8:64" "bcast -m 1024:4096" \
        "reduce -m 8:64" "allgather -m 8:64" "gather -m 8:64" "scatter -m 8:64" "iallreduce -m 8:8" dup; do
        # shellcheck disable=SC2086 # words
        "$NETHOSTS_MPIRUN" --mca coll_nicbarr_nic "$nic" nicbarr_bench $operation -c "$chunks" -x 200 \
            --beside barrier 2> /dev/null | grep -v Pass | table "$1" "${operation%% *}" "$nic" "$way"
    done
}
export -f layout table aims

# shellcheck disable=SC2154 # of data_table.sh
echo "$heading"
most=0
for each in "${layouts[@]}"; do
    most=$((${each%x*} > most ? ${each%x*} : most))
done
# shellcheck disable=SC2016 # expanded inside
"$top/testbeds/hosts/nethosts" --shell ${hosts[@]+"${hosts[@]}"} "$most" \
    bash -euc 'for each in "$@"; do layout "$each"; done' bash "${layouts[@]}"
