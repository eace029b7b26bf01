#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, tuning makes wrong choices from its measurements, or the report or the cache is wrong. The figures
# themselves are not checked.
. "$(dirname "$0")/common.sh"
works() { job "$@" "$programs/barrier_ledger" && said "^ok"; }
# Processes read the cache synchronously, except in the tests of late files.
export LD_PRELOAD=$builddir/tests/component/.libs/few_threads.so
silent_cache() { ! said "tuning cache"; }
report=$scratch/report.json

for processes in 2 3 5 8; do
    check "a job of $processes processes tunes its barriers" works $processes --mca coll_nicbarr_verbose 1 \
        --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_report "$report"
    check "a message reports the measurement, $processes processes" said "one node: .*(measured"
    check "the report contains the measurement, $processes processes" grep -q '"source": "measured"' "$report"
    check "the report contains Open MPI's barrier as a candidate, $processes processes" grep -q '"algorithm": "openmpi"' "$report"
done
check "the report of an earlier job is replaced" test "$(grep -c '"source": "measured"' "$report")" -ge 1
check "the report contains no entries of the earlier job" test "$(grep -c '"processes": 2,' "$report")" = 0

# The choice is the fastest candidate, which may be Open MPI's barrier, or a simpler one that is equally good.
check "the choice is within 3 % of the best" python3 - "$report" << 'PYTHON'
import json, sys
for entry in json.load(open(sys.argv[1]))["communicators"]:
    if entry["source"] == "measured":
        rounds = max(c["rounds"] for c in entry["candidates"])
        medians = {c["algorithm"]: c["median_us"] for c in entry["candidates"]
                   if c["rounds"] == rounds}
        assert 0 <= entry["confidence"] <= 1, entry
        assert entry["provisional"] == (rounds < 9 or entry["confidence"] < 0.95), entry
        assert entry["load"] >= 0 and entry["involuntary_switches"] >= 0, entry
        assert rounds < 9 or medians[entry["choice"]] <= 1.031 * min(medians.values()), entry
PYTHON

# With a small budget the choice is provisional, and the tuning run continues in later barriers, with more rounds than
# fit into one batch of 1 ms.
check "a job with a small tuning budget" works 3 --mca coll_nicbarr_tune_budget 1 --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_report "$report"
check "the report contains the budget and the time" python3 - "$report" << 'PYTHON'
import json, sys
entries = [e for e in json.load(open(sys.argv[1]))["communicators"] if e["source"] == "measured"]
assert entries
assert all(e["budget_ms"] == 1 and e["spent_ms"] > 0 for e in entries), entries
names = [(e["communicator"], e["process"]) for e in entries]
assert len(set(names)) == len(names), names # later entries replace earlier ones
PYTHON

# Programs with few barriers must not be delayed.
check "a job with too few barriers for tuning" works 3 --mca coll_nicbarr_tune_after 2000000000 --mca coll_nicbarr_verbose 1
check "nothing is measured" bash -c "! grep -q measured '$scratch/out'"

# Nor may programs be delayed that are too short to benefit: by default measurements take at most 1 % of a job's time.
unmeasured() { ! said measured; }
share() { job 3 --mca coll_nicbarr_tune_after 3 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_share "$@"; }
check "a job too short for its tuning budget" share 0 --mca coll_nicbarr_tune_budget 60000 "$programs/short_job" --allreduces 3000 --bcasts 3000
check "the job measures nothing" unmeasured
check "a job with a tuning budget that it can afford" share 0 --mca coll_nicbarr_tune_budget 1 "$programs/barrier_ledger"
check "barriers are measured" said "MPI_Barrier on .*(measured"
check "a program whose first collectives carry data" share 0 --mca coll_nicbarr_tune_budget 1 "$programs/short_job" --allreduces 20000
check "the collective that carries data is measured" said "MPI_Allreduce up to 8 bytes on .*(measured"
check "a short job that writes a report, which raises the default share to 100" share 0 --mca coll_nicbarr_tune_budget 1000 \
    --mca coll_nicbarr_report "$report" "$programs/short_job"
check "with a report, even a short job measures" grep -q '"source": "measured"' "$report"

