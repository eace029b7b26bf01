#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job does not end when one of its processes is killed, or leaves something behind. It also checks the
# MPI tests themselves, which must fail when barriers are broken.
. "$(dirname "$0")/common.sh"

# When a process has died, mpirun sends SIGTERM to the others, waits for a second, and sends SIGKILL. SIGTERM
# suffices, and with so many jobs the waits would add up. (5.0 has no such parameter.)
export OMPI_MCA_odls_base_sigkill_timeout=0

export NPS="2 4 7" MPIRUN=mpirun
check "killed at any moment" bash -c "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' \
    > '$scratch/out' 2>&1"
# A program that survives failures (from 5.0 on) gets its errors from Open MPI's own collectives. mpirun's status is
# that of the killed process.
survivors() { # PROCESSES
    job "$1" --with-ft ulfm --mca coll_nicbarr_verbose 1 "$programs/survivors"
    [ "$(grep -c '^survived' "$scratch/out")" = $(($1 - 1)) ]
}
if ! is_open_mpi 4; then
    for processes in 2 4; do
        check "a failure that is survived, $processes processes" survivors $processes
        check "a line says whose collectives run" said_once "Open MPI's own collectives run"
    done
fi
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
. "$(dirname "$0")/drawn_common.sh"
drawn_barriers shapes 200
for program in "$programs/barrier_ledger" "${shapes[*]}"; do
    check "${program%% *} finds barriers that are none" bash -c "'$srcdir/tests/mpi/run_broken.sh' 3 $program \
        > '$scratch/out' 2>&1"
done
finish
