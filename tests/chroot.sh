# SPDX-License-Identifier: BSD-3-Clause
# Debian in a folder, to be sourced by the scripts that run something there (bash), with what they say of themselves.
#
#     chroot_allowed [ARGUMENT...]            else it ends with a line and 77; these are the script's own arguments
#     chroot_make FOLDER CODENAME PACKAGES [OPTION...]    by mmdebstrap, from the mirror that this machine's own
#                                             apt uses, whatever date that mirror is of, if apt does so, too. One
#                                             that was made for the same list of packages stays
#     chroot_run FOLDER COMMAND...            in it, with this checkout at /nicbarr. What is mounted there is
#                                             gone with the command
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/usage.sh"
chroot_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

chroot_allowed() { # [ARGUMENT...]
    [ "$(id -u)" = 0 ] || { echo "a chroot needs root: sudo $chroot_top/tests/${0##*/}${*:+ $*}"; exit 77; }
    command -v mmdebstrap > /dev/null || { echo "there is no mmdebstrap"; exit 77; }
}

chroot_mirror() { # of Debian itself (not of its security updates), whichever release this machine has
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

chroot_make() { # FOLDER CODENAME PACKAGES [OPTION...]
    local url dates
    # The file lists the packages, so that a chroot made for an earlier list is made anew.
    [ "$(cat "$1/made-by-nicbarr" 2> /dev/null)" != "$3" ] || return 0
    url=$(chroot_mirror)
    [ -n "$url" ] || { echo "${0##*/}: apt names no Debian mirror (run apt-get update)" >&2; return 1; }
    dates=$(apt-config dump Acquire::Check-Valid-Until)
    rm -rf --one-file-system "$1"
    mkdir -p "$(dirname "$1")"
    echo "making a Debian ($2) in ${1#"$chroot_top"/} ..." >&2
    mmdebstrap --quiet --variant=minbase --include="$3" ${dates:+--aptopt="$dates"} "${@:4}" "$2" "$1" "$url" >&2 || return
    echo "$3" > "$1/made-by-nicbarr"
}

# A mount namespace of its own: the mounts end with the last process in it.
chroot_run() { # FOLDER COMMAND...
    # shellcheck disable=SC2016 # for the shell that it starts
    root=$1 top=$chroot_top unshare --mount --propagation private bash -eu -c '
        mkdir -p "$root/nicbarr" "$root/dev/shm"
        mount --rbind /proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount --bind "$top" "$root/nicbarr"
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            ${NICBARR_SEED:+"NICBARR_SEED=$NICBARR_SEED"} chroot "$root" "$@"
    ' bash "${@:2}"
}
