# SPDX-License-Identifier: BSD-3-Clause
# Converts the measurements of nicbarr_tuned to a rules file of Open MPI's coll/tuned, and prints a table.
# Called by tuned_rules.sh.
#
#     awk -v form=FORM -v rules=FILE -v from=TEXT -f tuned_rules.awk LINES
#
# FORM is `text`, for Open MPI 4.1 and 5.0, or `json`, for 6.0. A text FILE begins with TEXT. A line:
#
#     tuned: COLLECTIVE NODES PROCESSES ROOT BYTES NUMBER NAME SEGMENT FANOUT US Q1 MEDIAN Q3
#
# NUMBER and NAME denote the algorithm. The last three values are quartiles over the rounds of the gain, which is the
# time of the default decision of coll/tuned divided by the time of the algorithm. Number 0 is a second measurement of
# the default decision, so its quartiles show the noise. Its line precedes the lines of the algorithms that were
# measured in the same rounds. A class is a collective, a number of processes and a size. It is measured several times:
# by several jobs, with several roots, and on several numbers of nodes. An algorithm gets a rule if in each of these
# measurements the lower quartile of its gain exceeds 1 and the upper quartile of the noise. A rule covers the sizes up
# to the next measured one, or up to half of that if the algorithm is slower than the default decision there. The last
# rule covers the sizes up to twice its own. In all other cases coll/tuned decides by itself.
function label(collective) { return "MPI_" toupper(substr(collective, 1, 1)) substr(collective, 2) }
function max(a, b) { return a > b ? a : b }

BEGIN {
    # in the order of their numbers in coll/tuned
    split("allgather allreduce barrier bcast reduce", collectives)
    split("0 2 6 7 11", numbers)
}

$1 == "tuned:" {
    class = $2 FS $4 FS $6
    if ($7 == 0) {
        if (!(class in measured)) {
            sizes[$2, $4] = sizes[$2, $4] $6 " "
            if (!(($2, $4) in nodes)) { counts[$2] = counts[$2] $4 " "; nodes[$2, $4] = $3 }
        }
        if ($3 != nodes[$2, $4]) nodes[$2, $4] = "several"
        measured[class]++
        us[class] += log(max($11, 0.0005))
        noise[class] = max(noise[class], $14)
        least = max(1, $14)
        slow = $12
        next
    }
    it = class SUBSEP $7 FS $8 FS $9 FS $10
    if (!(it in played)) { names[class] = names[class] SUBSEP $7 FS $8 FS $9 FS $10; worst[it] = $12 }
    played[it]++
    gain[it] += log(max($13, 0.0005))
    if ($12 < worst[it]) worst[it] = $12
    if ($12 <= least) unsure[it] = 1
    if ($14 < slow) slower[it] = 1
}

# Selects the best algorithm of a class (choice[class]), and decides whether it gets a rule (ruled[class]).
function choose(class,    list, n, l, it, rule) {
    n = split(substr(names[class], 2), list, SUBSEP)
    for (l = 1; l <= n; ++l) {
        it = class SUBSEP list[l]
        if (played[it] != measured[class]) continue # some of the jobs have excluded it
        rule = !(it in unsure)
        if (!(class in choice) || rule > ruled[class] || (rule == ruled[class] && gain[it] > gain[class, choice[class]])) {
            choice[class] = list[l]
            ruled[class] = rule
        }
    }
}

# Stores the rules of a collective and a number of processes in to[1], to[2] and so on, as FIRST LAST NUMBER NAME
# SEGMENT FANOUT GAIN. LAST may be inf. Returns their number.
function make_rules(collective, processes, to,    list, n, s, class, count, last, following, best) {
    n = split(sizes[collective, processes], list, " ")
    for (s = 1; s <= n; ++s) {
        class = collective FS processes FS list[s]
        choose(class)
        if (!ruled[class]) continue
        best = choice[class]
        following = s < n ? list[s + 1] : 2 * list[s]
        if (s < n && ((collective FS processes FS list[s + 1] SUBSEP best) in slower)) following /= 2
        last = collective == "barrier" ? "inf" : int(following) - 1
        to[++count] = list[s] FS last FS best FS sprintf("%.2f", exp(gain[class, best] / measured[class]))
    }
    return count
}

function text_own(processes) { return processes " 1  # processes, rules: as tuned decides\n0 0 0 0\n" }

# Returns the lines of the rules: bytes, algorithm, fan-out and segment size. Algorithm 0 leaves the sizes
# between the rules to coll/tuned.
function text_rules(processes, list, count,    r, rule, lines, n, expected) {
    expected = 0
    for (r = 1; r <= count; ++r) {
        split(list[r], rule, FS)
        if (rule[1] > expected) { lines = lines expected " 0 0 0\n"; ++n }
        lines = lines rule[1] " " rule[3] " " rule[6] " " rule[5] "  # " rule[4] ", " rule[7] " times faster\n"
        ++n
        expected = rule[2] + 1
        if (rule[2] == "inf") continue
        if (r == count || (split(list[r + 1], rule, FS) && rule[1] > expected)) { lines = lines expected " 0 0 0\n"; ++n }
        expected = rule[1]
    }
    return processes " " n "  # processes, rules\n# bytes, algorithm, fan-out, segment\n" lines
}

