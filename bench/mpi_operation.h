/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective operation of MPI, with a separate communicator and buffers.
 *
 * Called by mpi_side.c, which measures it. All functions but mpi_operation_supported() are
 * collective over the communicator. MPI errors end the job (MPI_ERRORS_ARE_FATAL). Between two
 * calls no communication of the operation is outstanding. */
#ifndef BENCH_MPI_OPERATION_H
#define BENCH_MPI_OPERATION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "operations.h"

struct mpi_operation {
    /* Starts the operation. If `waits` is set, MPI_Wait completes it. */
    void (*start)(struct mpi_operation *operation);
    bool waits;
    MPI_Comm comm;
    MPI_Request
        request; /* the request of a persistent operation, or of the outstanding operation */

    enum operation kind;
    int rank, size;  /* in comm */
    MPI_Info info;   /* for duplicates made by `dup`; MPI_INFO_NULL: use MPI_Comm_dup */
    int root;        /* root of the next operation; advances after each operation, ... */
    bool root_stays; /* ... except if this is set, or if the operation is persistent */
    int count;       /* number of elements per message */
    void *send;      /* bcast: send and receive buffer; scatter: a message for each process */
    void *receive;   /* gather, allgather: a message from each process */
};

/* Returns whether this MPI library provides the operation. */
bool mpi_operation_supported(enum operation kind);

/* Opens an operation on a duplicate of `parent`. `preference` is the value of Open MPI's info key
 * ompi_comm_coll_preference for that duplicate, and for those that `dup` creates from it. NULL: no
 * info key is set. */
void mpi_operation_open(struct mpi_operation *operation, enum operation kind, MPI_Comm parent,
                        const char *preference);
void mpi_operation_close(struct mpi_operation *operation);

/* Fixes the root to this rank (modulo the number of ranks). To be called before the first
 * mpi_operation_resize(). */
void mpi_operation_keep_root(struct mpi_operation *operation, unsigned root);

/* Sets the message size, which must be a multiple of the operation's unit. It is 0 before the first
 * call. */
void mpi_operation_resize(struct mpi_operation *operation, size_t bytes);

/* Performs one operation, from start to completion. */
static inline void mpi_operation_play(struct mpi_operation *operation)
{
    operation->start(operation);
    if (operation->waits)
        MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
}

/* Performs operations with changing data, with each process as the root at least once. Returns
 * false if this process has received a wrong result. */
bool mpi_operation_check(struct mpi_operation *operation);

#endif
