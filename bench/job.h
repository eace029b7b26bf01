/*
 * What mpirun gave: ranks, nodes, processors.
 *
 * Called by nicbarr_bench, for the head of its report and for the raw limit. Collective over
 * MPI_COMM_WORLD; afterwards every rank holds the same, but for its rank.
 */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <sched.h>
#include <stdbool.h>

#include "raw.h"

struct job {
    int rank, size;
    bool one_node;
    cpu_set_t *masks;               /* affinity of each rank */
    struct raw_placement placement; /* of one node's ranks; meaningless if there are more nodes */
};

void job_open(struct job *job);
void job_close(struct job *job);

#endif
