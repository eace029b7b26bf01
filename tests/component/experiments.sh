#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, an experiment of nicbarr_experiments does not run, or plots and pages cannot read its CSV file, because
# the keys in the header, the columns or the rows of numbers are wrong. The measured values are not checked.
. "$(dirname "$0")/common.sh"

program=$builddir/bench/nicbarr_experiments
keys="experiment seed processes nodes open_mpi nicbarr a b oversubscribed"

experiment() { # NAME [ARGUMENT...]
    job 3 "$program" "$@" --budget 0.05 --csv "$scratch/$1.csv"
}

# The table has ROWS rows and the named columns: numbers over 0, unless marked (- any number, ? also nan,
# = text).
table() { # NAME EXPERIMENT ROWS COLUMN...
    awk -F , -v keys="$keys" -v experiment="$2" -v rows="$3" -v columns="${*:4}" '
        function fail(why) { print FILENAME ": " why; bad = 1 }
        function is_number(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?$/ && text !~ /^-[0.]+$/ } # (never -0.000)
        BEGIN {
            n = split(columns, names, " ")
            for (i = 1; i <= n; i++) {
                mark[i] = substr(names[i], 1, 1)
                if (mark[i] ~ /[-?=]/) names[i] = substr(names[i], 2)
            }
        }
        /^# [a-z_]+: ./ {
            colon = index($0, ":"); key = substr($0, 3, colon - 3); found = found " " key
            if (key == "experiment" && substr($0, colon + 2) != experiment) fail($0)
            next
        }
        !header++ {
            if (found != " " keys) fail("keys" found)
            if (NF != n) fail(NF " columns")
            for (i = 1; i <= n; i++) if ($i != names[i]) fail("column " $i " for " names[i])
            next
        }
        {
            if (NF != n) fail("line " NR " has " NF " fields")
            for (i = 1; i <= n; i++) {
                if (mark[i] == "=" ? $i == "" : mark[i] == "?" && $i == "nan" ? 0 : !is_number($i))
                    fail("line " NR ": " names[i] " is " $i)
                else if (mark[i] !~ /[-?=]/ && $i <= 0) fail("line " NR ": " names[i] " is " $i)
            }
            counted++
        }
        END { if (counted < rows) fail(counted + 0 " rows"); exit bad }
    ' "$scratch/$1.csv" > "$scratch/out"
}

sides="a_us a_q1 a_q3 b_us b_q1 b_q3"
factor="factor factor_q1 factor_q3"
differs="-difference_us -difference_q1 -difference_q3"

check "latency" experiment latency --seed 4711
check "the seed is printed" said "^# seed: 4711$"
# shellcheck disable=SC2086 # lists of words
{
    check "latency.csv" table latency latency 2 processes $sides $factor
    check "overhead" experiment overhead
    check "overhead.csv" table overhead overhead 2 processes library_us library_q1 library_q3 \
        mpi_us mpi_q1 mpi_q3 -overhead_us -overhead_q1 -overhead_q3
    check "overhead of a tree" experiment overhead --algorithm tree:2
    check "granularity" experiment granularity
    check "granularity.csv" table granularity granularity 15 work_us $sides
    check "efficiency.csv" table efficiency granularity 4 efficiency '?a_work_us' '?b_work_us'
    check "arrival" experiment arrival
    check "arrival.csv" table arrival arrival 35 work_us -variation_percent $sides $differs
    check "applications" experiment applications
    check "applications.csv" table applications applications 3 =application compute_us $sides \
        $factor a_efficiency b_efficiency
    check "bcast" experiment bcast
    check "bcast.csv" table bcast bcast 17 bytes $sides $factor
    check "rtt" experiment rtt
    check "rtt.csv" table rtt rtt 2 peers rtt_min_us rtt_us rtt_q1 rtt_q3 -model_us
    check "fuzzy" experiment fuzzy
    check "fuzzy.csv" table fuzzy fuzzy 10 work_us work_alone_us $sides blocking_us
}

# Chosen sides, which may be equal.
check "both sides use Open MPI" experiment latency -a ^nicbarr -b ^nicbarr
check "both sides are named" said "^# a: ^nicbarr$"

# Errors on the command line are reported in one line, before anything is started.
wrong() { # LINE ARGUMENT...
    "$program" "${@:2}" > "$scratch/out" 2>&1
    [ $? = 64 ] && said "$1" && [ "$(wc -l < "$scratch/out")" = 1 ]
}
check "no experiment is named" wrong "which experiment"
check "an unknown experiment" wrong "'nonsense' is not an experiment" nonsense
check "two experiments" wrong "'rtt' is not expected" latency rtt
check "an unknown option" wrong "nonsense" latency --nonsense
for value in x -1 0 1e9 ""; do
    check "--budget '$value'" wrong "is not a number of seconds" latency --budget "$value"
done
for value in x -1 4294967296; do
    check "--seed '$value'" wrong "is not a seed" latency --seed "$value"
done
for value in nonsense flags:4 openmpi tree:4@kernel; do
    check "--algorithm $value" wrong "is not an algorithm made of messages" overhead --algorithm "$value"
done
helps() { "$program" --help > "$scratch/out" 2>&1 && said "fuzzy  " && said "--budget SECONDS"; }
check "--help" helps
cannot_write() {
    ! job 2 "$program" latency --budget 0.05 --csv /proc/nonexistent/latency.csv && said_once "cannot write /proc/nonexistent"
}
check "a file that cannot be written" cannot_write
alone() { ! job 1 "$program" latency --budget 0.05 && said_once "one process: nothing to measure"; }
check "one process" alone
finish
