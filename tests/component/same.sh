#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If this fails, results of real programs on one node differ with and without nicbarr.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/programs_common.sh"

run() { job "$processes" "$@"; }
for processes in 2 5; do
    served="MPI_COMM_WORLD, $processes processes on one node"
    compare_mpi4py --
done
processes=4 served="MPI_COMM_WORLD, 4 processes on one node"
compare_lammps
finish
