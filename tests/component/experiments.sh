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

# Checks that a table has ROWS rows and the named columns. Values must be numbers above 0, unless the name of the column
# begins with - (any number), ? (may be nan) or = (text).
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

check "the experiment latency runs" experiment latency --seed 4711
check "the seed is printed" said "^# seed: 4711$"
# shellcheck disable=SC2086 # lists of words
{
    check "the CSV file of latency has the right columns and rows" table latency latency 2 processes $sides $factor
    check "the experiment overhead runs" experiment overhead
    check "the CSV file of overhead has the right columns and rows" table overhead overhead 2 processes library_us library_q1 library_q3 \
        mpi_us mpi_q1 mpi_q3 -overhead_us -overhead_q1 -overhead_q3
    check "the experiment overhead runs with a tree" experiment overhead --algorithm tree:2
    check "the experiment granularity runs" experiment granularity
    check "the CSV file of granularity has the right columns and rows" table granularity granularity 15 work_us $sides
    check "the CSV file of efficiency has the right columns and rows" table efficiency granularity 4 efficiency '?a_work_us' '?b_work_us'
    check "the experiment arrival runs" experiment arrival
    check "the CSV file of arrival has the right columns and rows" table arrival arrival 35 work_us -variation_percent $sides $differs
    check "the experiment applications runs" experiment applications
    check "the CSV file of applications has the right columns and rows" table applications applications 3 =application compute_us $sides \
        $factor a_efficiency b_efficiency
    check "the experiment bcast runs" experiment bcast
    check "the CSV file of bcast has the right columns and rows" table bcast bcast 17 bytes $sides $factor
    check "the experiment rtt runs" experiment rtt
    check "the CSV file of rtt has the right columns and rows" table rtt rtt 2 peers rtt_min_us rtt_us rtt_q1 rtt_q3 -model_us
    check "the experiment fuzzy runs" experiment fuzzy
    check "the CSV file of fuzzy has the right columns and rows" table fuzzy fuzzy 10 work_us work_alone_us $sides blocking_us
}

# Both sides of the comparison can be chosen, and may be equal.
check "both sides use Open MPI" experiment latency -a ^nicbarr -b ^nicbarr
check "both sides are named" said "^# a: ^nicbarr$"

# Errors on the command line are reported in one line, before anything is started.
wrong() { # LINE ARGUMENT...
    "$program" "${@:2}" > "$scratch/out" 2>&1
    [ $? = 64 ] && said "$1" && [ "$(wc -l < "$scratch/out")" = 1 ]
}
check "a missing name of an experiment is refused" wrong "which experiment"
check "an unknown experiment is refused" wrong "'nonsense' is not an experiment" nonsense
check "two experiments are refused" wrong "'rtt' is not expected" latency rtt
check "an unknown option is refused" wrong "nonsense" latency --nonsense
for value in x -1 0 1e9 ""; do
    check "--budget '$value' is refused" wrong "is not a number of seconds" latency --budget "$value"
done
for value in x -1 4294967296; do
    check "--seed '$value' is refused" wrong "is not a seed" latency --seed "$value"
done
for value in nonsense flags:4 openmpi tree:4@kernel; do
    check "--algorithm $value is refused" wrong "is not an algorithm made of messages" overhead --algorithm "$value"
done
helps() { "$program" --help > "$scratch/out" 2>&1 && said "fuzzy  " && said "--budget SECONDS"; }
check "--help describes the experiments" helps
cannot_write() {
    ! job 2 "$program" latency --budget 0.05 --csv /proc/nonexistent/latency.csv && said_once "cannot write /proc/nonexistent"
}
check "a file that cannot be written is reported" cannot_write
alone() { ! job 1 "$program" latency --budget 0.05 && said_once "one process: nothing to measure"; }
check "a job with one process is refused" alone
finish
