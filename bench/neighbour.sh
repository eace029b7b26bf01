#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures by how much another user of the kernel NIC can slow down a user's barriers:
#
#     bench/neighbour.sh [-n ROUNDS] [-g GROUPS] [HOSTSxPER-HOST...]    # default: 2x1 4x1
#
# Jobs measure MPI_Barrier by the kernel NIC (dissemination:1), alternately alone and beside a hostile user on the first
# two hosts (tests/component/worst_user storm), ROUNDS (5) times each. That user has GROUPS (64) groups, whose hosts
# claim in each millisecond that they are a billion barriers ahead and that they miss messages. The script prints the
# medians in microseconds, first quartile, median and third quartile of the ratios, and the CPU time of the hostile user
# on both hosts, as a share of one processor.
#
# Hosts are network namespaces (nethosts), which requires root. Measures what ./setup.sh check has built, and
# builds the program of the hostile user if it is missing.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

rounds=5 groups=64
while getopts n:g: option; do
    case $option in
        n) rounds=$OPTARG ;;
        g) groups=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
layouts=("$@")
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1)
cd "$top"
# shellcheck source=env.sh
. ./env.sh
# shellcheck source=bench/quantiles.sh
. bench/quantiles.sh
[ -x _build/tests/component/worst_user ] || make -s -C _build tests/component/worst_user
# The program is copied, because the hostile user may have no access to the build directory.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 711 "$scratch"
cp _build/tests/component/worst_user "$scratch"
export quantiles OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100 rounds groups scratch

# Prints the median of one job.
job() {
    "$NETHOSTS_MPIRUN" --mca coll_nicbarr_algorithm dissemination:1@kernel \
        nicbarr_bench -a '' -b ^nicbarr -c 50 -x 100 2> /dev/null | awk '4 == NF && "A" == $1 { print $3 }'
}
# Prints the median of a job beside the hostile user, then that user's share of a processor.
beside() {
    local host before players=()
    for host in 1 2; do
        "$NETHOSTS_RUN" "$host" setpriv --reuid 65534 --regid 65534 --clear-groups \
            "$scratch/worst_user" storm "$host" $((3 - host)) "$groups" > "$scratch/ready$host" &
        players+=($!)
    done
    for host in 1 2; do
        until grep -qs ready "$scratch/ready$host"; do sleep 0.1; done
    done
    before=$(taken "${players[@]}")
    echo "$(job) $(awk -v b="$before" -v a="$(taken "${players[@]}")" \
        'BEGIN { split(b, x); split(a, y); print (y[1] - x[1]) / (y[2] - x[2]) }')"
    kill "${players[@]}"
    wait "${players[@]}" 2> /dev/null || true
    rm -f "$scratch"/ready*
}
# Prints the CPU time of the processes, and the current time, in seconds.
taken() { # PID...
    local pid
    for pid in "$@"; do cat "/proc/$pid/stat"; done |
        awk -v now="$(date +%s.%N)" -v hz="$(getconf CLK_TCK)" \
            '{ s += $14 + $15 } END { print s / hz, now }'
}
layout() { # HOSTSxPER-HOST
    for _ in $(seq "$rounds"); do
        echo "$(job) $(beside)"
    done | awk -v name="$1" "$quantiles"'
        3 == NF { a[++n] = $1; b[n] = $2; r[n] = $2 / $1; p[n] = $3 }
        END {
            if (0 == n) { print name ": no job came to its end"; exit 1 }
            sort(a, n); sort(b, n); sort(r, n); sort(p, n)
            printf "%-6s|%9.2f%9.2f |%6.2f%6.2f%6.2f |%6.2f\n", name,
                quantile(a, n, 0.5), quantile(b, n, 0.5), quantile(r, n, 0.25),
                quantile(r, n, 0.5), quantile(r, n, 0.75), quantile(p, n, 0.5)
        }'
}
export -f job beside taken layout

echo "medians of $rounds alternating jobs each, microseconds; quartile, median, quartile of the ratios"
printf '%-6s|%9s%9s |%18s |%6s\n' hosts alone beside "beside / alone" "part"
for one in "${layouts[@]}"; do
    # shellcheck disable=SC2016 # expanded inside
    testbeds/hosts/nethosts --kernel --shell "${one%x*}" "${one#*x}" bash -uc 'layout "$1"' bash "$one"
done
