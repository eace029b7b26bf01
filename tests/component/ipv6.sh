#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Hosts that have addresses of IPv6 and none of IPv4: the soft NIC serves barriers, data and messages there;
# tools name its addresses; the kernel's NIC says that it is for IPv4. Of hosts that have both, or one of
# them alone, those meet that can.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"

case $(mpirun --version) in
    *"(Open MPI) 4."*) ;;
    *) echo "skip: hosts of IPv6 need 4.1's launcher"; exit 77 ;;
esac
if [ ! -e /proc/net/if_inet6 ] || ! ompi_info --parsable | grep -q 'ipv6.*yes'; then
    echo "skip: this kernel, or this Open MPI, has no IPv6"
    exit 77
fi

ledger="$programs/barrier_ledger --iterations 200 --ledger $scratch/ledger --seed $seed"
plays="MPI_Barrier on .* nodes: [^o]"
on_three() { # ARGUMENT...
    # shellcheck disable=SC2086 # words
    on_hosts --ipv6 3 2 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_algorithm dissemination:1 "$@" $ledger
}

check "barriers" on_three
check "are played by NICs" said "$plays"
check "the network by address" on_three --mca coll_nicbarr_network fd77::/64
check "serves" said "$plays"
check "another network" on_three --mca coll_nicbarr_network fd78::/64
check "is not there" said "there is no network to use (no address of this machine is in fd78::/64)"
check "and no NIC plays" bash -c '! grep -q "$1" "$2"' - "$plays" "$scratch/out"
check "a network of IPv4" on_three --mca coll_nicbarr_network 10.0.0.0/8
check "is not there" said "there is no network to use (no address of this machine is in 10.0.0.0/8)"
finish
