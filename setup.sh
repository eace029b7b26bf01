#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Make this checkout ready to run: install the Debian packages that are missing, configure, build, and
# install into the tree (_install). Nothing outside the tree is written but those packages.
#
#     ./setup.sh [build|check]
#
# build: what it takes to build and to run mpirun (demo.sh). check: also what the tests need (test.sh).
# Called by demo.sh and test.sh; calling it again does only what is left to do.
set -eu
cd "$(dirname "$0")"

packages="autoconf automake g++ gcc gnuplot-nox lammps libjansson-dev libopenmpi-dev libseccomp-dev libsodium-dev
    libtool make openmpi-bin pkg-config"
if [ "${1-build}" = check ]; then
    packages="$packages bpftool busybox-static clang clang-format clang-tidy cpio cppcheck git hpcc
        ibverbs-providers iproute2 kmod libbenchmark-dev libbpf-dev libcmocka-dev libgsl-dev libibverbs-dev
        librdmacm-dev libxml2-utils mmdebstrap procps python3-mpi4py qemu-system-x86 shellcheck spin systemd
        valgrind xz-utils"
fi

say() { echo "== $*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo > /dev/null; then
        sudo "$@"
    else
        echo "setup.sh: must install packages; run as root or install sudo, or run: $*" >&2
        exit 1
    fi
}

missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2> /dev/null | grep -qx installed ||
        missing="$missing $package"
done
if [ -n "$missing" ]; then
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    as_root apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    as_root apt-get install -y -qq --no-install-recommends $missing > _apt.log 2>&1 ||
        { tail -n 20 _apt.log >&2; echo "setup.sh: apt-get failed; see _apt.log" >&2; exit 1; }
    rm -f _build/config.status # more may be built now: the kernel's NIC, the tests
fi

build_in() { # FOLDER CONFIGURE-ARGUMENTS...
    local folder=$1
    shift
    mkdir -p "$folder"
    if [ ! -e "$folder/config.status" ]; then
        (cd "$folder" && ../configure --quiet --prefix="$PWD/../_install" "$@")
    fi
    make -C "$folder" --no-print-directory -s -j"$(nproc)" > _make.log 2>&1 ||
        { tail -n 40 _make.log >&2; echo "setup.sh: the build failed; see _make.log" >&2; exit 1; }
}

if [ ! -x configure ] || [ configure.ac -nt configure ]; then
    say "making configure"
    ./autogen.sh > _autogen.log 2>&1 || { cat _autogen.log >&2; exit 1; }
fi
say "building"
build_in _build
make -C _build --no-print-directory -s install > _install.log 2>&1 || { cat _install.log >&2; exit 1; }
