#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares barriers across hosts that are executed by the kernel NIC (myrd --kernel) with the same schedule on
# the soft NIC, and with Open MPI over TCP:
#
#     bench/kernel.sh [-r] [-n ROUNDS] [-a ALGORITHM] [-j FILE] [HOSTSxPER-HOST...]  # default: 2x1 4x1 8x1 16x1 4x4
#
# Hosts are network namespaces (nethosts), which requires root. They are connected by a bridge, or, with -r, the
# kernel redirects packets from host to host without a bridge. ROUNDS (5) jobs of each kind alternate (nics.sh).
# ALGORITHM is a schedule (dissemination:1), or auto for the choice made by tuning. The results are also written
# into FILE for bench/figures.py. Measures what ./setup.sh check has built.
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

# Prints the aims, which are the minimum factors between the times.
aims() { # LAYOUT [redirected]: the second argument if packets are redirected
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
