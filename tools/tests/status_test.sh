#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr status` shows users and scripts wrong data, or fails. It is tested on processes with a NIC,
# without a NIC, and with shared memory that only resembles a segment of nicbarr, also while all of these change.
#
# Other processes of this machine may use nicbarr at the same time, so only the output about the test's own
# processes is checked.
set -u
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 > /dev/null || { echo "skip: no python3 to read JSON with"; exit 77; }
pid=
# shellcheck source=tests/tap.sh
. "$here/../../tests/tap.sh"
nicbarr=$build/tools/nicbarr
subject=$build/tools/tests/status_subject

# Starts a process to inspect (status_subject), and waits until it is ready. It ends at the end of its input.
begin() { # KIND
    mkfifo input output
    "$subject" "$1" < input > output 2> subject.err &
    pid=$!
    exec 3> input 4< output
    read -r word <&4
    [ "$word" = ready ] || { cat subject.err; exit 1; }
}
end() {
    exec 3>&- 4<&-
    wait "$pid"
    rm -f input output
}
trap 'exec 3>&-; rm -rf "$scratch"' EXIT

# Checks a Python expression about the segment `s` of the started process (None if it is not listed) and its NIC
# `n`.
holds() { # NAME EXPRESSION
    "$nicbarr" status --json > out 2> err
    status=$?
    PID=$pid EXPRESSION=$2 python3 -c '
import json, os, sys
whole = json.load(open("out"))
assert whole["format"] == "nicbarr status 1"
mine = [s for s in whole["segments"]
        if any(p["pid"] == int(os.environ["PID"]) for p in s["processes"])]
s = mine[0] if mine else None
n = s["nic"] if s else None
sys.exit(0 if len(mine) < 2 and eval(os.environ["EXPRESSION"]) else 1)' 2> err
    verdict $((status + $?)) "$1"
}

# Checks that the patterns occur in the paragraph of the text output that contains the pid of the started process, and
# that no line is too long for a terminal. Continuation lines are joined before the patterns are applied.
text() { # NAME PATTERN...
    shown "" "$@"
}
text_all() { # NAME PATTERN...
    shown --all "$@"
}
shown() { # OPTION NAME PATTERN...
    option=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # may be empty
    "$nicbarr" status $option > whole 2> err
    status=$?
    awk -v RS= -v pid="($pid)" 'index($0, pid)' whole > wrapped
    [ "$(wc -L < wrapped)" -le 100 ] || { status=1 && echo "# too long: $(wc -L < wrapped)"; }
    sed -E -e ':more' -e '$!{N;s/\n {13}([^ ])/ \1/;t more' -e 'P;D}' wrapped > out
    for pattern; do
        grep -Eq -e "$pattern" out || { status=1 && echo "# not there: $pattern"; }
    done
    verdict $status "$name"
}

begin alone
holds "a segment without a NIC" 'n is None and s["limit"] == 1 << 20 and 0 < s["bytes"] <= s["limit"]'
holds "its process" 's["processes"] == [{"pid": int(os.environ["PID"]), "name": "status_subject", "job": "", "rank": ""}]'
text "and in words" "^  processes  status_subject \($pid\)" "NIC        none: barriers on one node need none"
end
holds "a process that has ended is not listed" 's is None'

PMIX_NAMESPACE=job7 PMIX_RANK=3 begin waits
holds "long waits" 'len(s["waits"]) == 3 and all(w["pid"] == int(os.environ["PID"]) and w["communicator"] == "rows" and
    w["size"] == 7 and w["call"] == "MPI_Bcast" and w["since_s"] >= 1 and w["ranks"] == "0-3,8" for w in s["waits"])'
holds "without what steers a terminal" 'all(w["caller"] == "program+0x1f (?[31msolve)" for w in s["waits"])'
text "and in words" "^  waiting    rows \(7 processes\): in MPI_Bcast for [0-9.]+ s: rank 3 \(pid $pid\).*; 4 members of other nodes"
end

