#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What a barrier is, in all forms: nobody leaves before everybody has entered. It is tried with every
# number of processes from 1 to 17, communicators of all shapes, non-blocking and persistent barriers,
# and other traffic that has to go on meanwhile. (Of threads, see data.sh.) The random seeds are in the log; NICBARR_SEED
# sets them.
. "$(dirname "$0")/common.sh"
seed=(${NICBARR_SEED:+--seed "$NICBARR_SEED"})

run() { # PROCESSES PROGRAM [OPTION...]
    local processes=$1 program=$2
    shift 2
    check "$program, $processes processes" passes "$processes" "$program" "$@"
}

passes() { # a program may say that it cannot be tried here (77)
    local processes=$1 program=$2
    shift 2
    job "$processes" "${binding[@]}" "$programs/$program" ${seed[@]+"${seed[@]}"} "$@"
    local status=$?
    grep -E '^(ok|[a-z_]+:.*--seed)' "$scratch/out" | sed 's/^/     | /'
    [ "$status" = 0 ] || said "Exit code:    77\|exit code 77\|skip"
}

binding=(--bind-to none)
for processes in $(seq 1 17); do
    run "$processes" barrier_ledger --iterations 3000
    run "$processes" barrier_shapes --steps 800
    run "$processes" ibarrier --steps 800
done
for processes in 2 3 4 9; do
    run "$processes" progress
    run "$processes" ibarrier --freed
done
binding=(--bind-to core:overload-allowed)
for processes in 2 4 7; do
    run "$processes" barrier_ledger
    run "$processes" barrier_shapes
    run "$processes" progress
done
binding=()
run 4 barrier_shapes --alive 3000 --steps 300
run 4 barrier_shapes --alive 300 --steps 3000

# Spawned processes share the node's segment with those who spawned them. (5.0 reaches them by tcp.)
! is_open_mpi 5 || export OMPI_MCA_btl=sm,tcp,self OMPI_MCA_btl_tcp_if_include=lo
run 2 barrier_shapes --spawn
finish
