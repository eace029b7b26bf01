#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, `nicbarr status` does not say which process a job waits for. While a process of a job on three hosts is
# stopped, the status on each host must show what that host waits for. Tested with the soft NIC and, if available, with
# the kernel NIC.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
command -v python3 > /dev/null || { echo "skip: no python3 to read JSON with"; exit 77; }
export nicbarr=$builddir/tools/nicbarr

# The hosts share /proc, so the status on each host shows the segments of all hosts. The script therefore selects the
# host's NIC by its address.
cat > "$scratch/looks.py" << 'EOP'
import json, sys
kind, host = sys.argv[1], int(sys.argv[2])
whole = json.load(sys.stdin)
nics = [s["nic"] for s in whole["segments"] if s.get("nic")] if kind == "soft" else [whole["kernel"]]
for nic in nics:
    if nic and any(a["address"] == "10.77.0.%d" % host for a in nic["addresses"]):
        for group in nic["groups"]:
            waits = group["waits"]
            for node in waits["nodes"] if waits else []:
                if node["heard_s"] is not None and waits["since_s"] and waits["since_s"] > 1:
                    print("late", node["address"])
            for pid in waits["pids"] if waits else []:
                print("pid", pid)
EOP
export looks=$scratch/looks.py

# Stops a process, and waits until the status shows the host of this process as late.
cat > "$scratch/stops.sh" << 'EOS'
#!/bin/bash
"$NETHOSTS_MPIRUN" "$@" &
job=$!
status() { "$NETHOSTS_RUN" "$1" "$nicbarr" status --json | python3 "$looks" "$kind" "$1"; }
until grep -q "all communicators are set up" "$stops_out"; do
    kill -0 $job || exit 1
    sleep 0.1
done
victim=$(cat "$pids/5")
kill -STOP "$victim"
until status 1 | grep -q late || status 2 | grep -q late; do sleep 0.1; done
echo "a host waits for another"
until status 1 | grep -q "late 10.77.0.3" || status 2 | grep -q "late 10.77.0.3"; do sleep 0.1; done
echo "it is the right one"
"$NETHOSTS_RUN" 1 "$nicbarr" status | grep "waiting"
"$NETHOSTS_RUN" 3 "$nicbarr" status | grep "waiting"
if [ "$kind" = soft ]; then
    until status 3 | grep -qx "pid $victim"; do sleep 0.1; done
    echo "there the process is named"
fi
kill -CONT "$victim"
touch "$enough"
wait $job
EOS
chmod +x "$scratch/stops.sh"
# Each process writes its pid to a file.
cat > "$scratch/says.sh" << 'EOS'
#!/bin/bash
echo $$ > "$pids/$OMPI_COMM_WORLD_RANK"
exec "$@"
EOS
chmod +x "$scratch/says.sh"
mkdir "$scratch/pids"
export pids=$scratch/pids enough=$scratch/enough stops_out=$scratch/out

# Tuning is disabled, because otherwise the process might be stopped while the others wait in Open MPI's own barrier.
waits_for() { # KIND NETHOSTS-OPTION...
    export kind=$1
    shift
    rm -f "$enough"
    on_hosts "$@" --shell 3 2 "$scratch/stops.sh" --mca coll_nicbarr_verbose 1 \
        --mca coll_nicbarr_algorithm "dissemination:1@$kind" --mca coll_nicbarr_tune_budget 0 "$scratch/says.sh" \
        "$programs/barrier_ledger" --iterations 100 --until "$enough" \
        --ledger "$scratch/ledger" --seed "$seed"
}
check "a process is stopped for a while, and the job then completes (soft NIC)" waits_for soft
check "nicbarr status shows that a host waits for another one" said "a host waits for another"
check "nicbarr status names the host of the stopped process" said "it is the right one"
check "on that host nicbarr status names the stopped process" said "there the process is named"
check "the text of nicbarr status names the missing node and the duration" said "waiting .* waits in epoch .* for [0-9.]* s: node [0-9]* (10.77.0.[123], last response"
"$nethosts" --kernel --shell 2 true > "$scratch/kernel" 2>&1
if [ $? != 77 ]; then
    check "a process is stopped for a while, and the job then completes (kernel NIC)" waits_for kernel --kernel
    check "with the kernel NIC, nicbarr status names the host of the stopped process" said "it is the right one"
    check "the text of nicbarr status names the missing node and the duration" said "waiting .* waits in epoch .* for [0-9.]* s: node [0-9]* (10.77.0.[123], last response"
fi
finish
