#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, collectives that carry data give wrong results on one node, or sums whose bits depend on timing:
# MPI_Allreduce, MPI_Reduce, MPI_Bcast and others, with each implementation, with late processes, and in the order of
# combination that nicbarr guarantees. Calls that nicbarr does not execute must be executed by Open MPI.
#
# NICBARR_DATA_LONGER=N makes each program N times as long.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
. "$(dirname "$0")/drawn_common.sh"
longer=${NICBARR_DATA_LONGER:-1}
length=(--length $((200 * longer)))
bits=("${length[@]}" --ours node --first 10)
own_operations='"own": true, "collectives": ["allreduce", "reduce"]'
drawn data "${length[@]}" --first 10
drawn in_order "${bits[@]}" --flavour '{"collectives": ["allreduce", "allreduce", "reduce", "bcast", "allgather", "gather", "scatter"]}'
drawn threads "${bits[@]}" --flavour '{"threads": true}'
drawn any_threads "${length[@]}" --flavour '{"threads": true}'
drawn operations "${bits[@]}" --flavour "{$own_operations}"
drawn operations_in_threads "${bits[@]}" --flavour "{$own_operations, \"threads\": true}"
drawn persistent "${length[@]}" --first 10 --flavour '{"hows": "bp"}'
drawn persistent_kept "${bits[@]}" --flavour '{"hows": "bip"}'
played_by() { # ALLREDUCE REDUCE BCAST GATHERINGS SCATTER
    echo "--mca coll_nicbarr_allreduce $1 --mca coll_nicbarr_reduce $2 --mca coll_nicbarr_bcast $3" \
        "--mca coll_nicbarr_allgather $4 --mca coll_nicbarr_gather $4" \
        "--mca coll_nicbarr_scatter $5"
}
# Long vectors, of which each process combines a part: they exceed a wide slot, a large slot, and two large slots.
written long_in_order < <(for n in 514 2719 5000 20000; do
    printf "$n coll how=b c=0 type=MPI_DOUBLE op=MPI_SUM bits=1 n=$n what=%s\n" allreduce \
        "allreduce users=1" "allreduce inplace=1" "reduce root=1"
    printf "$n coll how=b c=0 type=MPI_DOUBLE n=$n what=%s\n" allgather "allgather inplace=1" "gather root=1" \
        "allgather send=G" "allgather recv=G" "gather root=0 send=G recv=G"
done)
# The sizes of the largest class.
written longest < <(printf "1 coll how=b c=0 type=MPI_DOUBLE op=MPI_SUM bits=1 n=400000 what=%s\n" allreduce "reduce root=1"
    printf "1 coll how=b c=0 type=MPI_DOUBLE n=400000 what=%s\n" "bcast root=2"
    printf "1 coll how=b c=0 type=MPI_DOUBLE n=150000 what=%s\n" allgather "gather root=1" "scatter root=1" "scatter root=1 send=G")
read -ra ours < <(played_by exchange exchange ring exchange ring)
read -ra own < <(played_by openmpi openmpi openmpi openmpi openmpi)
soon=(--mca coll_nicbarr_tune_after 5) # calls
passes() { job "$@" && said "^ok"; }

# ---- collectives of nicbarr from the first call on, combined in the guaranteed order

for processes in 1 2 3 4 5 6 7 8 12 16 17; do
    check "random programs, $processes processes: results are correct bit by bit" passes "$processes" "${ours[@]}" "${in_order[@]}"
    check "long vectors, $processes processes" passes "$processes" "${ours[@]}" "${long_in_order[@]}"
    check "user-defined operations, $processes processes" passes "$processes" "${ours[@]}" "${operations[@]}"
    check "persistent collectives, $processes processes" passes "$processes" "${ours[@]}" "${persistent_kept[@]}"
done
for processes in 2 3 4 9; do
    check "$processes processes with threads that use separate communicators" passes "$processes" "${ours[@]}" "${threads[@]}"
