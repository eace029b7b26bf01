#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Run a command in a Debian 13, which has Open MPI 5.0, with this checkout at /nicbarr:
#
#     tests/debian13.sh COMMAND [ARGUMENT...]
#
# The chroot is made once (half a minute, 1.2 GB), by mmdebstrap from the mirror that this machine's own
# apt uses. It is kept in _cache/debian13, or in $NICBARR_DEBIAN13. What is mounted in it is gone with
# the command.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
root=${NICBARR_DEBIAN13:-$top/_cache/debian13}
packages=libopenmpi-dev,openmpi-bin,libpmix-dev,gcc,g++,make,automake,autoconf,libtool,pkg-config
packages=$packages,libjansson-dev,libcmocka-dev,gnuplot-nox,python3-mpi4py,procps,iproute2
packages=$packages,bpftool,clang,libbpf-dev,libibverbs-dev,libseccomp-dev,libsodium-dev,systemd

mirror() { # of Debian itself (not of its security updates), whichever release this machine has
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

# The file lists the packages, so that a chroot made for an earlier list is made anew.
if [ "$(cat "$root/made-by-nicbarr" 2> /dev/null)" != "$packages" ]; then
    url=$(mirror)
    [ -n "$url" ] || { echo "debian13.sh: apt names no Debian mirror (run apt-get update)" >&2; exit 1; }
    rm -rf --one-file-system "$root"
    mkdir -p "$(dirname "$root")"
    echo "making a Debian 13 in ${root#"$top"/} ..." >&2
    mmdebstrap --quiet --variant=minbase --include="$packages" trixie "$root" "$url" >&2
    echo "$packages" > "$root/made-by-nicbarr"
fi

# A mount namespace of its own: the mounts end with the last process in it.
export root top
exec unshare --mount --propagation private bash -eu -c '
    mkdir -p "$root/nicbarr" "$root/dev/shm"
    mount --rbind /proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    mount --bind "$top" "$root/nicbarr"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        ${NICBARR_SEED:+"NICBARR_SEED=$NICBARR_SEED"} chroot "$root" "$@"
' bash "$@"