PMIX_NAMESPACE=job7 PMIX_RANK=3 begin nic
holds "a NIC" 'n["run_by"] == "polled" and not n["broken"] and n["addresses"][0]["address"] == "127.0.0.1" and n["addresses"][0]["port"] > 0'
holds "its groups" 'sorted((g["done"], g["started"]) for g in n["groups"]) == [(0, 1), (3, 3)]'
holds "its counters" 'n["counters"]["barriers"] == 3 and n["counters"]["packets_sent"] == 1 and len(n["counters"]) >= 10'
holds "its job" 's["processes"][0]["job"] == "job7" and s["processes"][0]["rank"] == "3"'
holds "it has no ports" 'n["ports"] == []'
jobs() { # checks whether the started process is listed
    "$nicbarr" status "${@:2:$#-2}" > out 2> err && [ "$(grep -c "$pid" out)" = "${*: -1}" ]
    verdict $? "$1"
}
jobs "by its job" --job job7 --json 1
jobs "not by another one" --job job --json 0
jobs "nor in words" --job job8 0
grep -q "^No process of job job8 that you may inspect" out
verdict $? "which say so"
text "and in words" "soft, 127.0.0.1/8 port [0-9]+" "2 open, 1 in a barrier; barriers done:" \
    "^ +3  barriers +barriers completed" "run by     waiting processes" "^Memory [0-9a-f]{16}: [0-9.]+ KiB of at most 1 MiB$" "rank 3 of job job7"
! grep -q "^ *0  " out
verdict $? "without counters that are zero"
shown --counters "which another option shows" "^ +0  retransmissions +message packets retransmitted"
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
    setpriv --reuid 65534 --regid 65534 --clear-groups "$nicbarr" status --json > out 2> err
    ! grep -q "\"pid\":$pid," out
    verdict $? "others do not see it"
fi
timeout 20 "$nicbarr" status --watch 0.05 --json 2> err | head -n 3 > out
[ "$(wc -l < out)" = 3 ]
verdict $? "--watch goes on, and ends with its reader"
end

begin late
holds "whom a group waits for" '[(g["node"], g["waits"]["epoch"], g["waits"]["nodes_missing"]) for g in n["groups"] if g["waits"]] == [(0, 1, 1)]'
holds "where that is, and when it was heard" '[m for g in n["groups"] if g["waits"] for m in g["waits"]["nodes"] if m["node"] == 1 and m["address"] == "127.0.0.1" and 0 <= m["heard_s"] < 1000] != []'
holds "and since when" '[g for g in n["groups"] if g["waits"] and 0 <= g["waits"]["since_s"] < 1000] != []'
text_all "and in words" "^  waiting    group of node 0 waits in epoch 1.*: node 1 \(127.0.0.1, last response [0-9.]+ s ago\)$"
end

begin nic
text_all "a node that was never heard" "^  waiting    group of node 0 waits in epoch 1.*: node 1 \(127.0.0.1, no response yet\)$"
until "$nicbarr" status > whole 2> err && awk -v RS= -v pid="($pid)" 'index($0, pid)' whole | grep -q "^  waiting .* for 1.[0-9] s"; do
    sleep 0.1
done
text "whoever waits for more than a second is shown" "^  waiting    group of node 0 waits in epoch 1 for [0-9.]+ s: node 1"
end

begin failed
holds "a group that has failed" '[g["lost"] for g in n["groups"] if g["failed"]] == [{"node": 1, "address": "127.0.0.1"}] and not any(g["waits"] for g in n["groups"])'
text "and in words" "^  failed     group of node 0 failed in epoch 1: node 1 \(127.0.0.1\) is missing$"
end

begin here
here_waits="for 2 of the 3 processes of this node: pid $pid, a process that has not joined"
holds "processes of the same node" '[(g["waits"]["processes"], g["waits"]["processes_missing"], g["waits"]["pids"], g["waits"]["since_s"]) for g in n["groups"] if g["waits"]] == [(3, 2, [int(os.environ["PID"]), 0], None)]'
text_all "and in words" "^  waiting    group of node 0 waits in epoch 1 $here_waits"
text "also a second later" "^  waiting    group of node 0 waits in epoch 1 $here_waits" "1 open, 1 in a barrier"
end