# A report must be complete even if nothing was measured.
check "a job without tuning writes a report" works 3 --mca coll_nicbarr_tune_budget 0 --mca coll_nicbarr_report "$report"
check "the report contains the source of the choice" grep -q '"source": "default"' "$report"
check "the report contains no measurements" bash -c "! grep -q measured '$report'"
check "a job with a forced algorithm writes a report" works 3 --mca coll_nicbarr_algorithm tree:3 \
    --mca coll_nicbarr_report "$report"
check "the report contains the source of the choice" grep -q '"source": "parameter"' "$report"

# The choices for collectives that carry data are measured, adopted from another communicator, or set by parameters.
calls() { # MPIRUN-OPTION...
    job 3 --mca coll_nicbarr_report "$report" --mca coll_nicbarr_verbose 1 "$@" \
        "$programs/short_job" --rounds 8 --allreduces "${allreduces:-0}" && said "^ok"
}
reported() { # SOURCE
    "$builddir/tools/nicbarr" report "$report" > "$scratch/text" && python3 - "$report" "$@" << 'PYTHON'
import json, sys
report, source = sys.argv[1:]
world = "MPI_COMM_WORLD"
found = [e for e in json.load(open(report))["collectives"] if e["source"] == source]
plain = lambda e: e["collective"].replace(" (one root)", "")
ways = {"MPI_Allreduce": "exchange", "MPI_Reduce": "exchange", "MPI_Reduce (user)": "exchange",
        "MPI_Bcast": "ring", "MPI_Allgather": "exchange", "MPI_Gather": "exchange", "MPI_Scatter": "ring"}
assert {plain(e) for e in found} >= {"MPI_Allreduce", "MPI_Bcast"}, found
assert {e["bytes"] for e in found} >= {8, 1152}, found
assert all(e["choice"] in ("openmpi", ways[plain(e)]) for e in found), found
for e in found:
    if source == "measured":
        assert [c["algorithm"] for c in e["candidates"]] == ["openmpi", ways[plain(e)]], e
        assert e["provisional"] or max(c["rounds"] for c in e["candidates"]) >= 9, e
        assert e["communicators"] == 1 and e["spent_ms"] > 0, e
    else:
        assert "candidates" not in e, e
    assert source != "parameter" or e["choice"] == ways[plain(e)], e
assert source != "measured" or world in {e["communicator"] for e in found}, found
assert source != "same shape" or world not in {e["communicator"] for e in found}, found
assert source in ("measured", "cache") or max(e["communicators"] for e in found) > 1, found
PYTHON
}
# The budget is large, so that there are confident choices, which other communicators adopt and the cache stores.
carried=$scratch/carried.json
check "allreduces and broadcasts are measured" calls --mca coll_nicbarr_tune_after 0 --mca coll_nicbarr_tune_budget 2000 \
    --mca coll_nicbarr_cache "$carried"
check "a message reports the measurement" said "MPI_Bcast (one root) up to 1152 bytes on MPI_COMM_WORLD, 3 .*(measured, "
check "a message reports the adopted choice" said "MPI_Allreduce up to 8 bytes on .*(same shape)"
check "broadcasts, one of them with a different root" job 3 --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_cache none \
    "$programs/short_job" --bcasts 50
check "broadcasts are measured with a fixed root" said "MPI_Bcast (one root) up to 8 bytes on MPI_COMM_WORLD, 3 .*(measured, "
check "the report contains the measurements" reported measured
check "the report contains the adopted choices" reported "same shape"
check "nicbarr report shows the measurements" grep -q "^    MPI_Allreduce *8 .* x  measured" "$scratch/text"
# With a small budget the choice for a size class is provisional at first, and is decided during later calls of the
# class.
allreduces=3000 check "collectives that carry data with a small tuning budget" calls --mca coll_nicbarr_tune_after 0 --mca coll_nicbarr_tune_budget 1
check "tuning continues until the classes are decided" said_before "MPI_Allreduce up to 8 bytes on MPI_COMM_WORLD, 3 .*measured, " \
    "MPI_Barrier on MPI_COMM_WORLD"
