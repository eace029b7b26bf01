#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds nicbarr for another processor architecture, and runs the unit tests under qemu:
#
#     tests/processors.sh arm64      # these two are in the suite;
#     tests/processors.sh s390x      # this one is big-endian
#     tests/processors.sh ppc64el
#     tests/processors.sh armhf      # 32 bits
#     tests/processors.sh arm64 tests/unit/wire_test tests/unit/nic_test
#
# Everything is built, including the components, but the tests start no job. The build runs in a chroot (hence as root)
# with Debian 12, its cross compiler and the foreign libraries, so no foreign architecture must be enabled on this
# machine. The chroot is created once (a minute, 600 MB) and kept in _cache. The output of `make` is in build.log in the
# directory `build` of the chroot, and that of a test in its log there.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/..}" && pwd)
# shellcheck source=tests/chroot.sh
. "$top/tests/chroot.sh"
case ${1-} in
    arm64) triplet=aarch64-linux-gnu qemu=qemu-aarch64 ;;
    s390x) triplet=s390x-linux-gnu qemu=qemu-s390x ;;
    ppc64el) triplet=powerpc64le-linux-gnu qemu=qemu-ppc64le ;;
    armhf) triplet=arm-linux-gnueabihf qemu=qemu-arm ;;
    *) usage ;;
esac
chroot_allowed "$@"
root=$top/_cache/processor-$1

# Tests that this qemu (7.2) cannot run: architecture, program, test, and reason. If the test is `all`, the whole
# program is skipped unless it was named as an argument.
limits() {
    cat << 'EOS'
all    segment_test          killed_with_the_lock                    no robust locks: set_robust_list fails
all    segment_test          killed_at_random                        no robust locks
all    nic_test              all                                     now and then a forked process spins in qemu
all    library_test          all                                     the same: it has NICs, too
all    nic_test              killed_with_the_lock                    no robust locks
all    nic_test              a_thread_runs_the_nic                   it ends a forked process that starts a thread (cpu_exec)
all    nic_test              the_watch_leaves                        the same
all    nic_test              a_dead_runners_pid_is_reused            the same
all    rights_test           the_system_itself_allows_them           no execveat
all    rights_test           the_filter_forbids_them                 no seccomp
all    rights_test           threads_that_are_there_already_are_bound    no seccomp
all    rights_test           work_goes_on                            no seccomp
all    kernel_server_test    refusals_are_bounded                    no SO_NETNS_COOKIE: all networks look alike
s390x  udp_test              chains_arrive                           UDP_SEGMENT's length goes to the kernel in the wrong order
s390x  udp_test              a_destination_refuses                   the same
s390x  udp_test              the_kernel_refuses_a_destination        the same
s390x  kernel_interface_test it_begins_where_the_interface_is        a socket's filter sees the kernel's order
EOS
}

packages=make,pkg-config,qemu-user,gcc-$triplet,g++-$triplet
for library in openmpi-bin libhwloc-dev libevent-dev libjansson-dev libcmocka-dev libsodium-dev libseccomp-dev \
    libibverbs-dev librdmacm-dev; do
    packages=$packages,$library:$1
done
# The package with Open MPI's headers is only unpacked, because it depends on a Fortran compiler of that architecture.
headers="cd /root && apt-get -qq download libopenmpi-dev:$1 && dpkg-deb -x libopenmpi-dev_*.deb / && rm libopenmpi-dev_*.deb"
chroot_make "$root" bookworm "$packages" --architectures="amd64,$1" \
    "--customize-hook=chroot \"\$1\" sh -c '$headers'" || exit 99

# shellcheck disable=SC2016 # for the shell inside
chroot_run "$root" env triplet="$triplet" qemu="$qemu" programs="${*:2}" limits="$(limits | grep -E "^($1|all) ")" bash -eu -c '
    mkdir -p /build
    cd /build
    if [ ! config.status -nt /nicbarr/configure ]; then
        rm -rf /build/*
        printf "#!/bin/sh\nexec %s /usr/bin/mpicc.openmpi \"\$@\"\n" "$qemu" > mpicc
        chmod +x mpicc
        PKG_CONFIG_LIBDIR=/usr/lib/$triplet/pkgconfig:/usr/share/pkgconfig /nicbarr/configure --quiet \
            --host="$triplet" --disable-kernel-nic --enable-werror MPICC=/build/mpicc
    fi
    named=$programs
    programs=${programs:-$(make -s --no-print-directory --eval "list: ; @echo \$(plain_programs)" list | tail -n 1)}
    # Two consecutive makes, because `all` starts another make, and both would write the same objects concurrently.
    { make -s -j"$(nproc)" all && make -s -j"$(nproc)" $programs; } > build.log 2>&1 || { tail -n 40 build.log; exit 1; }
    "$triplet-gcc" -D_GNU_SOURCE -I/nicbarr -shared -fPIC -o emulated.so /nicbarr/tests/unit/emulated.c
    failed=0
    for program in $programs; do
        name=${program##*/}
        without=$(echo "$limits" | awk -v "name=$name" "\$2 == name { printf \"%s \", \$3 }")
        case "$named: $without " in
            ": "*"all "*) echo "SKIP: $program"; continue ;;
        esac
        status=0
        ./libtool --mode=execute timeout 600 "$qemu" -E LD_PRELOAD=/build/emulated.so -E srcdir=/nicbarr \
            -E "NICBARR_LEAVE_OUT=$without" "$program" > "$name.log" 2>&1 < /dev/null || status=$?
        case $status in
            0) echo "PASS: $program${without:+, without $without}" ;;
            77) echo "SKIP: $program: $(tail -n 1 "$name.log")" ;;
            *) echo "FAIL: $program ($status)"; tail -n 30 "$name.log" | sed "s/^/    | /"; failed=1 ;;
        esac
    done
    exit $failed'
