#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, a user whose job hangs in a collective gets no or wrong help from `nicbarr status`. It must name the
# processes in the collective, the MPI call, the code that called it, and the missing process. If processes are in
# different calls, it must name each call. With coll_nicbarr_check such a job must end with a message that describes the
# mismatch, and a correct job must continue. A job with a dead process must also end if its launcher does not end it.
. "$(dirname "$0")/common.sh"

nicbarr=$builddir/tools/nicbarr
forced=(--mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_algorithm flags)

# Selects the paragraph of the status about the job's processes, and joins continued lines. Other text in the paragraph
# is ignored.
status_says() { # PATTERN
    "$nicbarr" status | sed -E -e ':more' -e '$!{N;s/\n {13}([^ ])/ \1/;t more' -e 'P;D}' |
        awk -v RS= -v job="absent ($(head -n 1 "$scratch/pids"))" 'index($0, job)' > "$scratch/status"
    grep -Eq -- "$1" "$scratch/status"
}
# Waits until the status contains the pattern or the job has ended.
comes_to_say() { # PATTERN
    until status_says "$1"; do
        kill -0 "$mpirun" 2> /dev/null || return 1
        sleep 0.2
    done
}
# shellcheck disable=SC2016 # the processes' own
begin() { # ARGUMENT...
    : > "$scratch/pids"
    timeout -k 5 "${watchdog:-300}" mpirun -np 4 "${forced[@]}" \
        bash -c 'echo $$ >> "$0"; exec "$@"' "$scratch/pids" "$programs/absent" "$@" > "$scratch/out" 2>&1 &
    mpirun=$!
    until [ "$(wc -l < "$scratch/pids")" = 4 ] || ! kill -0 "$mpirun" 2> /dev/null; do sleep 0.1; done
}
called='called at absent\+0x[0-9a-f]+'

begin "$scratch/go"
check "nicbarr status names the waiting ranks, the MPI call and the caller" comes_to_say \
    "waiting    MPI_COMM_WORLD \(4 processes\): in MPI_Barrier for [0-9.]+ s: rank 0 \(pid [0-9]+\), rank 1 \(pid [0-9]+\), rank 2 \(pid [0-9]+\), $called"
check "nicbarr status names the rank that is not in the barrier" status_says "; not in it: rank 3 \(pid [0-9]+\)\$"
touch "$scratch/go"
check "the missing rank enters the barrier, and the job ends normally" wait "$mpirun"

begin --wrong
rank='rank %s \(pid [0-9]+\)'
# shellcheck disable=SC2059 # formats
check "nicbarr status names each call if ranks are in different calls" comes_to_say \
    "in MPI_Allreduce for [0-9.]+ s: $(printf "$rank, $rank" 0 2), $called.*; in MPI_Barrier for [0-9.]+ s: $(printf "$rank, $rank" 1 3), $called"
kill "$mpirun"
wait "$mpirun"

# With --enable-recovery the launcher does not end the job when a process dies. The other processes must detect the
# death, and report it once. (mpirun's exit status may be 0 then.)
died() { # OPTION...
    timeout -k 5 "${watchdog:-300}" mpirun --enable-recovery -np 4 "${forced[@]}" "$programs/absent" "$@" \
        > "$scratch/out" 2>&1
    [ $? != 124 ]
}
dead='on MPI_COMM_WORLD cannot complete: rank 1 has died, or has exited without calling MPI_Finalize\. The job is aborted\.$'
check "a process is killed in a barrier, and the job ends" died --dies
check "a message names the dead process" said "nicbarr: MPI_Barrier $dead"
check "a process is killed in a non-blocking barrier, and the job ends" died --idies
check "a message names the dead process of the non-blocking barrier" said "nicbarr: a non-blocking collective $dead"
check "the message is printed once" test "$(grep -c "nicbarr:" "$scratch/out")" = 1
check "two processes are killed in different communicators, and the job ends" died --twodies
check "a message names the dead process of the communicator" said "nicbarr: a non-blocking collective on .* cannot complete: rank 1 has died"
check "a process is killed after it has entered non-blocking barriers" died --arrived "$scratch/entered"
check "the others complete these barriers" said "^all barriers are complete\$"
check "no message reports that they cannot complete" silent

# ---- coll_nicbarr_check

checked=(--mca coll_nicbarr_check 1)
differ() { said "nicbarr: members of MPI_COMM_WORLD are in different calls: $1"; }
check "with coll_nicbarr_check mistakes cause errors, and correct calls do not" job 3 "${checked[@]}" "$programs/mistakes"
at='(MPI_[A-Za-z]* called at mistakes+0x[0-9a-f]*)'
check "a message describes a call of a different function" differ "rank 0: MPI_Allreduce of 4 bytes by MPI_SUM on MPI_INT $at; rank 2: MPI_Barrier $at\$"
check "a message describes a different root" differ "rank 0: MPI_Bcast of 4 bytes, root 0 $at; rank 2: MPI_Bcast of 4 bytes, root 1 $at\$"
check "a message describes a different operation" differ "rank 0: .* by MPI_SUM on MPI_INT $at; rank 2: .* by MPI_PROD on MPI_INT $at\$"
check "a message describes a different datatype" differ "rank 0: .* by MPI_SUM on MPI_INT $at; rank 2: .* by MPI_SUM on MPI_FLOAT $at\$"
check "a message describes a different number of bytes" differ "rank 0: MPI_Gather of 4 bytes, root 0 $at; rank 2: MPI_Gather of 8 bytes, root 0 $at\$"
check "a message describes calls that nicbarr does not implement" differ "rank 0: MPI_Scan of .*; rank 2: MPI_Alltoall of 4 bytes $at\$"
check "each mistake is reported once" test "$(grep -c "nicbarr:" "$scratch/out")" = 6

# shellcheck disable=SC2016 # the processes' own
odd() { # one rank has disabled the comparison, so the others must not send any comparison either
    job 3 "${checked[@]}" bash -c '[ "$OMPI_COMM_WORLD_RANK" != 2 ] || export OMPI_MCA_coll_nicbarr_check=0; exec "$0"' \
        "$programs/barrier_ledger"
}
check "one rank has disabled coll_nicbarr_check, and the job works" odd

seed=${NICBARR_SEED:-$RANDOM}
draw() { "$srcdir/tests/programs/run.sh" draw "$scratch/program" "$seed" --length 300; }
check "a random program is generated, seed $seed" draw
check "the random program passes with coll_nicbarr_check" job "$(sed -n 's/^@np //p' "$scratch/program")" "${checked[@]}" "$builddir/tests/programs/player" --program "$scratch/program"
check "no mismatch is reported for the random program" silent
finish