done
check "vectors of up to 4 MiB" passes 3 "${ours[@]}" "${longest[@]}"
check "user-defined operations in threads, which acquire a lock of the program" passes 3 "${ours[@]}" "${operations_in_threads[@]}"
check "user-defined operations, algorithms chosen by tuning" passes 4 "${soon[@]}" "${operations[@]}"

# ---- persistent collectives

check "persistent collectives, algorithms chosen by tuning" passes 4 "${soon[@]}" "${persistent[@]}"
check "persistent collectives executed by Open MPI" passes 3 "${own[@]}" "${persistent[@]}"
# In each turn the program creates some requests of each collective, starts them twice and frees them. With the word
# `kept=1` it frees their types and operations earlier, which Open MPI's own persistent collectives do not survive.
made() { # TURNS TIMES WORDS COLLECTIVE...
    local turn what
    for turn in $(seq "$1"); do
        for what in "${@:4}"; do
            printf "$turn %s r=0\n" "coll what=$what how=p c=0 times=$2 n=12 $3" \
                start wait start wait rfree
        done
    done
}
written many_made < <(made 200 2 \
    "type=two-numbers-of-a-user op=composition-of-maps send=G recv=G kept=1" allreduce reduce bcast allgather gather scatter)
check "persistent collectives that are freed return their memory" passes 4 "${ours[@]}" --mca coll_nicbarr_memory 2 "${many_made[@]}"
written crowd < <(made 20 300 "type=MPI_INT op=MPI_MAX" allreduce)
check "more persistent collectives than fit into the shared memory" passes 4 "${ours[@]}" --mca coll_nicbarr_memory 1 "${crowd[@]}"
unsaid() { ! said "$1"; }
check "these leave enough memory for all other collectives" unsaid "left to Open MPI"

# ---- algorithms chosen by tuning, and collectives of Open MPI

for processes in 2 3 4 7; do
    check "random programs, $processes processes, algorithms chosen by tuning" passes "$processes" "${soon[@]}" \
        --mca coll_nicbarr_verbose 1 "${data[@]}"
    for call in "MPI_Allreduce up to" "MPI_Reduce.* up to" "MPI_Bcast.* up to" "MPI_Bcast.* up to [0-9]\{5,\}" \
        "MPI_Allgather up to" "MPI_Gather.* up to" "MPI_Scatter.* up to" "MPI_Scatter.* up to [0-9]\{5,\}"; do
        check "a message reports the measurement of $call ..., $processes processes" said "$call .* (measured"
    done
done
check "threads, algorithms chosen by tuning" passes 2 "${soon[@]}" "${any_threads[@]}"
check "all collectives are left to Open MPI" passes 4 "${own[@]}" "${data[@]}"
check "processes are bound to CPUs: results are correct bit by bit" passes 5 "${ours[@]}" --bind-to core:overload-allowed "${in_order[@]}"
check "a different barrier algorithm: results are correct bit by bit" passes 5 "${ours[@]}" --mca coll_nicbarr_algorithm tree:4 "${in_order[@]}"

# ---- erroneous programs

check "a root that sends a different number of bytes than a rank expects" passes 3 "${ours[@]}" \
    "$programs/mismatched"

# ---- late processes