check "algorithms are forced for collectives with data" calls --mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_bcast ring
check "the report shows the parameter as source" reported parameter
check "a job with too few calls for tuning of collectives with data" calls
check "the report contains no collectives" grep -q '"collectives": \[\]' "$report"
check "MPI_Allreduce is left to Open MPI" calls --mca coll_nicbarr_tune_after 0 --mca coll_nicbarr_allreduce openmpi
check "the report does not contain MPI_Allreduce" bash -c "grep -q MPI_Bcast '$report' && ! grep -q MPI_Allreduce '$report'"

# The cache is written and read, and its choices are verified. Budgets are large, so that there is something to write.
cache=$scratch/tuning.jsonl
measurements() { grep -o '"when":' "$1" | wc -l; }
with_cache() { # FILES PROCESSES
    works "$2" --mca coll_nicbarr_cache "$1" --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_budget 500 \
        --mca coll_nicbarr_tune_watch 0
}
check "a job writes a cache" with_cache "$cache" 3
check "the job has measured" said "(measured"
check "the cache has the right format" grep -qx '{"format": "nicbarr tuning cache 3"}' "$cache"
check "the cache does not contain the host name" bash -c "! grep -q -F '$(hostname)' '$cache'"
check "the confidence in the cache can be raised" rewrite_cache "$cache" "$cache.sure" 0.99
check "the next job reads the cache" with_cache "$cache.sure" 3
check "the next job uses the cached choice" said "(cache)"
check "the next job does not measure" bash -c "! grep -q measured '$scratch/out'"
# If a program exports functions with names of jansson's, neither the cache nor the report can be used.
symbols=$srcdir/coll_nicbarr/files/json_functions.c
check "all functions of jansson that the component calls are checked" \
    diff <(nm -D --undefined-only "$builddir/coll_nicbarr/.libs/mca_coll_nicbarr.so" | sed -n 's/.* \(json_[a-z_]*\).*/\1/p' | sort) \
    <(sed -n 's/^ *{FUNCTION(\(json_[a-z_]*\)).*/\1/p' "$symbols" | sort)
rm -f "$report"
check "a program that exports names of jansson's functions works" works 3 --mca coll_nicbarr_cache "$cache.sure" --mca coll_nicbarr_verbose 1 \
    --mca coll_nicbarr_report "$report" -x LD_PRELOAD="$LD_PRELOAD:$builddir/tests/component/.libs/json_names.so"
check "a message names the function and the library" said "unavailable: .*json_names.so defines json_array(), and hides"
check "the communicator is tuned nevertheless" said "(measured"
check "no report is written" test ! -e "$report"

check "a job of a different shape" with_cache "$cache.sure" 2
check "the other shape is measured" said "(measured"
check "the cache contains both shapes" test "$(grep -c '| MPI_Barrier"' "$cache.sure")" -ge 2

# An unresponsive file system must not delay a job, which uses the defaults and ends.
hung=$builddir/tests/component/.libs/hung_file.so
hung() { # ARGUMENT...
    job 3 -x LD_PRELOAD="$hung" -x HUNG_FILE="$cache.sure" --mca coll_nicbarr_cache "$cache.sure" \
        --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 3 "$@"
}
check "a job ends although the file system of the cache does not respond" hung "$programs/short_job" --allreduces 3000
check "a message reports this, and no process waits" said "does not answer"
check "nothing is measured in the meantime" unmeasured

