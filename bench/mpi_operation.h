/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of MPI's collective operations, on a communicator of its own and with memory of its own.
 *
 * Called by mpi_side.c, which measures it. All functions but the support question are collective
 * over the communicator. MPI errors end the job (MPI_ERRORS_ARE_FATAL). Invariant: an operation
 * that is not being played has no communication under way.
 */
#ifndef BENCH_MPI_OPERATION_H
#define BENCH_MPI_OPERATION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "operations.h"

struct mpi_operation {
    /* One more: blocking, or what MPI_Wait completes. */
    void (*start)(struct mpi_operation *operation);
    bool waits;
    MPI_Comm comm;
    MPI_Request request; /* persistent: the operation; else one that is under way */

    enum operation kind;
    int rank, size;  /* in comm */
    MPI_Info info;   /* dup: of the duplicates; MPI_INFO_NULL: as MPI_Comm_dup makes them */
    int root;        /* of the next one; it goes round, ... */
    bool root_stays; /* ... unless it stays; a persistent one's stays */
    int count;       /* elements of a message */
    void *send;      /* bcast: sent and received; scatter: a message for each process */
    void *receive;   /* gather, allgather: a message of each process */
};

/* Whether this MPI has the operation. */
bool mpi_operation_supported(enum operation kind);

/* On a duplicate of `parent`. preference: value of Open MPI's info key ompi_comm_coll_preference
 * for that duplicate (and for those that dup makes of it), or NULL for a plain one. */
void mpi_operation_open(struct mpi_operation *operation, enum operation kind, MPI_Comm parent,
                        const char *preference);
void mpi_operation_close(struct mpi_operation *operation);

/* The root is this rank of as many as there are, and stays. Before the first of: */
void mpi_operation_keep_root(struct mpi_operation *operation, unsigned root);

/* Messages of that many bytes from now on, a multiple of the operation's unit; 0 until it is called
 * first. */
void mpi_operation_resize(struct mpi_operation *operation, size_t bytes);

/* One operation, from start to end. */
static inline void mpi_operation_play(struct mpi_operation *operation)
{
    operation->start(operation);
    if (operation->waits)
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
}

/* Plays operations with changing data, each process being the root at least once. False: this
 * process has got a wrong result. */
bool mpi_operation_check(struct mpi_operation *operation);

#endif
