# SPDX-License-Identifier: BSD-3-Clause
# Functions that compare barriers by the kernel NIC and by the soft NIC with Open MPI over TCP. kernel.sh and
# machines.sh source this file with bash on the first host. Short jobs with either NIC alternate, and within each
# job nicbarr and Open MPI are measured alternately (nicbarr_bench). Times are in microseconds.
#
#     nics_head      prints the head of the table
#     nics_line NAME ROUNDS ALGORITHM SIZE MPIRUN...
#                    prints a line with the medians of ROUNDS jobs for each NIC. ALGORITHM is a schedule, or auto for
#                    the choice made by tuning. SIZE contains options of nicbarr_bench in one word, such as
#                    "-c 30 -i 20". If $rows is the name of a file, the results are also written into it for
#                    bench/figures.py, with the aims of the ratios, "$aims"
# shellcheck shell=bash disable=SC2154
# shellcheck source=bench/quantiles.sh
. "$(dirname "${BASH_SOURCE[0]}")/quantiles.sh"

nics_head() {
    echo "Medians of alternating jobs, microseconds; quartile, median, quartile of the ratios"
    printf '%-6s|%9s%9s%9s |%18s |%18s |%18s\n' hosts kernel soft "Open MPI" "Open MPI / kernel" "soft / kernel" "Open MPI / soft"
}

# Prints the medians of one job: nicbarr's time, Open MPI's time, and their ratio.
nics_job() { # ALGORITHM NIC SIZE MPIRUN...
    # shellcheck disable=SC2086 # words
    "${@:4}" --mca coll_nicbarr_cache none --mca coll_nicbarr_tune_share 100 \
        --mca coll_nicbarr_algorithm "$1" --mca coll_nicbarr_nic "$2" \
        "$(realpath "$(command -v nicbarr_bench)")" -a '' -b ^nicbarr $3 2> /dev/null |
        awk 'NF == 4 && ($1 == "A" || $1 == "B" || $1 == "B/A") { printf "%s ", $3 }'
}

nics_line() { # NAME ROUNDS ALGORITHM SIZE MPIRUN...
    local kernel=$3@kernel
    [ "$3" != auto ] || kernel=auto
    for _ in $(seq "$2"); do
        echo "$(nics_job "$kernel" auto "${@:4}") $(nics_job "$3" soft "${@:4}")"
    done | awk -v name="$1" -v rows="${rows-}" -v aims="${aims-}" "$quantiles"'
        function quartiles(values, format) {
            return sprintf(format, quantile(values, n, 0.25), quantile(values, n, 0.5), quantile(values, n, 0.75))
        }
        function ratio(values) { return quartiles(values, "%6.2f%6.2f%6.2f") }
        function stored(key, values) { return quartiles(values, "\"" key "\": [%.2f, %.2f, %.2f], ") }
        NF == 6 { k[++n] = $1; t[n] = $2; r[n] = $3; s[n] = $4; q[n] = $4 / $1; p[n] = $6 }
        END {
            if (n == 0) { print name ": no job came to its end"; exit }
            sort(k, n); sort(t, n); sort(r, n); sort(s, n); sort(q, n); sort(p, n)
            printf "%-6s|%9.2f%9.2f%9.2f |%s |%s |%s\n", name, quantile(k, n, 0.5), quantile(s, n, 0.5),
                quantile(t, n, 0.5), ratio(r), ratio(q), ratio(p)
            if (rows != "") {
                print "{\"layout\": \"" name "\", " stored("kernel", k) stored("soft", s) stored("open_mpi", t) \
                    stored("open_mpi_over_kernel", r) stored("soft_over_kernel", q) stored("open_mpi_over_soft", p) \
                    "\"aims\": {" aims "}}" >> rows
            }
        }'
}
