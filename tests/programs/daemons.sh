# SPDX-License-Identifier: BSD-3-Clause
# Functions that kill and restart daemons of the kernel NIC on the hosts of nethosts; sourced within
# `nethosts --kernel --shell`. $myrd is the daemon's program.
# shellcheck shell=bash

# Prints the pid of a host's daemon, which is the one in the host's network namespace.
daemon_of() { # HOST
    local network pid
    network=$("$NETHOSTS_RUN" "$1" readlink /proc/self/ns/net)
    for pid in $(pgrep -x myrd); do
        [ "$(readlink "/proc/$pid/ns/net")" != "$network" ] || echo "$pid"
    done
}

# Kills the daemon immediately, and starts another one after SECONDS to SECONDS + 1.
kill_daemon() { # HOST SECONDS
    local daemon
    daemon=$(daemon_of "$1")
    kill -KILL "$daemon" || return
    while [ -e "/proc/$daemon/fd/0" ]; do sleep 0.01; done
    sleep "$2.$((100 + RANDOM % 900))"
    "$NETHOSTS_RUN" "$1" "$myrd" --kernel
}
