# SPDX-License-Identifier: BSD-3-Clause
# Measures the round trip of a UDP packet between the first two hosts of nethosts. To be sourced by benchmarks.
# shellcheck shell=bash
udp_round_trip() { # prints nicbarr_raw_udp's output; $scratch is a directory
    local ready at=0.0.0.0 to=10.77.0.2
    [ "$NETHOSTS_IPV6" = no ] || at=:: to=fd77::2
    mkfifo "$scratch/ready"
    "$NETHOSTS_RUN" 2 nicbarr_raw_udp --at $at > "$scratch/ready" &
    read -r ready < "$scratch/ready"
    rm "$scratch/ready"
    "$NETHOSTS_RUN" 1 nicbarr_raw_udp --to $to --chunks "$1"
    wait $!
}
export -f udp_round_trip
