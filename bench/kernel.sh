#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Barriers across hosts, executed by their kernels (myrd --kernel), against the same schedule on the soft NIC,
# and against Open MPI over TCP:
#
#     bench/kernel.sh [-r] [-n ROUNDS] [-a ALGORITHM] [-j FILE] [HOSTSxPER-HOST...]  # default: 2x1 4x1 8x1 16x1 4x4
#
# Hosts are network namespaces on a bridge, or with -r without one: the kernel redirects packets from host to host
# (nethosts; needs root). ROUNDS (5) jobs of each alternate (nics.sh). ALGORITHM is dissemination:1, or auto for the
# choice of tuning. FILE gets the figures for bench/figures.py. Uses what ./setup.sh check has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
rounds=5 algorithm=dissemination:1 joined=() result=
while getopts rn:a:j: option; do
    case $option in
        r) joined=(--redirect) ;;
        n) rounds=$OPTARG ;;
        a) algorithm=$OPTARG ;;
        j) result=$(realpath -m "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
layouts=("$@")
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1 8x1 16x1 4x4)
cd "$top"
# shellcheck source=env.sh
. ./env.sh
# shellcheck source=bench/nics.sh
. bench/nics.sh

# The aims: so many times faster at the least.
aims() { # LAYOUT, with `redirected` if packets are
    case $* in
        2x1) echo '"open_mpi_over_kernel": 4.5, "soft_over_kernel": 1.8' ;;
        4x1) echo '"open_mpi_over_kernel": 5.5, "soft_over_kernel": 2.0' ;;
        8x1) echo '"open_mpi_over_kernel": 4.5, "soft_over_kernel": 2.0' ;;
        16x1) echo '"open_mpi_over_kernel": 6.0, "soft_over_kernel": 2.4' ;;
        4x4) echo '"open_mpi_over_kernel": 4.5' ;;
        "2x1 redirected" | "4x1 redirected") echo '"open_mpi_over_kernel": 5' ;;
        "8x1 redirected") echo '"open_mpi_over_kernel": 6.5' ;;
        "16x1 redirected") echo '"open_mpi_over_kernel": 9' ;;
    esac
}

rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
export rows aims
echo "$algorithm${joined[*]:+, redirected}"
nics_head
for one in "${layouts[@]}"; do
    aims=$(aims "$one" ${joined[0]:+redirected})
    # shellcheck disable=SC2016 # expanded inside
    testbeds/hosts/nethosts "${joined[@]}" --kernel --shell "${one%x*}" "${one#*x}" \
        bash -uc '. bench/nics.sh; nics_line "$@" "$NETHOSTS_MPIRUN"' bash "$one" "$rounds" "$algorithm" "-c 100"
done
[ -z "$result" ] || bench/figures.py store kernel "$result" "${command[@]}" < "$rows"
