#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs that Slurm starts do not use nicbarr, or interfere with each other. On two hosts (network
# namespaces) with a slurmd and a /tmp each, processes of a node must share a segment, concurrent steps must not
# interfere, later steps must work after one was cancelled, and a prolog must be able to start the user's daemon. Slurm
# is downloaded and overlaid on this machine's /usr and /etc for this script only.
# shellcheck source=tools/usage.sh
. "$(dirname "$0")/../../tools/usage.sh"
hosts=(2 2) patience=400
if [ -z "${1-}" ]; then
    [ "$(id -u)" = 0 ] || { echo "skip: Slurm's daemons are root's"; exit 77; }
    slurm=$("${srcdir:-.}/tests/fetched" slurm slurmd slurmctld slurm-client munge) || exit 77
    export slurm
    exec unshare --mount bash "$0" laid
fi
if [ "$1" = laid ]; then # in a mount namespace
    mount --make-rprivate / && mount -t tmpfs none /mnt || exit 77
    for dir in usr etc; do
        mkdir -p /mnt/$dir /mnt/$dir.work
        mount -t overlay -o "lowerdir=$slurm/$dir:/$dir,upperdir=/mnt/$dir,workdir=/mnt/$dir.work" \
            overlay /$dir || exit 77
    done
    ldconfig
fi
. "$(dirname "$0")/inside.sh"
. "$(dirname "$0")/common.sh"
on_several_hosts # jobs need a network between the hosts
chmod 755 "$scratch"
myrd=$builddir/myrd/myrd
on() { "$NETHOSTS_RUN" "$@"; }

# ---- a cluster

user=60997
echo "nicbarr-slurm:x:$user:$user::/nonexistent:/bin/sh" >> /etc/passwd
for daemon in slurmctld slurmd slurmstepd; do # links with the names by which the programs call each other
    ln -sf $daemon-wlm /usr/sbin/$daemon
done
mkdir -p /etc/slurm /etc/munge "$scratch/state" "$scratch/spool.host1" "$scratch/spool.host2"
head -c 1024 /dev/urandom > /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
cat > /etc/slurm/slurm.conf << EOS
ClusterName=nicbarr
SlurmctldHost=host1(10.77.0.1)
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.sock
SlurmUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
Prolog=$scratch/prolog
Epilog=$scratch/epilog
PrologFlags=Alloc
TmpFS=/tmp
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmctldLogFile=$scratch/slurmctld.log
StateSaveLocation=$scratch/state
SlurmdPidFile=$scratch/slurmd.%n.pid
SlurmdLogFile=$scratch/slurmd.%n.log
SlurmdSpoolDir=$scratch/spool.%n
NodeName=host1 NodeAddr=10.77.0.1 NodeHostname=host1 CPUs=2
NodeName=host2 NodeAddr=10.77.0.2 NodeHostname=host2 CPUs=2
PartitionName=all Nodes=host1,host2 Default=YES OverSubscribe=YES:4
EOS
# Each node has a /tmp of its own, in which only the directory of the test is shared.
cat > "$scratch/node" << 'EOS'
mkdir -p /mnt/test && mount --rbind "$2" /mnt/test && mount -t tmpfs -o mode=1777 none /tmp &&
    mkdir -p "$2" && mount --move /mnt/test "$2" && exec slurmd -N "$1"
EOS
# The prolog of docs/admin.md, which starts a daemon only if the file with-daemon exists.
cat > "$scratch/prolog" << EOS
#!/bin/sh
[ -e $scratch/with-daemon ] || exit 0
setpriv --reuid "\$SLURM_JOB_UID" --regid "\$SLURM_JOB_GID" --clear-groups \\
    env -u XDG_RUNTIME_DIR $myrd --network 10.77.0.0/24 || true
