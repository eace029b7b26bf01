#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, nicbarr_bench cannot be trusted: an operation fails, its lines or JSON cannot be parsed, or wrong
# results go unnoticed. The figures themselves are not checked.
. "$(dirname "$0")/common.sh"

program=$builddir/bench/nicbarr_bench
json=$scratch/bench.json
short="-c 3 -i 2 -x 1"
bench() { # ARGUMENT...
    # shellcheck disable=SC2086 # a list of words
    job ${processes:-3} "$program" "$@" $short --json "$json"
}
head_is() { [ "$(grep '^#  ' "$scratch/out" | tr -s ' ')" = "$1" ]; }
# A and B have one line each per size ("" without sizes), with COLUMNS columns and this END.
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
check "barrier" bench
check "is measured without a word" said "^# nicbarr_bench barrier, "
check "its columns" head_is "# Avg Latency(us)"
check "its lines" lines 1 "" ""
check "its quartiles" quartiles A ""
check "its ratio" quartiles B/A ""
check "its JSON" tells 'r["mode"] == "barrier" and r["b_over_a"]["median"] > 0 and "validation" not in r["a"]'
check "ibarrier" bench ibarrier -t 2
check "its columns" head_is "# Overall(us) Compute(us) Pure Comm.(us) Overlap(%)"
check "its lines" lines 4 "" ""

check "dup" bench dup -f
check "its columns" head_is "# Avg Latency(us) Min Latency(us) Max Latency(us) Iterations Validation"
check "its lines" lines 4 " +Pass" ""
check "its JSON" tells 'r["a"]["validation"] == r["b"]["validation"] == "pass"'

end=" +Pass +[0-9.]+"
for operation in allreduce reduce bcast allgather gather scatter; do
    check "$operation" bench $operation
    check "its columns" head_is "# Size Avg Latency(us) Validation B/A"
    check "its lines" lines 1 "$end" 4 8 64 512 1024 4096
    check "its quartiles" quartiles B/A 4 8 64 512 1024 4096
    check "its JSON" tells '[s["bytes"] for s in r["sizes"]] == [4, 8, 64, 512, 1024, 4096] and
        all(s["a"]["validation"] == "pass" and s["b_over_a"]["median"] > 0 for s in r["sizes"])'
done
check "iallreduce" bench iallreduce -m 20:50
check "its columns" head_is "# Size Overall(us) Compute(us) Pure Comm.(us) Overlap(%) Validation B/A"
check "its lines" lines 4 "$end" 20 40
for operation in ibcast iallgather igather iscatter; do
    check "$operation" bench $operation -m 8:8 --root 1
    check "its lines" lines 4 "$end" 8
done
for operation in allreduce_init reduce_init bcast_init allgather_init gather_init scatter_init; do
    check "$operation" bench $operation -m 4:8 --root 2
    check "its lines" lines 1 "$end" 4 8
done
check "messages of single bytes" bench bcast -m 1:2 --no-validation
check "unchecked" lines 2 "" 1 2
processes=2 # on two processors, raw barriers of three would wait for time slices
check "a barrier beside, and the raw limit" bench allreduce -m 4 --beside barrier --raw
check "their lines" quartiles barrier 4
check "their ratios" quartiles A/barrier 4
check "their JSON" tells 'r["beside_mode"] == "barrier" and
    all(s["a_over_beside"]["median"] > 0 and s["a_over_raw"]["median"] > 0 for s in r["sizes"])'
unset processes
check "messages beside a barrier" bench --beside bcast -m 4
check "have sizes" lines 2 "" 4

# Wrong results are reported with the side that produced them. (B makes its duplicates by MPI_Comm_dup_with_info,
# which the library leaves alone.)
lies=$builddir/tests/component/.libs/wrong_results.so
check "results can be wrong" test -e "$lies"
lied() { # ARGUMENT...
    # shellcheck disable=SC2086 # a list of words
    job 3 -x LD_PRELOAD="$lies" "$program" "$@" $short --json "$json"
}
wrong() { ! lied "$@"; }
for operation in allreduce iallreduce reduce bcast allgather gather scatter; do
    check "a wrong $operation" wrong $operation -m 4
    check "is told" said_once "A gives wrong results with messages of 4 bytes"
    check "is told of B, too" said_once "B gives wrong results with messages of 4 bytes"
    check "and is in the JSON" tells 'r["sizes"][0]["a"]["validation"] == "fail"'
done
check "wrong data" lines 1 " +Fail +[0-9.]+" 4
check "a wrong dup" wrong dup
check "is told" said_once "A gives wrong results$"
check "and only A's" tells '(r["a"]["validation"], r["b"]["validation"]) == ("fail", "pass")'
check "a wrong one beside" wrong --beside allreduce -m 4
check "is told" said_once "allreduce gives wrong results with messages of 4 bytes"
check "nobody looks" lied allreduce -m 4 --no-validation

# Errors on the command line are reported in one line.
bad() { # LINE ARGUMENT...
    "$program" "${@:2}" > "$scratch/out" 2>&1
    [ $? = 64 ] && said "$1" && [ "$(wc -l < "$scratch/out")" = 1 ]
}
check "an unknown operation" bad "'scan' is not barrier, " scan
check "an unknown one beside" bad "'scan' is not barrier, " --beside scan
check "sizes that floats do not fit" bad "'2:8' is not .* multiple of 4" allreduce -m 2:8
finish
