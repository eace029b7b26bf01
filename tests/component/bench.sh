#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, nicbarr_bench cannot be trusted: an operation fails, its lines or JSON cannot be parsed, or wrong
# results are not detected. The measured values are not checked.
. "$(dirname "$0")/common.sh"

program=$builddir/bench/nicbarr_bench
json=$scratch/bench.json
short="-c 3 -i 2 -x 1"
bench() { # ARGUMENT...
    # shellcheck disable=SC2086 # a list of words
    job ${processes:-3} "$program" "$@" $short --json "$json"
}
head_is() { [ "$(grep '^#  ' "$scratch/out" | tr -s ' ')" = "$1" ]; }
# Checks that A and B have one line each per size ("" without sizes), with COLUMNS columns and this END.
lines() { # COLUMNS END SIZE...
    local name size
    for name in A B; do
        for size in "${@:3}"; do
            [ "$(sed '/interleaved chunks of each/,$d' "$scratch/out" |
                grep -cE "^$name${size:+ +$size}( +[0-9.]+){$1}$2\$")" = 1 ] || return
        done
    done
}
quartiles() { # NAME SIZE...
    local size
    for size in "${@:2}"; do
        [ "$(grep -cE "^$1${size:+ +$size}( +[0-9.]+){3}\$" "$scratch/out")" = 1 ] || return
    done
}
tells() { # PYTHON-EXPRESSION
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' "$json" "$1"
}

# Barriers have no sizes and no results.
check "nicbarr_bench barrier runs" bench
check "nicbarr_bench prints only its header" said "^# nicbarr_bench barrier, "
check "the header names the right columns" head_is "# Avg Latency(us)"
check "each size has its line with all columns" lines 1 "" ""
check "the quartiles are printed" quartiles A ""
check "the ratio is printed" quartiles B/A ""
check "the JSON is right" tells 'r["mode"] == "barrier" and r["b_over_a"]["median"] > 0 and "validation" not in r["a"]'
check "nicbarr_bench ibarrier runs" bench ibarrier -t 2
check "the header names the right columns" head_is "# Overall(us) Compute(us) Pure Comm.(us) Overlap(%)"
check "each size has its line with all columns" lines 4 "" ""

check "nicbarr_bench dup runs" bench dup -f
check "the header names the right columns" head_is "# Avg Latency(us) Min Latency(us) Max Latency(us) Iterations Validation"
check "each size has its line with all columns" lines 4 " +Pass" ""
check "the JSON is right" tells 'r["a"]["validation"] == r["b"]["validation"] == "pass"'

end=" +Pass +[0-9.]+"
for operation in allreduce reduce bcast allgather gather scatter; do
    check "nicbarr_bench $operation runs" bench $operation
    check "the header names the right columns" head_is "# Size Avg Latency(us) Validation B/A"
    check "each size has its line with all columns" lines 1 "$end" 4 8 64 512 1024 4096
    check "the quartiles are printed for each size" quartiles B/A 4 8 64 512 1024 4096
    check "the JSON is right" tells '[s["bytes"] for s in r["sizes"]] == [4, 8, 64, 512, 1024, 4096] and
        all(s["a"]["validation"] == "pass" and s["b_over_a"]["median"] > 0 for s in r["sizes"])'
done
check "nicbarr_bench iallreduce runs" bench iallreduce -m 20:50
check "the header names the right columns" head_is "# Size Overall(us) Compute(us) Pure Comm.(us) Overlap(%) Validation B/A"
check "each size has its line with all columns" lines 4 "$end" 20 40
for operation in ibcast iallgather igather iscatter; do
    check "nicbarr_bench $operation runs" bench $operation -m 8:8 --root 1
    check "each size has its line with all columns" lines 4 "$end" 8
done
for operation in allreduce_init reduce_init bcast_init allgather_init gather_init scatter_init; do
    check "nicbarr_bench $operation runs" bench $operation -m 4:8 --root 2
    check "each size has its line with all columns" lines 1 "$end" 4 8
done
check "broadcasts of single bytes are measured" bench bcast -m 1:2 --no-validation
check "results are not checked on request" lines 2 "" 1 2
processes=2 # on two processors, raw barriers of three would wait for time slices
check "a barrier is measured beside allreduces, with the raw limit" bench allreduce -m 4 --beside barrier --raw
check "the quartiles of the barrier are printed" quartiles barrier 4
check "the ratio to the barrier is printed" quartiles A/barrier 4
check "the JSON contains the barrier" tells 'r["beside_mode"] == "barrier" and
    all(s["a_over_beside"]["median"] > 0 and s["a_over_raw"]["median"] > 0 for s in r["sizes"])'
unset processes
check "messages are measured beside a barrier" bench --beside bcast -m 4
check "the lines of the broadcasts contain the size" lines 2 "" 4

# Wrong results are reported with the side that produced them. (B makes its duplicates by MPI_Comm_dup_with_info,
# which the library leaves alone.)
lies=$builddir/tests/component/.libs/wrong_results.so
check "the library that falsifies results is built" test -e "$lies"
lied() { # ARGUMENT...
    # shellcheck disable=SC2086 # a list of words
    job 3 -x LD_PRELOAD="$lies" "$program" "$@" $short --json "$json"
}
wrong() { ! lied "$@"; }
for operation in allreduce iallreduce reduce bcast allgather gather scatter; do
    check "a wrong $operation is detected" wrong $operation -m 4
    check "a message reports the wrong result of A" said_once "A gives wrong results with messages of 4 bytes"
    check "a message reports the wrong result of B" said_once "B gives wrong results with messages of 4 bytes"
    check "the JSON reports the wrong result" tells 'r["sizes"][0]["a"]["validation"] == "fail"'
done
check "the line reports the wrong result" lines 1 " +Fail +[0-9.]+" 4
check "a wrong dup is detected" wrong dup
check "a message reports the wrong dup" said_once "A gives wrong results$"
check "the JSON reports the wrong dup for A only" tells '(r["a"]["validation"], r["b"]["validation"]) == ("fail", "pass")'
check "a wrong result of --beside is detected" wrong --beside allreduce -m 4
check "a message reports the wrong result of --beside" said_once "allreduce gives wrong results with messages of 4 bytes"
check "without validation nothing is detected" lied allreduce -m 4 --no-validation

# Errors on the command line are reported in one line.
bad() { # LINE ARGUMENT...
    "$program" "${@:2}" > "$scratch/out" 2>&1
    [ $? = 64 ] && said "$1" && [ "$(wc -l < "$scratch/out")" = 1 ]
}
check "an unknown operation is refused" bad "'scan' is not barrier, " scan
check "an unknown operation for --beside is refused" bad "'scan' is not barrier, " --beside scan
check "sizes that are not multiples of a float are refused" bad "'2:8' is not .* multiple of 4" allreduce -m 2:8
finish