# Stops each rank in turn for a while, at an arbitrary point of the program.
stopped() {
    local until=$scratch/until rank ranks job
    rm -f "$until"
    : > "$scratch/out"
    mpirun -np 4 "${ours[@]}" "${in_order[@]}" --until "$until" > "$scratch/out" 2>&1 &
    job=$!
    until said "under way" || ! kill -0 "$job" 2> /dev/null; do sleep 0.05; done
    mapfile -t ranks < <(pgrep -P "$job" -x player)
    [ ${#ranks[@]} = 4 ] || return 1
    for rank in "${ranks[@]}"; do
        kill -STOP "$rank" || return 1
        until grep -q "^State:.*T (stopped)" "/proc/$rank/status"; do sleep 0.01; done
        sleep 0.2 # lets the others run ahead as far as possible; the verdict does not depend on it
        kill -CONT "$rank" || return 1
    done
    touch "$until"
    wait "$job" && said "^ok"
}
check "each process in turn is stopped and continued" stopped
export MPIRUN="mpirun ${ours[*]}"
check "processes are killed at arbitrary times" env MODES=data NPS="2 5" bash -c \
    "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' $((3 * longer)) > '$scratch/out' 2>&1"

# ---- too little shared memory for collectives with data

no_room() { # COLLECTIVE
    said_once "nicbarr: $1 on .* is left to Open MPI: .*coll_nicbarr_memory" &&
        said_once "nicbarr: MPI_[A-Za-z]* on .* is left to Open MPI" && told_once # the latter for barriers
}
no_pieces() { said_once "nicbarr: MPI_[BS][a-z]* of more than 512 bytes on .* is left to Open MPI: half of .*coll_nicbarr_memory"; }
crowded=(--mca coll_nicbarr_memory 1)
# Writes a program that creates COUNT communicators and calls each collective once on each of them.
dups() { # COUNT
    local i what
    for i in $(seq "$1"); do
        echo "$i dup c=0 d=$i"
        for what in allreduce reduce bcast allgather gather scatter; do
            echo "$i coll what=$what how=b c=$i type=MPI_INT op=MPI_MAX n=1"
        done
        echo "$i coll what=bcast how=b c=$i type=MPI_INT n=8128"
        echo "$i coll what=scatter how=b c=$i type=MPI_INT n=2033"
    done
}
written many < <(dups 400)
written some < <(dups 8)
for ways in "MPI_Allreduce exchange openmpi openmpi openmpi openmpi" "MPI_Reduce openmpi exchange openmpi openmpi openmpi" \
    "MPI_Allgather openmpi openmpi openmpi exchange openmpi" "MPI_Bcast openmpi openmpi ring openmpi openmpi" \
    "MPI_Scatter openmpi openmpi openmpi openmpi ring"; do
    # shellcheck disable=SC2086 # words
    set -- $ways
    # shellcheck disable=SC2046
    check "not enough memory for $1 on all communicators" passes 4 "${crowded[@]}" $(played_by "${@:2}") "${many[@]}"
    check "one message reports the lack of memory for $1" no_room "$1"
done
check "a message reports the lack of memory for large broadcasts" no_pieces
check "enough memory for large broadcasts on some communicators only" passes 4 --mca coll_nicbarr_memory 6 "${ours[@]}" "${some[@]}"
check "a message reports the communicators without large broadcasts" no_pieces

# Writes a program with sums of 2 KiB on COUNT communicators, the last of which find no memory for large slots.
sums() { # COUNT
    local i
    for i in $(seq "$1"); do
        echo "$i dup c=0 d=$i"
        echo "$i coll what=allreduce how=b c=$i type=MPI_INT op=MPI_SUM n=512"
        echo "$i coll what=allgather how=b c=$i type=MPI_INT n=64"
    done
}
written many_sums < <(sums 100)
check "not enough memory for the large slots of sums on all communicators" passes 4 --mca coll_nicbarr_memory 4 --mca coll_nicbarr_verbose 1 "${ours[@]}" \
    "${many_sums[@]}"
# mpirun may insert lines of the program's standard output into a message.
carried() { sed -zE 's/(player: np|ok player)[^\n]*\n//g' "$scratch/out" | grep -c "MPI_$1 up to [0-9]* bytes on .*exchange"; }
some_carried() { [ "$(carried Allreduce)" -gt 0 ] && [ "$(carried Allreduce)" -lt 100 ]; }
check "nicbarr executes the sums with large slots only, and Open MPI the others" some_carried
check "nicbarr executes all allgathers, whose contributions fit into few small slots" [ "$(carried Allgather)" = 100 ]

# ---- the test itself must detect another order of combination, such as that of Open MPI

other_bits() { ! passes 5 "${own[@]}" "${in_order[@]}" && said "FAIL.*the result"; }
check "a different order of combination is detected" other_bits
finish
