#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job hangs after an event on the machine: the clock is set, CPUs or memory are removed, files cannot
# be accessed, or processes are in different namespaces. In each case the job must continue, or all members must fall
# back to the barrier of Open MPI with one message. Events that this machine does not support are skipped with a
# message. Other scripts test packets of an earlier job (strangers.sh), disconnected cables, silent hosts and stopped
# processes (overdue.sh), signals (faults.sh), little shared memory (declining.sh), and daemons (myrd.sh, kernel.sh).
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
until=$scratch/until
ledger=("$programs/barrier_ledger" --ledger "$scratch/ledger" --seed "$seed")
short=("${ledger[@]}" --iterations 300)
loud=(--mca coll_nicbarr_verbose 1)

played() { said "^ok" && said "MPI_Barrier on .* processes" && ! said "are left to Open MPI"; }
# The message may be printed once for each communicator: processes that share no memory cannot know for which other
# communicators it has been printed.
fell_back() { said "^ok" && said "are left to Open MPI: " && told_once; }
either() { played || fell_back; }
runs() { job 3 "${loud[@]}" "$@" && either; }

# Starts a job in the background that calls barriers until the file $until exists; $ranks are the pids of its processes.
begin() {
    rm -f "$until"
    : > "$scratch/out"
    mpirun -np 3 "$@" "${loud[@]}" "${ledger[@]}" --until "$until" > "$scratch/out" 2>&1 &
    job=$!
    until said "barrier_ledger: np 3" || ! kill -0 "$job"; do sleep 0.05; done
    mapfile -t ranks < <(pgrep -P "$job" -x barrier_ledger)
    [ ${#ranks[@]} = 3 ]
}
over() { # ends the job, which needs barriers of all members and so proves that they still work
    sleep 0.2
    touch "$until"
    wait "$job" && played
}
# ---- the clock is repeatedly set back and forth by an hour

jumps=$builddir/tests/component/.libs/clock_jumps.so
check "the library that sets the clock is built" test -e "$jumps"
check "the clock is set during a job" runs -x LD_PRELOAD="$jumps" "${short[@]}"
check "the clock is set during a job on several hosts" on_hosts 2 2 -x LD_PRELOAD="$jumps" "${loud[@]}" \
    --mca coll_nicbarr_algorithm tree:2 "${short[@]}"
check "the NICs execute barriers nevertheless" played

# ---- processors are removed and restored

last=$(taskset -pc $$ | sed 's/.*[^0-9]//')
bind() { # LIST
    local rank
    for rank in "${ranks[@]}"; do taskset -apc "$1" "$rank" > /dev/null || return 1; done
}
bound_anew() {
    local all
    all=$(taskset -pc $$ | sed 's/.*: //')
    begin --bind-to none && bind "$last" && over && begin --bind-to none && bind "$last" && sleep 0.1 && bind "$all" && over
}
check "all processes are bound to one CPU during a job, and later to all CPUs" bound_anew

# Creates a control group for this script, of version 1 or 2.
group=
make_group() { # CONTROLLER
    local root=/sys/fs/cgroup/$1
    if [ ! -d "$root" ]; then
        root=/sys/fs/cgroup
        grep -qw "$1" "$root/cgroup.subtree_control" 2> /dev/null || return 1
    fi
    group=$root/nicbarr-test.$$
    mkdir "$group" 2> /dev/null
}
end_group() {
    local tries=0
    until rmdir "$group" 2> /dev/null || [ $((tries += 1)) = 100 ]; do sleep 0.05; done
}
taken_away() {
    local all
    all=$(cat "$group/../cpuset.cpus" 2> /dev/null || cat "$group/../cpuset.cpus.effective")
    [ ! -e "$group/../cpuset.mems" ] || cat "$group/../cpuset.mems" > "$group/cpuset.mems"
    echo "$all" > "$group/cpuset.cpus"
    begin --bind-to none || return 1
    local rank
    for rank in "${ranks[@]}"; do echo "$rank" > "$group/cgroup.procs"; done
    echo "$last" > "$group/cpuset.cpus" && sleep 0.2 && echo "$all" > "$group/cpuset.cpus" && over
}
if make_group cpuset; then
    check "the CPUs of a control group are removed and restored" taken_away
    end_group
else
    echo "skip: no control group of processors can be made here"
fi

# ---- a process cannot allocate more memory

# The process may be killed, or may continue without the memory, but no process may hang.
in_group() { # PROGRAM...: the last rank is in the group
    cat > "$scratch/enter.sh" << 'EOS'
[ "${OMPI_COMM_WORLD_RANK-${PMIX_RANK-0}}" != 2 ] || echo $$ > "$group/cgroup.procs"
exec "$@"
EOS
    export group
    job 3 "${loud[@]}" bash "$scratch/enter.sh" "$@"
}
limit() { # BYTES
    echo "$1" > "$group/memory.limit_in_bytes" 2> /dev/null || echo "$1" > "$group/memory.max"
}
enough() { limit 512M && in_group "${short[@]}" && either; }
little() {
    local status
    limit 6M
    in_group "${short[@]}"
    status=$?
    [ "$status" = 124 ] && return 1
    [ "$status" != 0 ] || either
}
if make_group memory; then
    check "a job of which one process is in a separate memory cgroup" enough
    check "a process has too little memory: the job works or ends" little
    end_group
else
    echo "skip: no control group of memory can be made here"
fi

# ---- files

# /tmp is read-only; Open MPI itself uses another directory.
read_only() {
    mkdir -p "$scratch/elsewhere"
    # shellcheck disable=SC2016 # expanded inside
    timeout -k 5 "${watchdog:-300}" unshare --mount bash -c 'mount --bind /tmp /tmp &&
        mount -o remount,bind,ro /tmp && mount -t tmpfs none "$1/elsewhere" || exit 77
        cd / && TMPDIR=$1/elsewhere exec mpirun -np 3 "${@:2}"' bash "$scratch" "${loud[@]}" \
        "$programs/barrier_ledger" --iterations 300 > "$scratch/out" 2>&1
    [ $? = 77 ] || either
}
if unshare --mount true 2> /dev/null; then
    check "a job while /tmp is read-only" read_only
else
    echo "skip: no namespace of mounts can be made here"
fi

# ---- processes of a node are in different namespaces

# (Two jobs with the same session directory, as in containers with the same hostname and /tmp, are not tested here,
# because Open MPI itself confuses their shared memory. segment_test.c tests nicbarr's part.) Runs a job whose ranks are
# each in a namespace of their own. It does not use Open MPI's own shared memory, which relies on process numbers.
apart() { # UNSHARE-OPTION...
    timeout -k 5 "${watchdog:-300}" mpirun -np 3 --mca btl tcp,self --mca btl_tcp_if_include lo \
        "${loud[@]}" unshare "$@" "${ledger[@]}" --iterations 300 > "$scratch/out" 2>&1 && either
}
if unshare --pid --fork --mount-proc true 2> /dev/null; then
    check "each process has a separate PID namespace" apart --pid --fork --kill-child
    check "all processes fall back to Open MPI" fell_back
    check "each process has a separate System V IPC namespace" apart --ipc
    check "nicbarr executes the barriers" played
    check "each process has a separate mount namespace" apart --mount
    check "nicbarr executes the barriers" played
    check "each process has a separate time namespace" apart --time --fork --monotonic 100000
    check "all processes fall back to Open MPI" fell_back
else
    echo "skip: no namespaces of processes can be made here"
fi

# Runs a program that its user may execute but not read. Linux does not allow other processes to inspect such a process,
# not even those of the same user (as with Yama's ptrace_scope 2 and 3).
closed_book() {
    local dir=$scratch/closed
    chmod 711 "$scratch"
    mkdir -p "$dir" && chmod 777 "$dir"
    cp "$programs/barrier_ledger" "$dir/program" && chmod 711 "$dir/program"
    cp -rL "$scratch/components" "$dir/components" && chmod -R a+rX "$dir/components"
    TMPDIR=$dir HOME=$dir timeout -k 5 "${watchdog:-300}" setpriv --reuid 65534 --regid 65534 --clear-groups \
        mpirun -np 3 "${loud[@]}" --mca mca_base_component_path "$dir/components:SYSTEM_DEFAULT" \
        --mca btl tcp,self --mca btl_tcp_if_include lo "$dir/program" --iterations 300 \
        --ledger "$dir/ledger" > "$scratch/out" 2>&1
    either
}
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2> /dev/null; then
    check "a job whose processes may not be inspected by each other" closed_book
else
    echo "skip: only root can be another user"
fi
if [ -e /proc/sys/kernel/yama/ptrace_scope ]; then
    echo "ptrace_scope is $(cat /proc/sys/kernel/yama/ptrace_scope) here; it holds for all that was tried above"
else
    echo "skip: this kernel has no Yama"
fi
finish
