#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Collectives that carry data, on one node: MPI_Allreduce, MPI_Reduce, MPI_Bcast and their like give
# the right bits, whoever plays them, whoever is late, and in the order of combining that nicbarr promises. Where
# nicbarr does not play them, Open MPI's own functions do.
#
# NICBARR_DATA_LONGER=N makes each game N times as long.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
longer=${NICBARR_DATA_LONGER:-1}
data=("$programs/data" --seed "$seed" --watchdog "$((${watchdog:-300} - 10))")
played_by() { # ALLREDUCE REDUCE BCAST GATHERINGS SCATTER
    echo "--mca coll_nicbarr_allreduce $1 --mca coll_nicbarr_reduce $2 --mca coll_nicbarr_bcast $3" \
        "--mca coll_nicbarr_allgather $4 --mca coll_nicbarr_gather $4" \
        "--mca coll_nicbarr_scatter $5"
}
read -ra ours < <(played_by exchange exchange ring exchange ring)
read -ra own < <(played_by openmpi openmpi openmpi openmpi openmpi)
soon=(--mca coll_nicbarr_tune_after 5) # calls
steps() { echo --steps $(($1 * longer / $2)); } # OF-ONE-PROCESS PROCESSES
passes() { job "$@" && said "^ok"; }

# ---- nicbarr's from the first call on, in the order that it promises

for processes in 1 2 3 4 5 6 7 8 12 16 17; do
    # shellcheck disable=SC2046 # words
    check "$processes processes, bit by bit" passes "$processes" "${ours[@]}" "${data[@]}" \
        --bits 1024 $(steps 900 "$processes")
done
check "threads with communicators of their own" passes 3 "${ours[@]}" "${data[@]}" --bits 1024 \
    --threads 4 --steps $((80 * longer))

# ---- operations and types of the program

user_ops=("$programs/user_ops" --seed "$seed" --watchdog "$((${watchdog:-300} - 10))" --steps "$((100 * longer))")
for processes in 1 2 3 4 5 6 7 8 13 16 17; do
    check "$processes processes, the program's operations" passes "$processes" "${ours[@]}" "${user_ops[@]}" --bits
done
check "... in threads, with a lock of the program" passes 3 "${ours[@]}" "${user_ops[@]}" --bits --threads 3
check "... chosen by measuring" passes 4 "${soon[@]}" "${user_ops[@]}"
check "... Open MPI's own" passes 3 "${own[@]}" "${user_ops[@]}"

# ---- persistent ones

persistent=("$programs/persistent" --seed "$seed" --watchdog "$((${watchdog:-300} - 10))")
for processes in 1 2 3 5 8 13; do
    # shellcheck disable=SC2046
    check "$processes processes, persistent ones" passes "$processes" "${ours[@]}" "${persistent[@]}" \
        --bits 1024 --ours $(steps 600 "$processes")
done
check "... with no more said" passes 4 "${soon[@]}" "${persistent[@]}" --steps $((60 * longer))
check "... Open MPI's own" passes 3 "${own[@]}" "${persistent[@]}" --steps $((60 * longer))
check "... give their memory back" passes 4 "${ours[@]}" --mca coll_nicbarr_memory 2 "${persistent[@]}" \
    --bits 1024 --ours --requests 6 --steps 1000
check "... no room for all of them" passes 4 "${ours[@]}" --mca coll_nicbarr_memory 1 "${persistent[@]}" \
    --requests 300 --steps $((60 * longer))
unsaid() { ! said "$1"; }
check "... but for all else" unsaid "Open MPI's own"

# ---- chosen by measuring, and Open MPI's own

for processes in 2 3 4 7; do
    # shellcheck disable=SC2046
    check "$processes processes, chosen by measuring" passes "$processes" "${soon[@]}" \
        --mca coll_nicbarr_verbose 1 "${data[@]}" $(steps 900 "$processes")
    for call in "MPI_Allreduce up to" "MPI_Reduce.* up to" "MPI_Bcast.* up to" "MPI_Bcast.* up to 32768" \
        "MPI_Allgather up to" "MPI_Gather.* up to" "MPI_Scatter.* up to" "MPI_Scatter.* up to 32768"; do
        check "$call ... was measured" said "$call .* (measured"
    done
done
check "threads, chosen by measuring" passes 2 "${soon[@]}" "${data[@]}" --threads 4 \
    --steps $((80 * longer))
check "Open MPI's own" passes 4 "${own[@]}" "${data[@]}" --steps $((150 * longer))