begin ports
holds "ports, and messages that wait for their receiver" '[(p["pid"] == int(os.environ["PID"]), p["messages_under_way"]) for p in n["ports"]] == [(True, 1), (True, 0)]'
text "and in words" "^  ports      number [0-9]+ of process $pid: 1 messages under way; number [0-9]+ of process $pid: 0 "
end

begin thread
holds "a NIC that a thread runs" 'n["run_by"] == "thread" and n["runner"] == int(os.environ["PID"])'
text "and in words" "a thread of process $pid"
end

begin here
text "a NIC that has counted nothing" "^  counters   all zero"
end

begin nowhere
holds "a NIC that could not be made" 'n is None and "nosuch0" in s["trouble"]'
text "and in words" "NIC        none: there is no network to use.*nosuch0"
end

begin foreign
holds "another version's memory" 'n is None and "another version" in s["trouble"]'
text "and in words" "^Memory: it is of another version of nicbarr \(its layout"
end

for kind in stranger short; do
    begin $kind
    holds "what is not ours is not listed: $kind" 's is None'
    end
done

for kind in garbage circle; do
    begin $kind
    holds "bad memory does no harm: $kind" 's is not None'
    text "and in words: $kind" "$pid"
    "$nicbarr" status --prometheus > out 2> err
    verdict $? "and for Prometheus: $kind"
    end
done

begin changing
for _ in 1 2 3 4 5 6 7 8 9 10; do
    "$nicbarr" status --json > out 2> err || break
done
holds "memory that changes all the time" 'n["counters"]["barriers"] >= 3 and len(n["groups"]) < 1000'
end

# Checks what readers of Prometheus' text format require: the lines of a metric are contiguous and follow its help and
# type, and no value occurs twice. All counters of the NIC must occur, with the same values as in the JSON.
PMIX_NAMESPACE='job "7" of \me' PMIX_RANK=0 begin nic
"$nicbarr" status --json > json && "$nicbarr" status --prometheus > out 2> err &&
    PID=$pid python3 -c '
import json, os, re
lines = open("out").read().split("\n")
assert lines.pop() == ""
seen, types, figures = [], {}, {}
for line in lines:
    if line.startswith("# HELP "):
        name, text = line[7:].split(" ", 1)
        assert name not in seen and text, line
        seen.append(name)
    elif line.startswith("# TYPE "):
        name, type = line[7:].split(" ")
        assert name == seen[-1] and type == ("counter" if name.endswith("_total") else "gauge"), line
        types[name] = type
    else:
        label = r"[a-z]+=\"(?:[^\"\\]|\\[\\\"n])*\""
        name, labels, value = re.fullmatch(
            r"(nicbarr_[a-z_]+)\{((?:%s(?:,(?!\}))?)*)\} ([0-9.e+-]+)" % label, line).groups()
        assert name == seen[-1] and name in types and (name, labels) not in figures, line
        figures[name, labels] = float(value)
s, = [s for s in json.load(open("json"))["segments"]
      if any(p["pid"] == int(os.environ["PID"]) for p in s["processes"])]
address = s["nic"]["addresses"][0]
whose = "memory=\"%s\",job=\"job \\\"7\\\" of \\\\me\"" % s["memory"]
own = "%s,kind=\"soft\",nic=\"%s:%d\"" % (whose, address["address"], address["port"])
assert figures["nicbarr_memory_limit_bytes", whose] == s["limit"]
for name, value in s["nic"]["counters"].items():
    assert figures["nicbarr_%s_total" % name, own] == value, name
assert figures["nicbarr_barriers_total", own] == 3
assert figures["nicbarr_groups", own] == 2 and figures["nicbarr_groups_in_a_barrier", own] == 1
assert figures["nicbarr_waiting_seconds", own] > 0 and figures["nicbarr_broken", own] == 0
' 2> err
verdict $? "figures for Prometheus"
end
"$nicbarr" status --prometheus --watch 1 > out 2> err
[ $? = 64 ] && grep -q "so --watch cannot be used" err
verdict $? "which are one page"

"$nicbarr" status --watch never > out 2> err
[ $? = 64 ] && grep -q "number of seconds" err
verdict $? "wrong usage"
"$nicbarr" status superfluous > out 2> err
[ $? = 64 ]
verdict $? "too many arguments"

finish
