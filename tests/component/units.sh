#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, the daemon's systemd units do not load, or give a compromised service too many rights. systemd
# checks them without running them, and rates their exposure (0: none, 10: all).
. "$(dirname "$0")/common.sh"
command -v systemd-analyze > /dev/null || { echo "skip: no systemd-analyze (install systemd)"; exit 77; }
systemd-analyze --help | grep -q -- --offline || { echo "skip: systemd-analyze is older than 250"; exit 77; }

verified() { # UNIT: systemd verifies the unit file, with the path of the built program
    sed "s|^ExecStart=[^ ]*|ExecStart=$builddir/myrd/myrd|" "$builddir/myrd/$1" > "$scratch/$1"
    systemd-analyze verify --man=no "$scratch/$1" > "$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
}
for unit in myrd.service myrd-kernel.service; do
    check "systemd finds no error in $unit" verified $unit
done

# A daemon needs sockets for its clients, for NICs of either family, and for netlink.
opens_sockets() { # UNIT
    sed -n 's/^RestrictAddressFamilies=//p' "$builddir/myrd/$1" > "$scratch/out"
    [ "$(cat "$scratch/out")" = "AF_UNIX AF_INET AF_INET6 AF_NETLINK" ]
}
for unit in myrd.service myrd-kernel.service; do
    check "$unit allows the sockets that the daemon needs" opens_sockets $unit
done

below() { # TENTHS UNIT
    systemd-analyze security --no-pager --offline=true --threshold="$1" "$2" > "$scratch/out" 2>&1
}
check "the exposure of the system unit is below 2.0" below 20 "$builddir/myrd/myrd-kernel.service"

# A user's service has no capabilities, and systemd cannot apply the Protect...= and Private...= settings to it.
sed 's/^\[Service\]/&\nUser=somebody\nCapabilityBoundingSet=/' "$builddir/myrd/myrd.service" > "$scratch/myrd.service"
check "the exposure of the user unit is minimal" below 33 "$scratch/myrd.service"

open=$scratch/open.service
sed '/^Protect/d' "$builddir/myrd/myrd-kernel.service" > "$open"
not_below() { ! below "$@"; }
check "a unit without protection is rated worse" not_below 20 "$open"
finish
