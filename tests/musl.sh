#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds libmyr with another C library, musl, and runs its unit tests. Run by test.sh, or by hand as root:
#
#     tests/musl.sh
#     tests/musl.sh tests/unit/wire_test tests/unit/nic_test
#
# Only libmyr and its tests are built, because Debian has neither Open MPI nor argp, which the tools need, for musl.
# (`configure` finds the Open MPI for glibc.) Everything runs in a chroot with Debian 12 and its musl-gcc, which is
# created once (a minute, 500 MB) and kept in _cache. Libraries that the tests need are compiled there from Debian's
# sources, with Debian's headers of these libraries and of the kernel. The output of `make` is in build.log in the
# directory `build` of the chroot, and that of a test in its log there.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
chroot_allowed "$@"
root=$top/_cache/musl

packages=make,pkg-config,gcc,g++,musl-tools,xz-utils,openmpi-bin,libopenmpi-dev,libjansson-dev,libcmocka-dev
packages=$packages,libsodium-dev,libibverbs-dev,librdmacm-dev
mirror=$(chroot_mirror)
chroot_make "$root" bookworm "$packages" \
    --customize-hook="echo 'deb-src $mirror bookworm main' > \"\$1/etc/apt/sources.list.d/sources.list\"" || exit 99

chroot_run "$root" env programs="$*" bash -eu -c '
    headers="-idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch)" # searched after the headers of musl
    library() { # NAME FLAG...
        mkdir "/musl/$1"
        cd "/musl/$1"
        tar -x --strip-components=1 -f ../"$1"_*.orig.tar.?z
        find src -name "*.c" -print0 | xargs -0 musl-gcc -c -O1 -fPIC -w $headers -DHAVE_STDINT_H -DHAVE_INTTYPES_H \
            -DHAVE_UNISTD_H -DHAVE_STRINGS_H -DHAVE_SIGNAL_H "${@:2}"
        ar rc "/musl/lib${1#lib}.a" ./*.o
    }
    if [ ! -e /musl/libsodium.a ]; then
        rm -rf /musl
        mkdir /musl
        cd /musl
        apt-get -qq update
        apt-get -qq --download-only source cmocka jansson libsodium 2> apt.log || { cat apt.log; exit 99; }
        library cmocka -Iinclude -DHAVE_STRUCT_TIMESPEC -DHAVE_CLOCK_REALTIME -DHAVE_GCC_THREAD_LOCAL_STORAGE
        touch /musl/jansson_private_config.h
        library jansson -I.. -DINITIAL_HASHTABLE_ORDER=3
        library libsodium -Isrc/libsodium/include/sodium -I/usr/include/sodium -DCONFIGURED -DNATIVE_LITTLE_ENDIAN \
            -DHAVE_TI_MODE -DHAVE_GETRANDOM -DHAVE_SYS_RANDOM_H
    fi
    mkdir -p /build
    cd /build
    if [ ! config.status -nt /nicbarr/configure ]; then
        rm -rf /build/*
        /nicbarr/configure --quiet --disable-kernel-nic --disable-man --enable-werror --with-libsodium CC=musl-gcc \
            CFLAGS="-g -O2 $headers" LDFLAGS=-L/musl
    fi
    programs=${programs:-$(make -s --no-print-directory --eval "list: ; @echo \$(plain_programs)" list | tail -n 1)}
    make -s -j"$(nproc)" myr/libmyr.la $programs > build.log 2>&1 || { tail -n 40 build.log; exit 1; }
    if readelf -d myr/.libs/libmyr.so | grep "libc\.so\.6"; then
        echo "that is of glibc"
        exit 1
    fi
    make -s --no-print-directory check-TESTS VERBOSE=1 check_LTLIBRARIES= check_PROGRAMS="$programs" TESTS="$programs"'
