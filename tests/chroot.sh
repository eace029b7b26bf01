# SPDX-License-Identifier: BSD-3-Clause
# Functions that create chroots with Debian and run commands there; to be sourced by bash scripts.
#
#     chroot_allowed [ARGUMENT...]    exits with a message and status 77 if the script may not create chroots. The
#                                     arguments are those of the script, for the message
#     chroot_make DIRECTORY CODENAME PACKAGES [OPTION...]    creates a chroot by mmdebstrap from the mirror that apt
#                                     uses on this machine. Expired release files are accepted if apt's configuration
#                                     accepts them. An existing chroot with the same packages is kept
#     chroot_run DIRECTORY COMMAND...    runs COMMAND in the chroot, where this checkout is mounted at /nicbarr. The
#                                     mounts are removed when the command ends
# shellcheck shell=bash
# shellcheck source=tools/usage.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/usage.sh"
chroot_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

chroot_allowed() { # [ARGUMENT...]
    [ "$(id -u)" = 0 ] || { echo "a chroot needs root: sudo $chroot_top/tests/${0##*/}${*:+ $*}"; exit 77; }
    command -v mmdebstrap > /dev/null || { echo "there is no mmdebstrap"; exit 77; }
}

chroot_mirror() { # prints the mirror of Debian itself (not of security updates), whatever this machine's release
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

chroot_make() { # DIRECTORY CODENAME PACKAGES [OPTION...]
    local url dates
    # The file contains the list of packages; a chroot with a different list is created again.
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

# The command runs in a separate mount namespace, so the mounts are removed when its last process ends.
chroot_run() { # DIRECTORY COMMAND...
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