# coll/tuned applies the rules of the largest number of processes that does not exceed that of the communicator, or
# else the first rules of the file. Therefore numbers of processes without rules need separate entries, which leave
# the decision to coll/tuned.
function text_collective(c,    list, n, p, rules_of, count, blocks, lines, next_free) {
    n = split(sorted[c], list, " ")
    for (p = 1; p <= n; ++p) {
        split("", rules_of)
        count = make_rules(collectives[c], list[p], rules_of)
        if (!count) continue
        if (list[p] > next_free + 0 && (blocks || list[p] > 2)) { lines = lines text_own(blocks ? next_free : 2); ++blocks }
        lines = lines text_rules(list[p], rules_of, count)
        ++blocks
        next_free = list[p] + 1
    }
    if (blocks) { lines = lines text_own(next_free); ++blocks }
    return blocks ? numbers[c] "  # " label(collectives[c]) "\n" blocks "  # numbers of processes\n" lines : ""
}

function json_rules(list, count,    r, rule, lines) {
    for (r = 1; r <= count; ++r) {
        split(list[r], rule, FS)
        if (rule[2] == "inf") rule[2] = "\"inf\""
        lines = lines sprintf("%s          {\"msg_size_min\": %s, \"msg_size_max\": %s, \"alg\": \"%s\", \"faninout\": %s%s}",
            r > 1 ? ",\n" : "", rule[1], rule[2], rule[4], rule[6], rule[5] ? ", \"seg_size\": " rule[5] : "")
    }
    return lines
}

function json_collective(c,    list, n, p, rules_of, count, lines, where) {
    n = split(sorted[c], list, " ")
    for (p = 1; p <= n; ++p) {
        split("", rules_of)
        count = make_rules(collectives[c], list[p], rules_of)
        if (!count) continue
        where = nodes[collectives[c], list[p]] == 1 ? "single-node" : "any"
        lines = lines sprintf("%s      {\"comm_size_min\": %s, \"comm_size_max\": %s, \"comm_rank_distribution\": \"%s\",\n" \
            "        \"rules\": [\n%s\n        ]}", lines == "" ? "" : ",\n", list[p], list[p], where, json_rules(rules_of, count))
    }
    return lines == "" ? "" : "    \"" collectives[c] "\": [\n" lines "\n    ]"
}

# Sorts the numbers of processes of a collective.
function sort_counts(c,    list, n, i, j, swap) {
    n = split(counts[collectives[c]], list, " ")
    for (i = 1; i <= n; ++i)
        for (j = i + 1; j <= n; ++j)
            if (list[j] + 0 < list[i] + 0) { swap = list[i]; list[i] = list[j]; list[j] = swap }
    for (i = 1; i <= n; ++i) sorted[c] = sorted[c] list[i] " "
}

function print_class(collective, bytes, class,    best, it) {
    split(choice[class], best, FS)
    it = class SUBSEP choice[class]
    printf "  %8s  %10.2f  %-24s  %6.2f  %6.2f  %6.2f  %4s\n", collective == "barrier" ? "-" : bytes,
        exp(us[class] / measured[class]), best[2] (best[3] + 0 ? "/" best[3] : ""), exp(gain[it] / measured[class]), worst[it],
        noise[class], ruled[class] ? "yes" : "no"
}

function print_table(c,    list, n, p, bytes, m, s, class) {
    n = split(sorted[c], list, " ")
    for (p = 1; p <= n; ++p) {
        m = split(sizes[collectives[c], list[p]], bytes, " ")
        printf "%s, %d processes\n  %8s  %10s  %-24s  %6s  %6s  %6s  %4s\n", label(collectives[c]), list[p], "bytes",
            "tuned us", "best other", "gain", "least", "noise", "rule"
        for (s = 1; s <= m; ++s) {
            class = collectives[c] FS list[p] FS bytes[s]
            if (class in choice) print_class(collectives[c], bytes[s], class)
        }
        print ""
    }
}

END {
    for (c = 1; c in collectives; ++c) {
        sort_counts(c)
        part = form == "json" ? json_collective(c) : text_collective(c)
        if (part == "") continue
        whole = whole (whole != "" && form == "json" ? ",\n" : "") part
        ++with_rules
    }
    if (form == "json")
        printf "{\n  \"rule_file_version\": 3,\n  \"module\": \"tuned\",\n  \"collectives\": {\n%s\n  }\n}\n", whole > rules
    else
        printf "%s\n%d  # collectives\n%s", from, with_rules, whole > rules
    if (close(rules)) exit 2
    for (c = 1; c in collectives; ++c) print_table(c)
    for (class in measured) { ++classes; chosen += ruled[class] }
    printf "%d of %d classes have a rule; the others are left to tuned.\n", chosen, classes
    exit classes == 0
}
