#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Barriers across hosts that the hosts' kernels play (myrd --kernel), against the same schedule played by
# the soft NIC, and against Open MPI's own over TCP:
#
#     bench/kernel.sh [-r] [-n ROUNDS] [-a ALGORITHM] [HOSTSxPER-HOST...]    # default: 2x1 4x1 8x1 16x1 4x4
#
# Hosts are network namespaces on a bridge, or with -r without one: the kernel redirects packets from
# host to host (nethosts; needs root). Short jobs take turns, kernel,
# soft, kernel, ..., ROUNDS (5) of each; within each job nicbarr and Open MPI's own take turns
# (nicbarr_bench). ALGORITHM is dissemination:1, or auto for whatever tuning takes. Microseconds; the
# quartiles are those of the ratios over the rounds. Uses what ./setup.sh check has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=nethosts/usage.sh
. "$top/nethosts/usage.sh"

rounds=5 algorithm=dissemination:1 joined=()
while getopts rn:a: option; do
    case $option in
        r) joined=(--redirect) ;;
        n) rounds=$OPTARG ;;
        a) algorithm=$OPTARG ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
layouts=("$@")
[ ${#layouts[@]} != 0 ] || layouts=(2x1 4x1 8x1 16x1 4x4)
cd "$top"
# shellcheck source=env.sh
. ./env.sh
# shellcheck source=bench/quantiles.sh
. bench/quantiles.sh
export quantiles OMPI_MCA_coll_nicbarr_cache=none rounds algorithm
export kernel=$algorithm@kernel
[ "$algorithm" != auto ] || kernel=auto

# The medians of one job: nicbarr's, Open MPI's, how many times faster.
job() { # ALGORITHM NIC
    "$NETHOSTS_MPIRUN" --mca coll_nicbarr_algorithm "$1" --mca coll_nicbarr_nic "$2" \
        nicbarr_bench -a '' -b ^nicbarr -c 100 2> /dev/null |
        awk 'NF == 4 && ($1 == "A" || $1 == "B" || $1 == "B/A") { printf "%s ", $3 }'
}
layout() { # HOSTSxPER-HOST
    for _ in $(seq "$rounds"); do
        echo "$(job "$kernel" auto) $(job "$algorithm" soft)"
    done | awk -v name="$1" "$quantiles"'
        NF == 6 { k[++n] = $1; t[n] = $2; r[n] = $3; s[n] = $4; q[n] = $4 / $1 }
        END {
            if (n == 0) { print name ": no job came to its end"; exit }
            sort(k, n); sort(t, n); sort(r, n); sort(s, n); sort(q, n)
            printf "%-6s|%9.2f%9.2f%9.2f |%6.2f%6.2f%6.2f |%6.2f%6.2f%6.2f\n", name,
                quantile(k, n, 0.5), quantile(s, n, 0.5), quantile(t, n, 0.5),
                quantile(r, n, 0.25), quantile(r, n, 0.5), quantile(r, n, 0.75),
                quantile(q, n, 0.25), quantile(q, n, 0.5), quantile(q, n, 0.75)
        }'
}
export -f job layout

echo "$algorithm${joined[*]:+, redirected}, medians of $rounds jobs each in turns, microseconds; quartile, median, quartile of the ratios"
printf '%-6s|%9s%9s%9s |%18s |%18s\n' hosts kernel soft "Open MPI" "Open MPI / kernel" "soft / kernel"
for one in "${layouts[@]}"; do
    # shellcheck disable=SC2016 # expanded inside
    nethosts/nethosts "${joined[@]}" --kernel --shell "${one%x*}" "${one#*x}" bash -uc 'layout "$1"' bash "$one"
done
