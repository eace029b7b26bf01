#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, programs that are built for the MPI ABI run without nicbarr, or get wrong results with it. The programs
# are linked by mpicc_abi with libmpi_abi, which exists since Open MPI 6.0. If MPICH is installed, it runs the same
# binaries.
. "$(dirname "$0")/common.sh"
seed=${NICBARR_SEED:-$(($(date +%s) % 100000))}
echo "NICBARR_SEED=$seed"

# Debian's Open MPI has everything that the compiler wrapper mpicc_abi needs, but not the link of this name.
ln -s "$(realpath "$(command -v mpicc)")" "$scratch/mpicc_abi"
dir=$("$scratch/mpicc_abi" --showme:libdirs 2> /dev/null)
[ -e "${dir%% *}/libmpi_abi.so" ] || { echo "skip: this Open MPI has no libmpi_abi"; exit 77; }

# Open MPI's and MPICH's libraries have the same SONAME. If both are installed, the name in /usr/lib may denote either.
of_mpich=$(find "/usr/lib/$(gcc -print-multiarch)" -maxdepth 1 -name 'libmpi_abi_mpich.so.1*' | head -n 1)
mkdir "$scratch/openmpi" "$scratch/mpich"
ln -s "$(realpath "${dir%% *}/libmpi_abi.so")" "$scratch/openmpi/libmpi_abi.so.1"
ln -s "$of_mpich" "$scratch/mpich/libmpi_abi.so.1"

builds() { # PROGRAM SOURCE...
    (cd "$srcdir" && "$scratch/mpicc_abi" -std=gnu11 -D_GNU_SOURCE -O2 -I. "${@:2}" tests/mpi/common.c -o "$scratch/$1" -lm \
        -pthread) > "$scratch/out" 2>&1 && readelf -d "$scratch/$1" > "$scratch/out" && said "NEEDED.*libmpi_abi.so.1"
}
fresh_board() { truncate -s 0 "$scratch/board" && truncate -s 1M "$scratch/board"; }
with_nicbarr() { # PROCESSES PROGRAM...
    fresh_board
    job "$1" -x LD_LIBRARY_PATH="$scratch/openmpi" --mca coll_nicbarr_verbose 1 --mca coll_nicbarr_tune_after 3 \
        --mca coll_nicbarr_tune_budget 2 "${@:2}" && said "^ok" && said "MPI_Barrier on .* processes on one node: "
}
with_mpich() { # PROCESSES PROGRAM...
    fresh_board
    LD_LIBRARY_PATH=$scratch/mpich timeout -k 5 "${watchdog:-300}" mpiexec.mpich -n "$1" "${@:2}" > "$scratch/out" 2>&1 &&
        said "^ok"
}

check "barrier_ledger is built" builds barrier_ledger tests/mpi/barrier_ledger.c
check "the player of random programs is built" builds player "$srcdir"/tests/programs/*.c -Itests/mpi
ledger=("$scratch/barrier_ledger" --iterations 1000 --seed "$seed")
for number in 1 2 3; do
    "$srcdir/tests/programs/run.sh" draw "$scratch/$number.program" $((seed + number)) --first 10 || exit
done
for runs in with_nicbarr with_mpich; do
    if [ $runs = with_mpich ] && { [ -z "$of_mpich" ] || ! command -v mpiexec.mpich > /dev/null; }; then
        echo "skip MPICH: not installed (mpich of version 5)"
        break
    fi
    check "barriers of programs of the MPI ABI ${runs/_/ }" $runs 3 "${ledger[@]}"
    for number in 1 2 3; do
        check "random collectives ${runs/_/ }, $number" $runs $((number + 1)) "$scratch/player" --board "$scratch/board" \
            --program "$scratch/$number.program"
    done
done
finish
