#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares barriers by the kernel NIC and by the soft NIC with Open MPI over TCP, between virtual machines
# with separate kernels (testbeds/machines/machines):
#
#     bench/machines.sh [-n ROUNDS] [-a ALGORITHM] [-d CARD] [MACHINES...]    # default: 2 4
#
# ROUNDS (5) jobs of each kind alternate (nics.sh), with one process per machine. ALGORITHM is a schedule
# (dissemination:1), or auto for the choice made by tuning. CARD is the network card that qemu emulates
# (virtio-net-pci). Processors are emulated as well, so everything is slow, and the ratios are only valid for this
# emulation. Requires root, and measures what ./setup.sh has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

rounds=5 algorithm=dissemination:1 card=virtio-net-pci
while getopts n:a:d: option; do
    case $option in
        n) rounds=$OPTARG ;;
        a) algorithm=$OPTARG ;;
        d) card=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# != 0 ] || set -- 2 4
cd "$top"
# shellcheck source=env.sh
. ./env.sh
# shellcheck source=bench/nics.sh
. bench/nics.sh
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

inside() { # ROUNDS ALGORITHM
    local number hosts=
    . bench/nics.sh
    for number in $(seq "$MACHINES"); do
        hosts+=,machine$number
        # shellcheck disable=SC2029 # expanded here
        ssh "machine$number" "$(realpath "$(command -v myrd)") --kernel --network 10.79.0.0/24"
    done
    nics_line "$MACHINES" "$1" "$2" "-c 30 -i 20" mpirun -np "$MACHINES" --host "${hosts#,}"
}
export -f inside
nics_head
for count; do
    testbeds/machines/machines --card "$card" --machines "$count" $((120 + 80 * rounds)) \
        bash -euc 'inside "$@"' bash "$rounds" "$algorithm"
done
