/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes and nodes of an MPI job, and the cores that they may use.
 *
 * nicbarr_bench and nicbarr_experiments print them in the headers of their reports and use them for
 * the raw limit. The functions are collective over MPI_COMM_WORLD. All ranks have the same values,
 * except for `rank`.
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
    cpu_set_t *masks; /* affinity of each rank */
    /* of the ranks, if they are on one node; otherwise meaningless */
    struct raw_placement placement;
};

void job_open(struct job *job);
void job_close(struct job *job);

/* Returns the beginning of the MPI library's version, such as "Open MPI v4.1.4". The rest is long,
 * and has several lines in MPICH. */
void job_library_name(char name[MPI_MAX_LIBRARY_VERSION_STRING]);

#endif