# A cache that is read late may contain a choice that is not a candidate, for which the communicators that are already
# set up have no memory.
late() { # TEXT: the job ends when it prints this
    local until=$scratch/until answers=$scratch/answers job
    rm -f "$until" "$answers"
    timeout -k 5 "${watchdog:-300}" mpirun -np 3 -x LD_PRELOAD="$hung" -x HUNG_FILE="$cache.late" \
        -x HUNG_UNTIL="$answers" --mca coll_nicbarr_cache "$cache.late" --mca coll_nicbarr_verbose 1 \
        --mca coll_nicbarr_tune_after 3 "$programs/barrier_ledger" --iterations 300 --until "$until" \
        > "$scratch/out" 2>&1 &
    job=$!
    until said "are set up" || ! kill -0 "$job" 2> /dev/null; do sleep 0.05; done
    touch "$answers"
    until said "$1" || ! kill -0 "$job" 2> /dev/null; do sleep 0.05; done
    touch "$until"
    wait "$job" && said "^ok" && said "$1"
}
check "the cache can contain a candidate and be read late" rewrite_cache "$cache" "$cache.late" 0.99 pairwise
check "the cached candidate is adopted" late "pairwise (cache)"
check "the cache can contain an algorithm that is not a candidate" rewrite_cache "$cache" "$cache.late" 0.99 counter:3
check "the shape is measured instead" late "3 processes on one node: .*(measured"
check "the cached algorithm is never used" bash -c "! grep -q '3 processes on one node: counter:3 (cache)' '$scratch/out'"

# A file system that blocks when measurements are written must not delay a job either.
unwritten() { # ARGUMENT...
    job 3 -x LD_PRELOAD="$hung" -x HUNG_FILE="$scratch/unwritten.lock" --mca coll_nicbarr_cache "$scratch/unwritten" \
        --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 3 "$@"
}
check "a job ends although the cache cannot be locked" unwritten "$programs/short_job" --allreduces 3000
check "a message reports this, and no process waits" said "unwritten.lock does not answer"
check "the measurement is used" said "(measured"
check "a message reports that the measurement is not stored" said "is not written: writing takes more than 1000 ms"

# If the confidence in a cached choice is too low, the job measures again and adds its results.
for doubt in "0.9" "0.9 openmpi" "0.99 pairwise 100"; do
    # shellcheck disable=SC2086 # several words
    check "the confidence in the cache can be lowered ($doubt)" rewrite_cache "$cache" "$cache.unsure" $doubt
    before=$(measurements "$cache.unsure")
    check "a job reads the uncertain cache" with_cache "$cache.unsure" 3
    check "the job measures in spite of the cache" said "(measured"
    check "the job adds its measurement" test "$(measurements "$cache.unsure")" -gt "$before"
done
# Members whose processors are oversubscribed have a different default than the others.
both_shapes() { # FROM TO: copies the entries for both shapes of the members, any of whom may set a communicator up
    sed '2,$ { s/, oversubscribed//; p; s/ | MPI_Barrier"/, oversubscribed&/ }' "$1" > "$2"
}
unevenly() { # FILES
    job 3 -x LD_PRELOAD="$LD_PRELOAD:$builddir/tests/component/.libs/bound_unevenly.so" --bind-to none \
        --mca coll_nicbarr_cache "$1" --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_budget 500 "${@:2}" \
        "$programs/barrier_ledger" --iterations 300 && said "^ok"
}
check "a job whose processes are bound to different numbers of CPUs" unevenly "$cache.uneven" --mca coll_nicbarr_tune_after 3
check "these processes measure" said "(measured"
both_shapes "$cache.uneven" "$cache.both"
check "the confidence in both caches can be lowered" rewrite_cache "$cache.both" "$cache.doubtful" 0.6 openmpi
check "all processes use the same choice nevertheless" unevenly "$cache.doubtful" --mca coll_nicbarr_tune_after 2000000000

check "a job without budget reads the uncertain cache" works 3 --mca coll_nicbarr_cache "$cache.unsure" \
    --mca coll_nicbarr_tune_budget 0 --mca coll_nicbarr_verbose 1
check "the job uses the best known choice" said "(cache)"

check "the cache can contain a different choice" rewrite_cache "$cache" "$cache.edited" 0.99 pairwise
check "a job reads this cache" with_cache "$cache.edited" 3
check "the job uses the choice of the cache" said "pairwise (cache)"

# A choice from a cache is compared with other candidates in the program's own barriers, which must be correct whichever
# candidate is used.
watched() { # CHOICE PROCESSES ARGUMENT...
    rewrite_cache "$cache" "$cache.watched" 0.99 "$1"
    job "$2" --mca coll_nicbarr_cache "$cache.watched" --mca coll_nicbarr_report "$report" "${@:3}" &&
        said "^ok"
}
for choice in pairwise counter:1 flags:4 openmpi; do
    check "$choice is challenged" watched $choice 3 "$programs/watched" --least 1
    grep '^ok' "$scratch/out"
    check "the report contains the comparisons" grep -q '"comparisons": ' "$report"
    check "nicbarr report prints the comparisons" bash -c "'$builddir/tools/nicbarr' report '$report' | grep 'challenged .* A/B comparison'"
