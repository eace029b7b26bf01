# SPDX-License-Identifier: BSD-3-Clause
# Prints the tables of data.sh and data_hosts.sh, which source this file.
# shellcheck shell=bash

# The aims, which are the minimum factors by which nicbarr should be faster than Open MPI. A line contains
# the operation, the minimum and maximum number of bytes, the NIC (node: all processes are on one node), and
# pairs of a layout (processes, or hosts x processes per host) and its aim.
aims() {
    cat << 'EOS'
allreduce 8 64 node 2 1.8 4 1.8 8 2.4 16 3.0
allreduce 8 64 soft 2x1 1.5 4x1 1.6 8x1 2.2 16x1 3.0 4x4 4.5
allreduce 8 64 kernel 2x1 2.3 4x1 3.0 8x1 4.2 16x1 5.5 4x4 6.5
allreduce 1024 1024 kernel 2x1 1.8 4x1 2.0 8x1 2.5 16x1 3.0 4x4 4.0
bcast 8 64 node 2 1.8 4 1.4 8 1.4 16 1.8
bcast 8 64 kernel 2x1 2.0 4x1 2.5 8x1 3.0 16x1 3.5 4x4 3.0
bcast 65536 1048576 node 2 1.5 4 1.5 8 1.5 16 1.5
dup - - node 2 1.5 4 2.0 8 2.0 16 2.5
dup - - kernel 2x1 2.0 4x1 2.5 8x1 3.0 16x1 3.5 4x4 4.0
EOS
}

heading="processes operation    bytes    nicbarr   Open MPI  times faster (quartiles)   aim  of its barrier  of the raw limit"

# Converts the output of nicbarr_bench to a table with one line per size. The input has lines NAME [SIZE] Q1
# MEDIAN Q3, whose names are A, B, B/A, A/barrier and A/PATTERN of the raw limit.
table() { # PROCESSES-OR-LAYOUT OPERATION NIC [RAW-LIMIT-IN-MICROSECONDS]
    awk -v processes="$1" -v operation="$2" -v nic="$3" -v raw="${4-}" '
        FILENAME != "-" {
            if ($1 == operation && $4 == nic) {
                for (i = 5; i < NF; i += 2) {
                    if ($i == processes) { aim[++aims] = $(i + 1); least[aims] = $2; most[aims] = $3 }
                }
            }
            next
        }
        /^(A|B|B\/A|A\/[a-z][-a-z0-9]*) / && NF >= 4 {
            size = NF == 5 ? $2 : "-"
            name = $1 ~ /^A\// && $1 != "A/barrier" ? "A/raw" : $1
            if (!(size in seen)) order[++sizes] = size
            seen[size]
            q1[name, size] = $(NF - 2); median[name, size] = $(NF - 1); q3[name, size] = $NF
        }
        function aim_of(size,    a) {
            for (a = 1; a <= aims; a++) {
                if (size == least[a] || (size + 0 >= least[a] + 0 && size + 0 <= most[a] + 0)) return aim[a]
            }
            return "-"
        }
        END {
            for (i = 1; i <= sizes; i++) {
                s = order[i]
                limit = raw != "" ? sprintf("%.2f", median["A", s] / raw) : \
                    ("A/raw", s) in median ? median["A/raw", s] : "-"
                printf "%9s %-10s %7s %10.2f %10.2f  %5.2f (%.2f to %.2f)  %8s %15.2f %17s\n",
                    processes, operation, s, median["A", s], median["B", s], median["B/A", s],
                    q1["B/A", s], q3["B/A", s], aim_of(s), median["A/barrier", s], limit
            }
        }' <(aims) -
}
