#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr's barriers with Open MPI's over TCP, across hosts (network namespaces of this machine):
#
#     bench/hosts.sh [--ipv6] [--chunks N] [-j FILE] [HOSTSxPER-HOST...]   # default: 2x1 4x1 8x1 16x1 4x4
#
# Within each job both are measured alternately (nicbarr_bench). All jobs use the same hosts. Before each job the round
# trip of a UDP packet between the first two hosts is measured (nicbarr_raw_udp). The script prints medians and
# quartiles in microseconds, and also writes them into FILE for bench/figures.py. Times of different runs are not
# comparable. With --ipv6 all communication uses IPv6 (with Open MPI 4.1, see nethosts). Measures what ./setup.sh has
# built, or the components and commands of the environment.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
chunks=300 layouts=() options=() result=
while [ $# -gt 0 ]; do
    case $1 in
        --ipv6) options=(--ipv6) ;;
        --chunks)
            [ $# -ge 2 ] || usage
            chunks=$2
            shift ;;
        -j)
            [ $# -ge 2 ] || usage
            result=$(realpath -m "$2")
            shift ;;
        [0-9]*x[0-9]*) layouts+=("$1") ;;
        *) usage ;;
    esac
    shift
done
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1 8x1 16x1 4x4)
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# Results must not depend on the measurements of earlier jobs.
export OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100

# shellcheck source=bench/udp_round_trip.sh
. "$top/bench/udp_round_trip.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export scratch chunks

# Prints the aim, which is the minimum factor by which nicbarr should be faster.
target() { # LAYOUT
    case $1 in
        2x1) echo 2.0 ;;
        4x1) echo 2.2 ;;
        8x1) echo 2.1 ;;
        16x1) echo 2.8 ;;
        4x4) echo 3.0 ;;
        *) echo - ;;
    esac
}

# Prints first quartile, median and third quartile from the line of NAME in an output of nicbarr_bench.
quartiles() { # NAME FILE
    awk -v name="$1" '$1 == name && NF == 4 { print $2, $3, $4 }' "$2"
}

# Prints the line of the table for a layout.
line() { # LAYOUT
    local hosts=${1%x*} per_host=${1#*x}
    udp_round_trip 300 > "$scratch/udp"
    NETHOSTS_HOSTS=$hosts NETHOSTS_PER_HOST=$per_host "$NETHOSTS_MPIRUN" \
        nicbarr_bench -a '' -b ^nicbarr -c "$chunks" > "$scratch/barrier"
    # shellcheck disable=SC2046 # words
    set -- "$1" $(quartiles A "$scratch/barrier") $(quartiles B "$scratch/barrier") \
        $(quartiles B/A "$scratch/barrier") "$(target "$1")" \
        $(quartiles polling "$scratch/udp") $(quartiles blocking "$scratch/udp")
    printf '%-6s|%9s%9s%9s |%9s%9s%9s |%6s%6s%6s |%5s |%8s%8s%8s |%8s%8s%8s\n' "$@"
    printf '{"layout": "%s", "nicbarr": [%s, %s, %s], "open_mpi": [%s, %s, %s], "times_faster": [%s, %s, %s], ' \
        "${@:1:10}" >> "$scratch/rows"
    printf '"aims": {"times_faster": %s}, "udp_polling": [%s, %s, %s], "udp_blocking": [%s, %s, %s]}\n' \
        "${11/#-/null}" "${@:12}" >> "$scratch/rows"
}

echo "Barriers across hosts (hosts x processes on each), microseconds: quartile, median, quartile"
printf '%-6s|%27s |%27s |%18s |%5s |%24s |%24s\n' hosts nicbarr "Open MPI, TCP" "times faster" aim \
    "UDP there and back" "the same, blocking"

most=0
for layout in "${layouts[@]}"; do
    most=$((${layout%x*} > most ? ${layout%x*} : most))
done
export -f line quartiles target
# shellcheck disable=SC2016 # expanded inside
"$top/testbeds/hosts/nethosts" "${options[@]}" --shell "$((most > 2 ? most : 2))" \
    bash -euc 'for layout in "$@"; do line "$layout"; done' bash "${layouts[@]}"
[ -z "$result" ] || "$top/bench/figures.py" store hosts "$result" "${command[@]}" < "$scratch/rows"
