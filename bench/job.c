/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes and nodes of an MPI job; see job.h.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

void job_open(struct job *job)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);

    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank_on_node;
    MPI_Comm_rank(node, &rank_on_node);
    MPI_Comm_free(&node);
    job->nodes = rank_on_node == 0;
    MPI_Allreduce(MPI_IN_PLACE, &job->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    job->one_node = job->nodes == 1;

    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask)) {
        perror("sched_getaffinity");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    job->masks = bench_alloc((size_t)job->size, sizeof(mask));
    MPI_Allgather(&mask, sizeof(mask), MPI_BYTE, job->masks, sizeof(mask), MPI_BYTE,
                  MPI_COMM_WORLD);
    job->placement = raw_compute_placement(job->masks, (unsigned)job->size);
}

void job_close(struct job *job)
{
    free(job->masks);
}

void job_library_name(char name[MPI_MAX_LIBRARY_VERSION_STRING])
{
    int length;
    MPI_Get_library_version(name, &length);
    name[strcspn(name, ",\n")] = '\0';
}
