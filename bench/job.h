/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What mpirun gave: ranks, nodes, processors.
 *
 * Called by nicbarr_bench and nicbarr_experiments, for the heads of their reports and for the raw
 * limit. Collective over MPI_COMM_WORLD; afterwards every rank holds the same, but for its rank.
 */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>

#include "raw.h"

struct job {
    int rank, size, nodes;
    bool one_node;
    cpu_set_t *masks;               /* affinity of each rank */
    struct raw_placement placement; /* of one node's ranks; meaningless if there are more nodes */
};

void job_open(struct job *job);
void job_close(struct job *job);

/* "Open MPI v4.1.4": Open MPI goes on for a line, MPICH for many. */
void job_library_name(char name[MPI_MAX_LIBRARY_VERSION_STRING]);

#endif
