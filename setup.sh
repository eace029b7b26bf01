#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Prepare this checkout for use: install missing Debian packages, configure, build, and install into the tree
# (_install). Apart from these packages, nothing outside of the tree is changed.
#
#     ./setup.sh [build|check]
#
# With `build` it installs the packages that are needed to build and to run mpirun (called by demo.sh), and with
# `check` also those that the tests need (called by test.sh). If it is called again, it only does what remains to be
# done. If root calls it in the directory of another user, the files will belong to that user.
set -eu
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/tools/usage.sh"
case $#-${1-build} in 0-build | 1-build | 1-check) ;; *) usage ;; esac
cd "$(dirname "$0")"

packages="autoconf automake bpftool clang g++ gcc gnuplot-nox help2man iproute2 lammps libbpf-dev libjansson-dev
    libopenmpi-dev libseccomp-dev libsodium-dev libtool make openmpi-bin pkg-config"
written=". configure build-aux _build _install _demo _apt.log _autogen.log _make.log _install.log"
large= # optional packages: tests that need them are skipped if they are missing
if [ "${1-build}" = check ]; then
    large=chromium
    written="$written _test"
    packages="$packages busybox-static clang-format clang-tidy cpio cppcheck environment-modules git
        hpcc ibverbs-providers kmod libbenchmark-dev libclang-rt-dev libcmocka-dev libgsl-dev
        libibverbs-dev librdmacm-dev libxml2-utils lintian llvm man-db mmdebstrap procps python3-mpi4py
        qemu-system-x86 shellcheck spin systemd valgrind xz-utils"
fi

say() { echo "== $*"; }

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    # For other distributions, the required and the optional packages are only listed.
    cat >&2 << 'EOS'
setup.sh: there is no apt here, so install what follows and build as README.md says under "Elsewhere". Fedora: autoconf automake libtool gcc gcc-c++ make pkgconf-pkg-config openmpi-devel jansson-devel libseccomp-devel libsodium-devel gnuplot help2man; for the kernel NIC clang bpftool libbpf-devel iproute, for RDMA rdma-core-devel, for `make check` libcmocka-devel. Ubuntu: as Debian (bpftool: linux-tools-common).
EOS
    exit 1
fi

foreign=
for file in $written; do
    [ ! -e "$file" ] || [ -w "$file" ] || foreign="$foreign $file"
done
if [ -n "$foreign" ]; then
    echo "setup.sh: some files belong to another user; as root, in $PWD, run: chown -R $(id -un):$foreign" >&2
    exit 1
fi

is_missing() { ! dpkg-query -W -f '${db:Status-Status}\n' "$1" 2> /dev/null | grep -qx installed; }
install_packages() { # PACKAGE...
    export DEBIAN_FRONTEND=noninteractive
    { $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends "$@"; } > _apt.log 2>&1
}
missing=
for package in $packages; do
    ! is_missing "$package" || missing="$missing $package"
done
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
elif [ ! -O . ]; then
    trap 'find . -path ./_cache -prune -o -uid 0 -exec chown -h --reference=. {} +' EXIT
fi
if [ -n "$missing" ]; then
    if [ -n "$as_root" ]; then
        command -v sudo > /dev/null || {
            echo "setup.sh: packages are missing and there is no sudo; as root, run: apt-get update && apt-get install -y --no-install-recommends$missing" >&2
            exit 1
        }
    fi
    say "installing$missing"
    # shellcheck disable=SC2086 # a list of words
    install_packages $missing ||
        { tail -n 20 _apt.log >&2; echo "setup.sh: apt-get failed; see _apt.log" >&2; exit 1; }
    rm -f _build/config.status # the new packages may permit more to be built: the kernel NIC, the tests
fi
if [ -n "$large" ] && is_missing $large; then
    say "installing $large"
    install_packages $large || say "it cannot be had, and tests do without"
fi

. tools/ccache.sh
build_in() { # DIRECTORY CONFIGURE-ARGUMENTS...
    local dir=$1
    shift
    mkdir -p "$dir"
    if [ ! -e "$dir/config.status" ]; then
        (cd "$dir" && ../configure --quiet --prefix="$PWD/../_install" "$@")
    fi
    make -C "$dir" --no-print-directory -s -j"$(nproc)" > _make.log 2>&1 ||
        { tail -n 40 _make.log >&2; echo "setup.sh: the build failed; see _make.log" >&2; exit 1; }
}

if [ ! -x configure ] || [ configure.ac -nt configure ]; then
    say "making configure"
    ./autogen.sh > _autogen.log 2>&1 || { cat _autogen.log >&2; exit 1; }
fi
say "building"
build_in _build
make -C _build --no-print-directory -s install > _install.log 2>&1 || { cat _install.log >&2; exit 1; }
