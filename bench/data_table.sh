# SPDX-License-Identifier: BSD-3-Clause
# The table of data.sh and data_hosts.sh, which source this.
# shellcheck shell=bash
# Lines NAME [SIZE] Q1 MEDIAN Q3, of A, B, B/A and A/barrier, become one line for each size.
table() { # PROCESSES-OR-LAYOUT OPERATION
    awk -v processes="$1" -v operation="$2" '
        /^(A|B|B\/A|A\/barrier) / && NF >= 4 {
            size = NF == 5 ? $2 : "-"
            if (!(size in seen)) order[++sizes] = size
            seen[size]
            q1[$1, size] = $(NF - 2); median[$1, size] = $(NF - 1); q3[$1, size] = $NF
        }
        END {
            for (i = 1; i <= sizes; i++) {
                s = order[i]
                printf "%9s  %-10s %7s %10.2f %10.2f  %5.2f (%.2f to %.2f)  %6.2f\n",
                    processes, operation, s, median["A", s], median["B", s], median["B/A", s],
                    q1["B/A", s], q3["B/A", s], median["A/barrier", s]
            }
        }'
}
