#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Measures the effect of nicbarr on the duration of whole jobs. Jobs with a few calls of a collective are started
# alternately with nicbarr and without any of its components:
#
#     bench/startup.sh [-n ROUNDS] [-c COLLECTIVE] [-k CACHE] [-d COMMUNICATORS] [-a ARGUMENT]... [-o OPTION]...
#                      [-j FILE] LAYOUT CALLS...
#     bench/startup.sh 4 0 1 5 25 100              # 4 processes on this node, default: barriers
#     bench/startup.sh -c allreduce -k small 4x2 100    # 4 hosts (nethosts; needs root) of 2 processes
#     bench/startup.sh -d 100 8 1                  # one barrier on each of 100 duplicates of MPI_COMM_WORLD
#
# CACHE is the tuning cache that the jobs find: `none` (the default), `small`, with this shape only, or `large`, with so
# many shapes that it has the maximum size. COLLECTIVE is barrier (the default), allreduce or bcast (8 bytes), or `all`
# that nicbarr serves. ARGUMENT is passed to mpirun in jobs with nicbarr (-a '--mca coll_nicbarr_nic myrd'), and OPTION
# to nethosts (-o --kernel, or -o '--cut 1-2' for a firewall). For each number of CALLS, the script prints a line with
# medians over ROUNDS (20) of the duration of the command, without and with nicbarr. Three ratios (with nicbarr /
# without) follow, as first quartile, median and third quartile: of the duration, of the CPU time of all processes, and
# of their memory (Pss before MPI_Finalize). The rest of the line contains medians without and with nicbarr, of the
# memory of a process, and of the slowest process's time in MPI_Init, in the first call and in the other calls. The
# results are also written into FILE for bench/figures.py. Measures what ./setup.sh has built.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/usage.sh
. "$top/tools/usage.sh"

command=("bench/${0##*/}" "$@")
rounds=20 collective=barrier known=none communicators=0 arguments='' options='' result=
while getopts n:c:k:d:a:o:j: option; do
    case $option in
        n) rounds=$OPTARG ;;
        c) collective=$OPTARG ;;
        k) known=$OPTARG ;;
        d) communicators=$OPTARG ;;
        a) arguments+=" $OPTARG" ;;
        o) options+=" $OPTARG" ;;
        j) result=$(realpath -m "$OPTARG") ;;
        *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
layout=$1
shift
# shellcheck source=bench/built.sh
. "$top/bench/built.sh"
# shellcheck source=ompi/jobs.sh
. "$top/ompi/jobs.sh"
# shellcheck source=bench/quantiles.sh
. "$top/bench/quantiles.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
startup=${builddir:-$top/_build}/bench/startup
hosts=${layout%x*}
path=$OMPI_MCA_mca_base_component_path
cache=$known
export layout startup collective communicators arguments options path scratch rounds quantiles known cache

job() { # with|without COLLECTIVE CALLS [COMMUNICATORS]
    local side=$1 mpirun=(mpirun -np "$layout" --bind-to core:overload-allowed)
    shift
    [ -z "${NETHOSTS_MPIRUN-}" ] || mpirun=("$NETHOSTS_MPIRUN")
    if [ "$side" = with ]; then
        # shellcheck disable=SC2086 # arguments
        "${mpirun[@]}" --mca mca_base_component_path "$path" --mca coll_nicbarr_cache "$scratch/$known" $arguments \
            "$startup" "$@"
    else
        env -u OMPI_MCA_mca_base_component_path "${mpirun[@]}" "$startup" "$@"
    fi
}

# Runs a job and prints a line: side, round, duration, and what its processes have reported: the sum of their CPU
# times, the mean of their memory, and the times of the slowest process in MPI_Init, in the first call and in the
# other calls.
measure() { # SIDE ROUND CALLS
    local before=$EPOCHREALTIME
    job "$1" "$collective" "$3" "$communicators" > "$scratch/out" 2> "$scratch/err" ||
        { cat "$scratch/out" "$scratch/err" >&2; exit 1; }
    awk -v side="$1" -v round="$2" -v before="$before" -v after="$EPOCHREALTIME" '
        $1 == "startup" {
            ++processes
            for (i = 1; i <= 5; i++) if ($(i + 1) > most[i]) most[i] = $(i + 1)
            processor += $7; memory += $8
        }
        END { print side, round, 1e6 * (after - before), processor, memory / processes, most[1], most[3], most[4] }' "$scratch/out"
}

