# SPDX-License-Identifier: BSD-3-Clause
# Sets the options by which mpirun starts processes on the first NETHOSTS_HOSTS hosts that nethosts has created,
# with NETHOSTS_PER_HOST processes on each. To be sourced by bash, with `here` set to this directory.
# shellcheck shell=bash
# shellcheck source=testbeds/launcher.sh
. "$here/../launcher.sh"
network=10.77.0.0/24 name=10.77.0.
if [ "$NETHOSTS_IPV6" = yes ]; then # Open MPI can only name IPv4 networks
    network=eth0 name=host
fi
reach "$NETHOSTS_HOSTS" "$NETHOSTS_PER_HOST" "$name" "$network"
launcher+=(--mca btl_tcp_if_include "$network")
