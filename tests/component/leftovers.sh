#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, jobs fill the directory for temporary files. A job must leave nothing there, however it ends, as long
# as mpirun can still clean up. Where mpirun itself was killed, Open MPI's own directory stays, with or without nicbarr,
# and nicbarr may add only one file to it.
. "$(dirname "$0")/common.sh"
ln -s "$builddir/btl_myr/.libs/mca_btl_myr.so" "$scratch/components/"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
endless=("$programs/barrier_ledger" --iterations 100000000 --ledger "$scratch/ledger")

empty() {
    find "$TMPDIR" -mindepth 1 >> "$scratch/out"
    [ -z "$(ls -A "$TMPDIR")" ]
}

# `begin` starts a job and waits until it executes barriers; `over` waits until the job and its processes have ended.
begin() {
    : > "$scratch/out" # without the output of the last job
    mpirun -np 3 "${endless[@]}" > "$scratch/out" 2>&1 &
    job=$!
    until said "barrier_ledger: np 3" || ! kill -0 "$job"; do sleep 0.05; done
    mapfile -t ranks < <(pgrep -P "$job" -x barrier_ledger)
    [ ${#ranks[@]} = 3 ] && [ -n "$(find "$TMPDIR" -name 'nicbarr.*')" ]
}
over() {
    wait "$job"
    local rank
    for rank in "${ranks[@]}"; do
        while kill -0 "$rank" 2> /dev/null; do sleep 0.05; done
    done
}
ended() { # ranks, or "mpirun"
    local signal=$1 victim pids=()
    begin || return 1
    for victim in "${@:2}"; do
        [ "$victim" = mpirun ] && pids+=("$job") || pids+=("${ranks[$victim]}")
    done
    kill "-$signal" "${pids[@]}"
    over
} 2> /dev/null

check "a job that ends normally" job 3 "$programs/barrier_ledger" --iterations 100 --ledger "$scratch/ledger"
check "the job leaves no files behind" empty
check "a job with messages by the BTL" job 3 --mca coll ^nicbarr --mca pml ob1 \
    --mca btl myr,self "$programs/barrier_ledger" --iterations 100
check "the job leaves no files behind" empty

# A singleton. Open MPI 5.0 then leaves a directory of its own, with or without nicbarr.
alone() { # ENVIRONMENT...
    local dir=$scratch/alone
    mkdir "$dir"
    env TMPDIR="$dir" "$@" "$programs/barrier_ledger" --iterations 100 --ledger "$scratch/ledger" \
        > "$scratch/out" 2>&1 || return 1
    while pgrep -x orted > /dev/null && [ -n "$(ls -A "$dir")" ]; do sleep 0.05; done # orted cleans up after the program
    find "$dir" -mindepth 1 -printf '%P\n' | sed 's/[0-9][0-9]*/N/g' | sort > "$scratch/left"
    rm -rf "$dir"
}
check "a process without mpirun and without nicbarr" alone OMPI_MCA_coll=^nicbarr OMPI_MCA_btl=^myr
mv "$scratch/left" "$scratch/left_by_openmpi"
check "a process without mpirun" alone
check "nicbarr leaves no additional files behind" diff "$scratch/left_by_openmpi" "$scratch/left"
aborts() { # mpirun's message is not checked, because it may be lost when several processes abort at once
    ! NICBARR_TEST_BREAK=1 job 3 "$programs/barrier_ledger" --ledger "$scratch/ledger" &&
        said "^FAIL barrier_ledger"
}
check "a job that calls MPI_Abort" aborts
check "the job leaves no files behind" empty
check "a job of which a process is killed" ended KILL 1
check "the job leaves no files behind" empty
check "a job of which all processes are killed" ended KILL 0 1 2
check "the job leaves no files behind" empty
check "a job whose mpirun is terminated" ended TERM mpirun
check "the job leaves no files behind" empty

check "mpirun and all processes are killed" ended KILL mpirun 0 1 2
one_file() { # apart from files of Open MPI, which remain without nicbarr as well
    find "$TMPDIR" -mindepth 1 >> "$scratch/out"
    [ "$(find "$TMPDIR" -name '*nicbarr*' -printf '%y %s\n' | awk '$1 == "f" && $2 < 64' | wc -l)" = 1 ] &&
        [ "$(find "$TMPDIR" -name '*nicbarr*' | wc -l)" = 1 ]
}
check "nicbarr leaves one small file in the directory of Open MPI" one_file
find "$TMPDIR" -mindepth 1 | sort > "$scratch/before"
check "the next job succeeds" job 3 "$programs/barrier_ledger" --iterations 100 --ledger "$scratch/ledger"
nothing_more() { find "$TMPDIR" -mindepth 1 | sort | diff "$scratch/before" - >> "$scratch/out"; }
check "the next job adds no files" nothing_more
finish
