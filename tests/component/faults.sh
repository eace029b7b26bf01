#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a job does not end when one of its processes is killed, or leaves something behind. It also checks the
# MPI tests themselves, which must fail when barriers are broken.
. "$(dirname "$0")/common.sh"

# When a process has died, mpirun sends SIGTERM to the others, waits for a second, and sends SIGKILL. The test omits
# this wait, because SIGTERM suffices and there are many jobs. (Open MPI 5.0 has no such parameter.)
export OMPI_MCA_odls_base_sigkill_timeout=0

export NPS="2 4 7" MPIRUN=mpirun
check "processes are killed at arbitrary times" bash -c "'$srcdir/tests/mpi/run_killed.sh' '$programs/killed' \
    > '$scratch/out' 2>&1"
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"
# Programs that survive failures (since Open MPI 5.0) must get an error, whatever state the collectives are in.
# (mpirun's exit status cannot be checked, because it reports the processes that were killed.)
survivors() { # SEED [OPTION...]
    job $((3 + $1 % 5)) --with-ft ulfm --mca coll_nicbarr_verbose 1 "${@:2}" "$programs/survivors" --seed "$1" \
        ${unaided:+"$unaided"}
    [ "$(grep -ac '^survived' "$scratch/out")" = 2 ] && ! grep -aq '^FAIL' "$scratch/out"
}
ours="--mca coll_nicbarr_bcast ring --mca coll_nicbarr_scatter ring"
for collective in reduce allreduce allgather gather; do ours+=" --mca coll_nicbarr_$collective exchange"; done
if ! is_open_mpi 4; then
    n=0
    for options in "" "--mca coll_nicbarr_tune_after 5" "--mca coll_nicbarr_algorithm counter:1 $ours" \
        "--mca coll_nicbarr_algorithm dissemination:1 --mca coll_nicbarr_sleep_after 0 $ours"; do
        n=$((n + 1))
        # shellcheck disable=SC2086 # words
        check "programs survive failures of processes, ${options:-by default}" survivors $((seed + n)) $options
    done
    # 7 processes; with this seed collectives are called on shrunk communicators before the next process dies.
    shrunk_uses_nicbarr() {
        # shellcheck disable=SC2086 # words
        survivors 4 --mca coll_nicbarr_algorithm dissemination:1 $ours &&
            grep -aq "nicbarr: .* SHRUNK FROM .* (parameter)" "$scratch/out"
    }
    check "a shrunk communicator uses nicbarr" shrunk_uses_nicbarr
    unaided=--unaided check "failures of processes are detected without the launcher" survivors $((seed + n + 1))
fi
. "$(dirname "$0")/drawn_common.sh"
drawn_barriers shapes 200
for program in "$programs/barrier_ledger" "${shapes[*]}"; do
    check "${program%% *} detects broken barriers" bash -c "'$srcdir/tests/mpi/run_broken.sh' 3 $program \
        > '$scratch/out' 2>&1"
done
finish
