#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Barriers across hosts played by the hosts' kernels (myrd --kernel), against the same schedule played by the soft NIC,
# and against Open MPI's own over TCP:
#
#     bench/kernel.sh [-r] [-n ROUNDS] [-a ALGORITHM] [HOSTSxPER-HOST...]    # default: 2x1 4x1 8x1 16x1 4x4
#
# Hosts are network namespaces on a bridge, or with -r without one: the kernel redirects packets from
# host to host (nethosts; needs root). ROUNDS (5) jobs of each take turns (nics.sh). ALGORITHM is
# dissemination:1, or auto for the choice of tuning. Uses what ./setup.sh check has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

rounds=5 algorithm=dissemination:1 joined=()
while getopts rn:a: option; do
    case $option in
        r) joined=(--redirect) ;;
        n) rounds=$OPTARG ;;
        a) algorithm=$OPTARG ;;
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

echo "$algorithm${joined[*]:+, redirected}"
nics_head
for one in "${layouts[@]}"; do
    # shellcheck disable=SC2016 # expanded inside
    testbeds/hosts/nethosts "${joined[@]}" --kernel --shell "${one%x*}" "${one#*x}" \
        bash -uc '. bench/nics.sh; nics_line "$@" "$NETHOSTS_MPIRUN"' bash "$one" "$rounds" "$algorithm" "-c 100"
done