done
check "a choice is challenged when processes arrive late" watched pairwise 3 "$programs/watched" --least 1 --late
check "with coll_nicbarr_tune_watch 0 nothing is challenged" watched pairwise 3 --mca coll_nicbarr_tune_watch 0 "$programs/watched" --most 0
check "without a tuning budget nothing is challenged" watched pairwise 3 --mca coll_nicbarr_tune_budget 0 \
    "$programs/watched" --most 0

# Of several cache files all are read, and the first one that can be written is updated.
check "a job reads a private and a shared cache" with_cache "$scratch/own.json,$cache.edited" 3
check "the job uses the choice of the cache" said "pairwise (cache)"
before=$(measurements "$cache.edited")
check "a job of a shape that the shared cache lacks" with_cache "$scratch/own.json,$cache.edited" 2
check "its measurement is added to the private cache" test "$(measurements "$scratch/own.json")" -ge 1
check "the shared cache is unchanged" test "$(measurements "$cache.edited")" = "$before"
check "the first cache of the list cannot be written" with_cache "/proc/nonexistent/x.json,$scratch/second.json" 3
check "the second cache is written" test -s "$scratch/second.json"
check "no message is printed" silent_cache
check "the list ends in none" with_cache "none,$cache.edited" 5
check "no message is printed" silent_cache
check "the shared cache is not changed" test "$(measurements "$cache.edited")" = "$before"

before=$(measurements "$cache.sure")
check "the cache is to be remeasured" with_cache "remeasure,$cache.sure" 3
check "the job measures in spite of the cache" said "(measured"
check "the job adds its measurement to the cache" test "$(measurements "$cache.sure")" -gt "$before"

# The cache also stores measurements of collectives that carry data.
check "the cache contains measurements of collectives with data" grep -q '| MPI_Bcast (one root) up to 1152 bytes"' "$carried"
check "their confidence can be raised" rewrite_cache "$carried" "$carried.sure" 0.99
# Re-evaluation is disabled, because otherwise a job that is slow on a busy machine might measure the choices again.
allreduces=3000 check "the next job with data" calls --mca coll_nicbarr_tune_after 0 --mca coll_nicbarr_tune_watch 0 \
    --mca coll_nicbarr_cache "$carried.sure"
check "a message reports the cached choice" said "MPI_Allreduce up to 8 bytes on MPI_COMM_WORLD, 3 .*(cache"
check "the job measures no collectives with data" bash -c "! grep -q 'bytes on .*measured' '$scratch/out'"
check "the report names the cache as source" reported cache

# Choices for collectives with data are re-evaluated as well: a choice from a cache is eventually measured again, and is
# replaced if another candidate is certainly better.
data_watched() { # FROM CHOICE PROCESSES ARGUMENT...
    rewrite_cache "$1" "$1.watched" 0.99 "$2"
    job "$3" --mca coll_nicbarr_cache "$1.watched" --mca coll_nicbarr_report "$report" "${@:4}" && said "^ok"
}
remeasured() { # CHOICE was used in all classes; the counts are plausible, and the best measured choice is in use now
    "$builddir/tools/nicbarr" report "$report" > "$scratch/text" &&
        grep -q "measured, remeasured [1-9]" "$scratch/text" && python3 - "$report" "$1" << 'PYTHON'
import json, sys
report, choice = sys.argv[1:]
found = [e for e in json.load(open(report))["collectives"] if "remeasured" in e]
assert found
names = [(e["communicator"], e["process"], e["collective"], e["bytes"]) for e in found]
assert len(set(names)) == len(names), names # later entries replace earlier ones
for e in found:
    assert 0 <= e["switches"] <= e["remeasured"] and e["communicators"] == 1, e
    medians = {c["algorithm"]: c["median_us"] for c in e["candidates"]}
    assert e["source"] == "measured", e
    assert e["provisional"] or medians[e["choice"]] <= 1.031 * min(medians.values()), e
    assert e["remeasured"] > 1 or (e["switches"] == 0) == ((e["choice"] == "openmpi") == (choice == "openmpi")), e
PYTHON
}
works_on_data() { # with a large budget, so that the cache is written
    job "$1" --mca coll_nicbarr_cache "$scratch/data" --mca coll_nicbarr_tune_budget 500 \
        "$programs/watched" --data --calls 200 --most 0 && said "^ok"
}
check "collectives with data are measured" works_on_data 3
for choice in openmpi slowest; do
    check "$choice is remeasured" data_watched "$scratch/data" $choice 3 "$programs/watched" --data --least 1
    grep '^ok' "$scratch/out"
    check "the report contains the remeasurement" remeasured $choice
