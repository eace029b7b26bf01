#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, PETSc's linear solvers give wrong or irreproducible results with nicbarr: conjugate gradients, which
# use MPI_Allreduce for dot products, and pipelined ones, which use MPI_Iallreduce. Four processes must compute the same
# bits in every placement and with every NIC. PETSc is downloaded, not installed.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hosts_common.sh"
kernel=(--kernel) # another kind of NIC, where available
"$nethosts" --kernel --shell 2 true > "$scratch/out" 2>&1 || kernel=()

# The name of the examples contains PETSc's version.
examples=$(apt-cache pkgnames libpetsc 2> /dev/null | grep -E '^libpetsc[0-9.]+-dev-examples$')
petsc=$("$srcdir/tests/fetched" petsc libpetsc-real-dev "${examples:-libpetsc-dev-examples}") || exit 77
library=$(find "$petsc/usr/lib/petscdir" -name libpetsc_real.so -printf '%h\n')
headers=$(find "$petsc/usr/share" -name petscksp.h -printf '%h\n')
LD_LIBRARY_PATH=$(find "$petsc/usr/lib" -name '*.so*' -printf '%h\n' | sort -u | tr '\n' :)${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH
built() {
    mpicc -w -I "${library%/lib}/include" -I "$headers" "$(find "$petsc" -path '*/src/ksp/ksp/tutorials/ex2.c')" \
        -o "$scratch/solver" -L "$library" -lpetsc_real -Wl,--allow-shlib-undefined -lm > "$scratch/out" 2>&1
}
check "PETSc's example is built" built

# Writes the residuals of all iterations, with 13 digits, and the final error to a file.
solve() { # RESIDUALS METHOD NETHOSTS-ARGUMENT...
    timeout -k 5 "$patience" "$nethosts" "${@:3}" "$scratch/solver" -m 40 -n 40 -ksp_type "$2" -pc_type jacobi \
        -ksp_rtol 1e-10 -ksp_monitor > "$scratch/out" 2>&1 &&
        grep -E 'KSP Residual norm|^Norm of error' "$scratch/out" > "$1" && [ "$(wc -l < "$1")" -gt 20 ]
}
# Even with another order of rounding, the first residuals and the number of iterations must be the same.
beginning() { head -n 5 "$1" | cut -c 1-32; }
alike() { [ "$(wc -l < "$1")" = "$(wc -l < "$2")" ] && [ "$(beginning "$1")" = "$(beginning "$2")" ]; }

nics=(--mca coll_nicbarr_allreduce exchange --mca coll_nicbarr_reduce exchange --mca coll_nicbarr_verbose 1)
for method in cg pipecg; do
    check "the solver $method on one node" solve "$scratch/1" $method 1 4 "${nics[@]}"
    check "the solver $method on 2 hosts" solve "$scratch/2" $method 2 2 "${nics[@]}"
    check "nicbarr executes the reductions" said "MPI_Allreduce.* 4 processes on 2 nodes: [^o]"
    check "the bits on 2 hosts are the same as on one node" cmp "$scratch/1" "$scratch/2"
    check "the solver $method on 4 hosts ${kernel[*]}" solve "$scratch/4" $method "${kernel[@]}" 4 1 "${nics[@]}"
    check "the bits on 4 hosts are the same as on one node" cmp "$scratch/1" "$scratch/4"
    check "the solver $method with Open MPI's reductions" solve "$scratch/own" $method 4 1 --mca coll ^nicbarr
    check "Open MPI's reductions lead to similar iterations" alike "$scratch/1" "$scratch/own"
    check "the solver $method with algorithms chosen by tuning" solve "$scratch/tuned" $method 4 1
    check "algorithms chosen by tuning lead to similar iterations" alike "$scratch/1" "$scratch/tuned"
done
finish
