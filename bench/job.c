/*
 * What mpirun gave: see job.h.
 */
#include "job.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "alloc.h"

void job_open(struct job *job)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->size);

    MPI_Comm node;
    int node_size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_size);
    MPI_Comm_free(&node);
    job->one_node = node_size == job->size;

    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask)) {
        perror("nicbarr_bench: sched_getaffinity");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    job->masks = bench_alloc((size_t)job->size, sizeof(mask));
    MPI_Allgather(&mask, sizeof(mask), MPI_BYTE, job->masks, sizeof(mask), MPI_BYTE,
                  MPI_COMM_WORLD);
    job->placement = raw_place(job->masks, (unsigned)job->size);
}

void job_close(struct job *job)
{
    free(job->masks);
}
