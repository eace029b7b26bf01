#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a process may leave a barrier before another process has entered it. All forms are tested with every
# number of processes from 1 to 17, including communicators of all shapes, non-blocking and persistent barriers, and
# concurrent traffic. (Threads: data.sh.) The random seeds are in the log; NICBARR_SEED sets them.
. "$(dirname "$0")/common.sh"
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
. "$(dirname "$0")/drawn_common.sh"

run() { # PROCESSES PROGRAM [OPTION...]
    check "$2 passes with $1 processes" passes "$1" "$programs/$2" --seed "$seed" "${@:3}"
}

passes() { # a program may report that it cannot run here (77)
    job "$1" "${binding[@]}" "${@:2}"
    local status=$?
    grep -E '^(ok|[a-z_]+:.*--seed)' "$scratch/out" | sed 's/^/     | /'
    [ "$status" = 0 ] || said "Exit code:    77\|exit code 77\|skip"
}

# With --ours the programs also free communicators while non-blocking barriers are outstanding.
drawn_barriers shapes 800 --ours node
binding=(--bind-to none)
for processes in $(seq 1 17); do
    run "$processes" barrier_ledger --iterations 3000
    check "barriers on communicators of all shapes, $processes processes" passes "$processes" "${shapes[@]}"
done
for processes in 2 3 4 9; do
    run "$processes" progress
done
binding=(--bind-to core:overload-allowed)
for processes in 2 4 7; do
    run "$processes" barrier_ledger
    check "barriers on communicators of all shapes, $processes processes bound to cores" passes "$processes" "${shapes[@]}"
    run "$processes" progress
done
binding=()
written alive < <(for i in {1..3000}; do printf "$i %s=$i\n" "dup c=0 d" "coll what=barrier how=b times=2 c"; done)
check "barriers on 3000 communicators that exist at the same time, 4 processes" passes 4 "${alive[@]}"

# Spawned processes share the segment of the processes that spawned them. (Since Open MPI 5.0 they communicate by TCP.)
is_open_mpi 4 || export OMPI_MCA_btl=sm,tcp,self OMPI_MCA_btl_tcp_if_include=lo
run 2 spawned --hosts localhost --more-hosts localhost --ledger "$scratch/ledger" --cells "$scratch/ledger"
finish