EOS
cat > "$scratch/epilog" << EOS
#!/bin/sh
pkill -TERM -x -U "\$SLURM_JOB_UID" --ns \$\$ --nslist net myrd || true
EOS
chmod 755 "$scratch/prolog" "$scratch/epilog"
stop() {
    local file
    for file in "$scratch"/*.pid; do
        kill "$(cat "$file")" 2> /dev/null
    done
    rm -rf "$scratch"
}
trap stop EXIT
begins() {
    munged --force -S "$scratch/munge.sock" --pid-file "$scratch/munged.pid" --log-file "$scratch/munged.log" \
        --seed-file "$scratch/munge.seed" > /dev/null 2>&1 && on 1 slurmctld || return 1
    local host
    for host in 1 2; do
        on "$host" unshare --mount bash "$scratch/node" "host$host" "$scratch" || return 1
    done
    until [ "$(on 1 sinfo -h -t idle -o %D)" = 2 ]; do
        kill -0 "$(cat "$scratch/slurmctld.pid")" && sleep 0.1 || return 1
    done
} > "$scratch/out" 2>&1
check "Slurm starts on two nodes" begins

# ---- jobs

# Runs a command as a user whose environment has not been prepared for nicbarr.
as_user() { # COMMAND...
    on 1 env -u TMPDIR -u XDG_RUNTIME_DIR -u XDG_CACHE_HOME HOME=/nonexistent OMPI_MCA_coll_nicbarr_verbose=1 \
        OMPI_MCA_coll_nicbarr_algorithm=dissemination:1 OMPI_MCA_coll_nicbarr_nic="${nic:-soft}" \
        setpriv --reuid "$user" --regid "$user" --clear-groups timeout -k 5 100 "$@" < /dev/null
}
ledger=0
steps() { # NUMBER SRUN-OPTION...: runs this many jobs concurrently
    local number pids=()
    : > "$scratch/out"
    for number in $(seq "$1"); do
        ledger=$((ledger + 1))
        as_user srun --mpi=pmix "${@:2}" "$programs/barrier_ledger" --iterations 300 \
            --ledger "/dev/shm/nicbarr-slurm.$$.$ledger" > "$scratch/out.$number" 2>&1 &
        pids+=($!)
    done
    wait "${pids[@]}"
    cat "$scratch"/out.[0-9]* > "$scratch/out"
    rm -f "$scratch"/out.[0-9]* /dev/shm/nicbarr-slurm.$$.*
    [ "$(grep -c '^ok' "$scratch/out")" = "$1" ]
}
on_nodes() { # WHERE
    said "MPI_Barrier on MPI_COMM_WORLD, $1: dissemination:1@soft (parameter)"
}
check "srun starts a job on two nodes" steps 1 -N 2 -n 4
check "the processes use the NICs" on_nodes "4 processes on 2 nodes"
check "the processes of each node share a segment" said "2 processes on one node: dissemination:1 (parameter)"
check "a job with different numbers of processes on the nodes" steps 1 -N 2 -n 3
check "the processes use the NICs" on_nodes "3 processes on 2 nodes"
in_an_allocation() { # two concurrent steps of one job
    : > "$scratch/both"
    chmod 666 "$scratch/both"
    as_user salloc -N 2 -n 4 bash -c 'for n in 1 2; do
            srun --overlap --mpi=pmix -N 2 -n 4 "$1" --iterations 300 --ledger "/dev/shm/nicbarr-slurm.$2.$n" &
        done; wait' bash "$programs/barrier_ledger" $$ > "$scratch/out" 2>&1
    rm -f /dev/shm/nicbarr-slurm.$$.*
    [ "$(grep -c '^ok' "$scratch/out")" = 2 ]
}
check "two concurrent steps of a job" in_an_allocation
check "the steps do not interfere" on_nodes "4 processes on 2 nodes"
# If two steps shared a segment, a process that is killed in one of them could make the NIC of the other unusable.
segments() { # prints the numbers of processes of barrier_ledger in each segment
    "$builddir/tools/nicbarr" status --json | python3 -c '
import json, sys
n = [[p["name"] for p in s["processes"]].count("barrier_ledger") for s in json.load(sys.stdin)["segments"]]
print(*[k for k in n if k])'
}
apart() {
    as_user salloc -N 2 -n 4 bash -c 'for n in 1 2; do
            srun --overlap --mpi=pmix -N 2 -n 4 "$1" --iterations 100000000 --ledger "/dev/shm/nicbarr-slurm.$2.$n" &
        done; wait' bash "$programs/barrier_ledger" $$ > "$scratch/out" 2>&1 &
    local steps=$! found
    until found=$(segments) && [ $((${found// /+} + 0)) = 8 ]; do kill -0 "$steps" && sleep 0.1 || return 1; done
    as_user scancel -u nicbarr-slurm
    wait "$steps"
    rm -f /dev/shm/nicbarr-slurm.$$.*
    echo "processes in each segment: $found" >> "$scratch/out"
    [ "$found" = "2 2 2 2" ]
}
check "two concurrent steps share no segment" apart
by_mpirun() {
    as_user salloc -N 2 -n 4 mpirun --map-by slot --mca mca_base_component_path "$OMPI_MCA_mca_base_component_path" "$programs/barrier_ledger" \
        --iterations 300 --ledger "/dev/shm/nicbarr-slurm.$$.m" > "$scratch/out" 2>&1
    rm -f "/dev/shm/nicbarr-slurm.$$.m"
    said "^ok"
}
check "mpirun starts a job in an allocation" by_mpirun
check "the processes use the NICs" on_nodes "4 processes on 2 nodes"

# ---- a step is cancelled

cancelled() {
    as_user srun --mpi=pmix -N 2 -n 4 "$programs/barrier_ledger" --iterations 100000000 \
        --ledger "/dev/shm/nicbarr-slurm.$$.c" > "$scratch/out" 2>&1 &
    local step=$!
    until said "MPI_Barrier on MPI_COMM_WORLD"; do kill -0 "$step" && sleep 0.1 || return 1; done
    as_user scancel -u nicbarr-slurm
    ! wait "$step"
    rm -f "/dev/shm/nicbarr-slurm.$$.c"
}
check "a step is cancelled" cancelled
check "a job runs after the cancelled step" steps 1 -N 2 -n 4
check "the processes use the NICs" on_nodes "4 processes on 2 nodes"

# ---- a user's daemon, from prolog to epilog

daemons() { pgrep -c -x -U "$user" myrd; }
touch "$scratch/with-daemon"
nic=daemon
check "the prolog starts a daemon" steps 1 -N 2 -n 4
check "the processes use the daemon" on_nodes "4 processes on 2 nodes"
ended() { until [ "$(daemons)" = 0 ]; do sleep 0.1; done; }
check "the epilog ends the daemon" ended
finish
