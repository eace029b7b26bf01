# SPDX-License-Identifier: BSD-3-Clause
# Shared by the test scripts that need several hosts, which are network namespaces (nethosts). Sourced after common.sh.
# Skips the script if such hosts cannot be created.
# shellcheck shell=bash
nethosts=$srcdir/testbeds/hosts/nethosts
export builddir
"$nethosts" --switch --shell 2 true > "$scratch/out" 2>&1
if [ $? = 77 ]; then
    cat "$scratch/out"
    exit 77
fi
seed=${NICBARR_SEED:-${seed:-$(($(date +%s) % 100000))}}
echo "NICBARR_SEED=$seed"

# With several hosts on a busy machine, the launcher of Open MPI 5.0 sometimes hangs before it starts the programs or
# after they have ended (open-mpi/ompi issue 12939, even without nicbarr). The test programs print their name first and
# "ok" last, so that such a hang can be distinguished from one of nicbarr.
launches=5 patience=120
! is_open_mpi 4 || launches=1 patience=${watchdog:-300}

# Runs a program of tests/mpi, which must succeed. The output of the job goes to $scratch/out.
on_hosts() { # NETHOSTS-ARGUMENT...
    local launch status
    for launch in $(seq $launches); do
        timeout -k 5 "$patience" "$nethosts" "$@" > "$scratch/out" 2>&1
        status=$?
        if [ "$launches" -gt 1 ] && [ $status = 124 ]; then
            said ": np " || continue
            said "^ok" && status=0
        fi
        [ $status = 0 ] && said "^ok"
        return
    done
    return 1
}

served() { # HOSTS PROCESSES: whether NICs executed barriers of a communicator of this size
    said "MPI_Barrier on .*, $2 processes on $1 nodes: [^o]"
}

# Checks $scratch/report, the report of a job on several hosts. For each communicator that was measured across hosts it
# must contain the round-trip times of each of these kinds of NIC, to one node and to several, and a prediction for each
# candidate on these NICs.
predicted() { # KINDS-OF-NICS
    python3 - "$1" "$scratch/report" << 'PYTHON'
import json, sys
players = set()
entries = json.load(open(sys.argv[2]))["communicators"]
assert len({entry["process"].split(":")[0] for entry in entries}) > 1, entries
for entry in entries:
    if entry["source"] != "measured" or entry["nodes"] < 2:
        continue
    trips = {}
    for trip in entry["round_trips"]:
        assert 0 < trip["least_us"] <= trip["median_us"], entry
        trips.setdefault(trip["nic"], []).append(trip["peers"])
    for peers in trips.values():
        assert peers == sorted(set(peers)) and peers[0] == 1 and peers[-1] == entry["nodes"] - 1, entry
    for candidate in entry["candidates"]:
        player = candidate["algorithm"].partition("@")[2]
        if candidate["algorithm"] == "openmpi":
            assert "model_us" not in candidate, entry
        else:
            assert player in trips and candidate["model_us"] > 0, entry
    players |= set(trips)
assert players == set(sys.argv[1].split()), entries
PYTHON
}
