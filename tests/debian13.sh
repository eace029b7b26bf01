#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run a command in a Debian 13, which has Open MPI 5.0, with this checkout at /nicbarr:
#
#     tests/debian13.sh COMMAND [ARGUMENT...]
#
# The chroot is made once (half a minute, 1.2 GB; chroot.sh). It is kept in _cache/debian13, or in
# $NICBARR_DEBIAN13.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
case ${1--} in -*) usage ;; esac
chroot_allowed "$@"
root=${NICBARR_DEBIAN13:-$top/_cache/debian13}
packages=libopenmpi-dev,openmpi-bin,libpmix-dev,gcc,g++,make,automake,autoconf,libtool,pkg-config
packages=$packages,libjansson-dev,libcmocka-dev,gnuplot-nox,python3-mpi4py,procps,iproute2
packages=$packages,bpftool,clang,libbpf-dev,libibverbs-dev,libseccomp-dev,libsodium-dev,systemd

chroot_make "$root" trixie "$packages"
chroot_run "$root" "$@"
