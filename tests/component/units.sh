#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The daemon's units, as systemd judges them without running them: does it understand them, and how much could
# a service do that was taken over (0: nothing, 10: all)?
. "$(dirname "$0")/common.sh"
command -v systemd-analyze > /dev/null || { echo "skip: no systemd-analyze (install systemd)"; exit 77; }
systemd-analyze --help | grep -q -- --offline || { echo "skip: systemd-analyze is older than 250"; exit 77; }

verified() { # UNIT: as systemd reads it, with the program that was built
    sed "s|^ExecStart=[^ ]*|ExecStart=$builddir/myrd/myrd|" "$builddir/myrd/$1" > "$scratch/$1"
    systemd-analyze verify --man=no "$scratch/$1" > "$scratch/out" 2>&1 && [ ! -s "$scratch/out" ]
}
for unit in myrd.service myrd-kernel.service; do
    check "systemd understands $unit" verified $unit
done

# A daemon speaks with its clients, with NICs of either family, and asks the kernel for its addresses.
opens_sockets() { # UNIT
    sed -n 's/^RestrictAddressFamilies=//p' "$builddir/myrd/$1" > "$scratch/out"
    [ "$(cat "$scratch/out")" = "AF_UNIX AF_INET AF_INET6 AF_NETLINK" ]
}
for unit in myrd.service myrd-kernel.service; do
    check "$unit allows the sockets that it needs" opens_sockets $unit
done

below() { # TENTHS UNIT
    systemd-analyze security --no-pager --offline=true --threshold="$1" "$2" > "$scratch/out" 2>&1
}
check "the system's unit is below 2.0" below 20 "$builddir/myrd/myrd-kernel.service"

# A user's service has no capabilities, and systemd cannot give it Protect...= and Private...=.
sed 's/^\[Service\]/&\nUser=somebody\nCapabilityBoundingSet=/' "$builddir/myrd/myrd.service" > "$scratch/myrd.service"
check "the user's unit is at the least that users' services can have" below 33 "$scratch/myrd.service"

open=$scratch/open.service
sed '/^Protect/d' "$builddir/myrd/myrd-kernel.service" > "$open"
not_below() { ! below "$@"; }
check "a unit that protects nothing is not" not_below 20 "$open"
finish
