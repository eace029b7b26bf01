#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command in a chroot with a later release of Debian, which has a later Open MPI; this checkout is at /nicbarr:
#
#     tests/debian.sh 13 COMMAND [ARGUMENT...]    # Open MPI 5.0
#     tests/debian.sh 14 COMMAND [ARGUMENT...]    # Open MPI 6.0
#
# The chroot is created once by chroot.sh (half a minute, 1.2 GB), and kept in _cache/debianN or $NICBARR_DEBIANN.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
case ${1--}-${2--} in
    13-[!-]*) codename=trixie ;;
    14-[!-]*) codename=forky ;;
    *) usage ;;
esac
chroot_allowed "$@"
root=NICBARR_DEBIAN$1
root=${!root:-$top/_cache/debian$1}
packages=libopenmpi-dev,openmpi-bin,libpmix-dev,gcc,g++,make,automake,autoconf,libtool,pkg-config
packages=$packages,libjansson-dev,libcmocka-dev,gnuplot-nox,python3-mpi4py,procps,iproute2
packages=$packages,bpftool,clang,libbpf-dev,libibverbs-dev,libseccomp-dev,libsodium-dev,systemd
[ "$1" = 13 ] || packages=$packages,mpich # MPICH 5.0, which supports the MPI ABI as well

chroot_make "$root" "$codename" "$packages"
chroot_run "$root" "${@:2}"
