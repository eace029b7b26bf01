#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures by how much the kernel NIC delays packets of other programs:
#
#     bench/foreign.sh [-n ROUNDS]
#
# First the kernel runs each of the NIC's two BPF programs a million times (bpftool prog run) with a packet that
# differs in length from the NIC's, with a TCP packet of the same length (74 bytes), and with a UDP packet of that
# length to another port. The script prints nanoseconds per run, as medians of ROUNDS (20). Most of this time is
# the overhead of the run itself, which is also measured, with an empty program.
#
# Then the script measures round trips of such a UDP packet to another host (nicbarr_raw_udp), alternately with the
# programs attached to the interfaces and without them, ROUNDS times each. Each packet passes four programs. It
# prints the medians in microseconds, and first quartile, median and third quartile of the ratios. Hosts are network
# namespaces (nethosts), which requires root. Measures what ./setup.sh check has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

rounds=20
while getopts n: option; do
    case $option in
        n) rounds=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# = 0 ] || usage
cd "$top"
# shellcheck source=env.sh
. ./env.sh
# shellcheck source=bench/quantiles.sh
. bench/quantiles.sh
# shellcheck source=bench/udp_round_trip.sh
. bench/udp_round_trip.sh
PATH=$PATH:/usr/sbin
command -v bpftool clang > /dev/null || { echo "foreign.sh: needs bpftool and clang" >&2; exit 77; }
scratch=$(mktemp -d)
nothing=/sys/fs/bpf/nicbarr-foreign-$$
trap 'rm -rf "$scratch" "$nothing"' EXIT
echo '__attribute__((section("tc"))) int nothing(void *packet) { return -1; }' |
    clang -O2 -target bpf -x c -c -o "$scratch/nothing.o" -
bpftool prog load "$scratch/nothing.o" "$nothing" type classifier 2> /dev/null
builddir=${builddir:-$top/_build}
export quantiles rounds scratch builddir nothing

# Writes a frame of BYTES with an IP packet from one host to the other. PROTOCOL is hexadecimal.
frame() { # PROTOCOL BYTES
    printf '\x02NIC\0\x02\x02NIC\0\x01\x08\0'             # Ethernet
    printf '\x45\0\0\x3c\0\0\x40\0\x40%b\0\0' "\\x$1"       # IP
    printf '\x0a\x4d\0\x01\x0a\x4d\0\x02\x30\x39\x30\x39\0\x28\0\0' # ... and UDP
    head -c $(($2 - 42)) /dev/zero
}
frame 06 1514 > "$scratch/another length"
frame 06 74 > "$scratch/TCP, 74 bytes"
frame 11 74 > "$scratch/UDP, 74 bytes"

# Prints the id of the BPF program that is attached to a hook of the first host (46: ingress, 47: egress).
program() { # HOOK
    awk -v hook="$1" 'FNR == 1 { id = "" } $1 == "prog_id:" { id = $2 }
        $1 == "attach_type:" && $2 == hook { print id }' /proc/"$(pgrep -o -x myrd)"/fdinfo/*
}
run() { # FILE PROGRAM...
    local file=$1
    shift
    bpftool prog run "$@" data_in "$file" repeat 1000000 | grep -o '[0-9]*ns' | tr -d ns
}
stand() {
    for host in 1 2; do
        "$NETHOSTS_RUN" $host "$builddir/myrd/myrd" --kernel --network 10.77.0.0/24
    done
}
go() {
    pkill -x myrd
    while pgrep -x myrd > /dev/null; do sleep 0.01; done
}
round_trip() { udp_round_trip 300 | awk '$1 == "polling" { print $3 }'; }
measure() {
    local file
    stand
    echo "nanoseconds a run         in      out  nothing"
    for file in another\ length TCP,\ 74\ bytes UDP,\ 74\ bytes; do
        for _ in $(seq "$rounds"); do
            echo "$(run "$scratch/$file" id "$(program 46)")" \
                "$(run "$scratch/$file" id "$(program 47)") $(run "$scratch/$file" pinned "$nothing")"
        done | awk -v name="$file" "$quantiles"'
            { i[++n] = $1; o[n] = $2; z[n] = $3 }
            END {
                sort(i, n); sort(o, n); sort(z, n)
                printf "%-20s%8.1f%9.1f%9.1f\n", name,
                    quantile(i, n, 0.5), quantile(o, n, 0.5), quantile(z, n, 0.5)
            }'
    done
    go
    for _ in $(seq "$rounds"); do
        stand
        echo -n "$(round_trip) "
        go
        round_trip
    done | awk "$quantiles"'
        { w[++n] = $1; o[n] = $2; r[n] = $1 / $2 }
        END {
            sort(w, n); sort(o, n); sort(r, n)
            printf "round trip, microseconds: %.2f with, %.2f without; with / without %.3f %.3f %.3f\n",
                quantile(w, n, 0.5), quantile(o, n, 0.5),
                quantile(r, n, 0.25), quantile(r, n, 0.5), quantile(r, n, 0.75)
        }'
}
export -f program run stand go round_trip measure
testbeds/hosts/nethosts --shell 2 bash -euc measure