# ---- the same bits in each run, wherever the processes are

digest() { # MPIRUN-OPTION...
    job 5 "${ours[@]}" "$@" "${data[@]}" --bits 1024 --digest && said "^ok" &&
        sed -n 's/^digest //p' "$scratch/out" >> "$scratch/digests"
}
one_digest() { [ "$(sort "$scratch/digests" | uniq -c | awk '{ print $1 }')" = 3 ]; }
check "rounded sums" digest --bind-to none
check "bound to processors" digest --bind-to core:overload-allowed
check "with barriers of another kind" digest --mca coll_nicbarr_algorithm tree:4
check "have the same bits" one_digest

# ---- wrong programs

check "a root that sends another number of bytes than a rank expects" passes 3 "${ours[@]}" \
    "$programs/mismatched"

# ---- late ones

# Each rank is stopped for a while, in the middle of whatever it does.
stopped() {
    local until=$scratch/until rank ranks job
    rm -f "$until"
    : > "$scratch/out"
    mpirun -np 4 "${ours[@]}" "${data[@]}" --bits 1024 --steps 20 --until "$until" > "$scratch/out" 2>&1 &
    job=$!
    until said "under way" || ! kill -0 "$job" 2> /dev/null; do sleep 0.05; done
    mapfile -t ranks < <(pgrep -P "$job" -x data)
    [ ${#ranks[@]} = 4 ] || return 1
    for rank in "${ranks[@]}"; do
        kill -STOP "$rank" || return 1
        until grep -q "^State:.*T (stopped)" "/proc/$rank/status"; do sleep 0.01; done
        sleep 0.2 # so that the others run ahead as far as they may; all passes without it, too
        kill -CONT "$rank" || return 1
    done
    touch "$until"
    wait "$job" && said "^ok"
}
check "a process is stopped, and goes on" stopped
export MPIRUN="mpirun ${ours[*]}"
check "killed at any moment" env MODES=data NPS="2 5" bash -c \
    "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' $((3 * longer)) > '$scratch/out' 2>&1"

# ---- where there is no room for it

no_room() { # COLLECTIVE
    said_once "nicbarr: $1 on .* stays Open MPI's own: .*coll_nicbarr_memory" &&
        said_once "nicbarr: MPI_[A-Za-z]* on .* stays Open MPI's own" && told_once # (that is of barriers)
}
no_pieces() { said_once "nicbarr: MPI_[BS][a-z]* of more than 512 bytes on .* stays Open MPI's own: half of .*coll_nicbarr_memory"; }
crowded=(--mca coll_nicbarr_memory 1)
many=(--dups 400 --steps 100)
for ways in "MPI_Allreduce exchange openmpi openmpi openmpi openmpi" "MPI_Reduce openmpi exchange openmpi openmpi openmpi" \
    "MPI_Allgather openmpi openmpi openmpi exchange openmpi" "MPI_Bcast openmpi openmpi ring openmpi openmpi" \
    "MPI_Scatter openmpi openmpi openmpi openmpi ring"; do
    # shellcheck disable=SC2086 # words
    set -- $ways
    # shellcheck disable=SC2046
    check "no room for all $1" passes 4 "${crowded[@]}" $(played_by "${@:2}") "${data[@]}" "${many[@]}"
    check "says so once" no_room "$1"
done
check "says so of large broadcasts" no_pieces
check "room for large broadcasts on some communicators" passes 4 --mca coll_nicbarr_memory 6 "${ours[@]}" \
    "${data[@]}" --dups 8 --steps 100
check "says so of the others" no_pieces

# ---- and the test itself: it finds what is wrong, each time (few sums are of numbers that are rounded)

for spoil in order chunk stale send; do
    check "it finds it: $spoil" env NICBARR_TEST_BREAK=1 bash -c "'$srcdir/tests/mpi/run_broken.sh' 4 \
        '$programs/data' --bits 1024 --spoil $spoil --seed $seed > '$scratch/out' 2>&1"
done
check "it finds it: persistent ones" env NICBARR_TEST_BREAK=1 bash -c "'$srcdir/tests/mpi/run_broken.sh' 3 \
    '$programs/persistent' --seed $seed > '$scratch/out' 2>&1"
check "it finds it: an operation that does nothing" env NICBARR_TEST_BREAK=50 bash -c \
    "'$srcdir/tests/mpi/run_broken.sh' 4 '$programs/user_ops' --seed $seed > '$scratch/out' 2>&1"
finish