# Creates the cache that the jobs find. The large cache contains copies of its lines under the names of other
# shapes.
make_cache() {
    rm -f "$scratch/small" "$scratch/large"
    [ "$known" != none ] || { export known=no-file; return 0; }
    known=small arguments='--mca coll_nicbarr_tune_share 100' job with "$collective" 20000 > "$scratch/out" 2>&1 || { cat "$scratch/out" >&2; exit 1; }
    [ "$known" = small ] || python3 - "$scratch/small" "$scratch/large" << 'PYTHON'
import sys
first, *mine = open(sys.argv[1]).readlines()
others, size = [], len(first) + sum(map(len, mine))
while size < 500000:
    for line in mine:
        others.append(line.replace('"shape": "', '"shape": "another machine %d | ' % len(others), 1))
        size += len(others[-1])
open(sys.argv[2], "w").writelines([first] + others + mine)
PYTHON
    [ "$known" != large ] || rm "$scratch/small"
}

table() { # CALLS...
    local calls round
    printf '%-8s%7s |%9s%9s |%20s |%20s |%20s | %s\n' layout calls 'without' 'with (ms)' 'whole time' 'CPU time' memory \
        'memory (KB); MPI_Init, first call, other calls (us)'
    for calls; do
        for ((round = 1; round <= rounds; ++round)); do
            make_cache_again
            measure without "$round" "$calls"
            measure with "$round" "$calls"
        done | awk -v layout="$layout" -v calls="$calls" -v rows="$scratch/rows" "$quantiles"'
            { for (i = 3; i <= NF; i++) value[$1, i, $2] = $i; n = $2 }
            function median(side, i,   r, v) { for (r = 1; r <= n; r++) v[r] = value[side, i, r]; sort(v, n); return quantile(v, n, 0.5) }
            function ratios(i, format,   r, v) {
                for (r = 1; r <= n; r++) v[r] = value["with", i, r] / value["without", i, r]
                sort(v, n)
                return sprintf(format, quantile(v, n, 0.25), quantile(v, n, 0.5), quantile(v, n, 0.75))
            }
            function stored(name, i) {
                return sprintf(", \"%s\": [%.0f, %.0f]", name, median("without", i), median("with", i))
            }
            END {
                line = "%6.3f%7.3f%7.3f"; json = "[%.3f, %.3f, %.3f]"
                printf "%-8s%7d |%9.1f%9.1f |%s |%s |%s |", layout, calls, median("without", 3) / 1e3,
                    median("with", 3) / 1e3, ratios(3, line), ratios(4, line), ratios(5, line)
                for (i = 5; i <= 8; i++) printf " %.0f %.0f;", median("without", i), median("with", i)
                print ""
                printf "{\"layout\": \"%s\", \"collective\": \"%s\", \"calls\": %d, \"communicators\": %d, ", layout,
                    ENVIRON["collective"], calls, ENVIRON["communicators"] >> rows
                printf "\"cache\": \"%s\", \"arguments\": \"%s\", \"options\": \"%s\", \"rounds\": %d, ", ENVIRON["cache"],
                    substr(ENVIRON["arguments"], 2), substr(ENVIRON["options"], 2), n >> rows
                printf "\"time\": %s, \"processor_time\": %s, \"memory\": %s", ratios(3, json), ratios(4, json),
                    ratios(5, json) >> rows
                print stored("time_us", 3) stored("memory_kb", 5) stored("init_us", 6) stored("first_call_us", 7) \
                    stored("other_calls_us", 8) "}" >> rows
            }'
    done
}
# Restores the cache, so that each job finds the same one, without what earlier jobs have added.
make_cache_again() { [ ! -e "$scratch/kept" ] || cp "$scratch/kept" "$scratch/$known"; rm -f "$scratch/no-file"; }
all() {
    make_cache
    [ ! -e "$scratch/$known" ] || cp "$scratch/$known" "$scratch/kept"
    table "$@"
}
export -f job measure make_cache make_cache_again table all
if [ "$hosts" = "$layout" ]; then
    all "$@"
else
    # shellcheck disable=SC2086 # options
    NETHOSTS_PER_HOST=${layout#*x} "$top/testbeds/hosts/nethosts" --shell $options "$hosts" bash -euc 'all "$@"' bash "$@"
fi
[ -z "$result" ] || "$top/bench/figures.py" store startup "$result" "${command[@]}" < "$scratch/rows"
