# SPDX-License-Identifier: BSD-3-Clause
# Killing daemons of the kernel's NIC on hosts of nethosts, and starting them again; sourced within
# `nethosts --kernel --shell`. $myrd is the daemon's program.
# shellcheck shell=bash

# The daemon of this host: that in its network namespace.
daemon_of() { # HOST
    local network pid
    network=$("$NETHOSTS_RUN" "$1" readlink /proc/self/ns/net)
    for pid in $(pgrep -x myrd); do
        [ "$(readlink "/proc/$pid/ns/net")" != "$network" ] || echo "$pid"
    done
}

# Kill it, at once. After so many seconds, and up to one more, there is another one.
kill_daemon() { # HOST SECONDS
    local daemon
    daemon=$(daemon_of "$1")
    kill -KILL "$daemon" || return
    while [ -e "/proc/$daemon/fd/0" ]; do sleep 0.01; done
    sleep "$2.$((100 + RANDOM % 900))"
    "$NETHOSTS_RUN" "$1" "$myrd" --kernel
}