done
check "a choice is remeasured when processes arrive late" data_watched "$scratch/data" openmpi 3 \
    "$programs/watched" --data --least 1 --late
check "with coll_nicbarr_tune_watch 0 no collective with data is remeasured" data_watched "$scratch/data" openmpi 3 --mca coll_nicbarr_tune_watch 0 \
    "$programs/watched" --data --calls 3000 --most 0
check "without a tuning budget no collective with data is remeasured" data_watched "$scratch/data" openmpi 3 \
    --mca coll_nicbarr_tune_budget 0 "$programs/watched" --data --calls 3000 --most 0

bad() { # NAME CONTENTS
    printf '%s' "$2" > "$scratch/bad.json"
    cp "$scratch/bad.json" "$scratch/bad.copy"
    check "a job reads a cache with $1" works 3 --mca coll_nicbarr_cache "$scratch/bad.json"
    check "one message gives the reason" said_once "the tuning cache .*bad.json is not used, and left unchanged"
    check "the file is unchanged" cmp -s "$scratch/bad.json" "$scratch/bad.copy"
    check "no other files are created" [ "$(ls -d "$scratch"/bad.*)" = "$scratch/bad.copy"$'\n'"$scratch/bad.json" ]
}
bad garbage "$(head -c 300 /dev/urandom | tr -d '\0')"
bad "a line feed" "
"
bad "something else's JSON" '{"a": [1, 2, 3]}'
bad "half a line" "$(head -c 20 "$cache")"
bad "an earlier version" '{"format": "nicbarr tuning cache 2", "shapes": {}}'
head -c 1000 "$cache" > "$scratch/half.jsonl"
check "a job reads a truncated cache" with_cache "$scratch/half.jsonl" 3
check "the job adds its measurement" test "$(wc -l < "$scratch/half.jsonl")" -ge 3
check "no message about the cache is printed" silent_cache
rewrite_cache "$cache" "$cache.magic" 0.99 magic:7
check "a job reads a cache with an unknown algorithm" works 3 --mca coll_nicbarr_cache "$cache.magic"
check "one message gives the reason" said_once "its best choice is not an algorithm"
rewrite_cache "$cache" "$cache.kernel" 0.99 tree:4@kernel
check "a job on one node reads a cache with an algorithm of the kernel NIC" works 3 --mca coll_nicbarr_cache "$cache.kernel"
check "one message gives the reason" said_once "its best choice needs a NIC that is not available"

check "a job uses the cache at its default path" works 2 --mca coll_nicbarr_cache auto -x XDG_CACHE_HOME
check "the default path is in XDG_CACHE_HOME" test -s "$XDG_CACHE_HOME/nicbarr/tuning.jsonl"

# A forced choice is used.
for algorithm in openmpi counter:1 counter:3 flags:4 flags:128 tree:2 tree:5 dissemination:1 \
    dissemination:3 pairwise; do
    for processes in 2 3 6 17; do
        check "a job of $processes processes with the forced algorithm $algorithm" works $processes --mca coll_nicbarr_verbose 1 \
            --mca coll_nicbarr_algorithm $algorithm
        check "the forced algorithm $algorithm is used" said "on one node: $algorithm (parameter)"
    done
done
finish
