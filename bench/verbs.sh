#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares nicbarr's collectives by RDMA writes with Open MPI over UCX on the same devices, and with Open MPI
# over TCP:
#
#     bench/verbs.sh [-n ROUNDS] [-a ALGORITHM] [-o OPERATION] [-m BYTES] [HOSTSxPER-HOST...]
#
# OPERATION is barrier (the default), allreduce or bcast, with BYTES (8). The hosts (default: 2x1 and 4x1) are in a
# virtual machine with soft-RoCE devices (verbshosts), which has two emulated processors for all of them, so only
# values in the same line are comparable. Short jobs with UCX and with TCP alternate, ROUNDS (5) of each, and within
# each job nicbarr and Open MPI are measured alternately (nicbarr_bench). The script prints medians in microseconds,
# and the quartiles of the ratios over the rounds. ALGORITHM is a schedule (dissemination:1). The column `limit` is the
# time of a write of BYTES from one host to another, measured by ib_write_lat of perftest, multiplied by the number of
# rounds of dissemination. It is 0 if perftest is not installed. Measures what ./setup.sh check has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

rounds=5 algorithm=dissemination:1 operation=barrier bytes=8
while getopts n:a:o:m: option; do
    case $option in
        n) rounds=$OPTARG ;;
        a) algorithm=$OPTARG ;;
        o) operation=$OPTARG ;;
        m) bytes=$OPTARG ;;
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
export quantiles OMPI_MCA_coll_nicbarr_cache=none OMPI_MCA_coll_nicbarr_tune_share=100 rounds algorithm operation bytes

# Prints the medians of one job: nicbarr's time, Open MPI's time, and their ratio.
job() { # MPIRUN-OPTION...
    local size=()
    [ "$operation" = barrier ] || size=(-m "$bytes:$bytes")
    "$VERBSHOSTS_MPIRUN" "$@" --mca coll_nicbarr_algorithm "$algorithm@verbs" \
        --mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_bcast ring \
        nicbarr_bench "$operation" "${size[@]}" -a nicbarr,tuned,basic,libnbc -b ^nicbarr -c 40 -x 100 2> /dev/null |
        awk '/^# (microseconds|ratio)/ { on = 1 } on && /^(A|B|B\/A) / { printf "%s ", $(NF - 1) }'
}
limit() { # one-way time of a write
    local server
    command -v ib_write_lat > /dev/null || { echo 0; return; }
    "$VERBSHOSTS_RUN" 1 ib_write_lat -d rxe1 -x 1 -n 2000 -s "$bytes" > /dev/null 2>&1 &
    server=$!
    until grep -qi ':4853 ' /proc/net/tcp /proc/net/tcp6 || ! kill -0 $server; do sleep 0.1; done # until the server listens
    "$VERBSHOSTS_RUN" 2 ib_write_lat -d rxe2 -x 1 -n 2000 -s "$bytes" 10.78.0.1 2> /dev/null |
        awk -v bytes="$bytes" '$1 == bytes && NF > 5 { print $5 }'
    wait $server
}
layout() { # HOSTSxPER-HOST
    for _ in $(seq "$rounds"); do
        echo "$(job --mca pml ucx) $(job --mca pml ob1) $(limit)"
    done | awk -v name="$1" "$quantiles"'
        NF == 7 { v[++n] = $1; u[n] = $2; a[n] = $3; t[n] = $5; b[n] = $6; l[n] = $7 }
        END {
            if (n == 0) { print name ": no job came to its end"; exit }
            for (turns = 0; 2 ^ turns < name + 0; turns++);
            sort(v, n); sort(u, n); sort(a, n); sort(t, n); sort(b, n); sort(l, n)
            printf "%-6s|%9.0f%9.0f%9.0f%9.0f |%6.2f%6.2f%6.2f |%6.2f%6.2f%6.2f\n", name,
                turns * quantile(l, n, 0.5), quantile(v, n, 0.5), quantile(u, n, 0.5), quantile(t, n, 0.5),
                quantile(a, n, 0.25), quantile(a, n, 0.5), quantile(a, n, 0.75),
                quantile(b, n, 0.25), quantile(b, n, 0.5), quantile(b, n, 0.75)
        }'
}
export -f job limit layout

echo "$operation, $algorithm, medians of $rounds alternating jobs each, microseconds; quartile, median, quartile of the ratios"
printf '%-6s|%9s%9s%9s%9s |%18s |%18s\n' hosts limit verbs UCX TCP "UCX / verbs" "TCP / verbs"
for one in "${layouts[@]}"; do
    # shellcheck disable=SC2016 # expanded inside
    testbeds/verbs/verbshosts --seconds 1800 --shell "${one%x*}" "${one#*x}" bash -uc 'layout "$1"' bash "$one"
done
