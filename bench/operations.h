/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations that nicbarr_bench can measure, and their names and properties.
 *
 * Used by the command line, by the report and by mpi_operation.c, which implements them. This file
 * does not depend on MPI.
 */
#ifndef BENCH_OPERATIONS_H
#define BENCH_OPERATIONS_H

#include <stdbool.h>

enum operation {
    OPERATION_BARRIER,
    OPERATION_IBARRIER,
    OPERATION_PERSISTENT,
    OPERATION_ALLREDUCE,
    OPERATION_IALLREDUCE,
    OPERATION_ALLREDUCE_INIT,
    OPERATION_REDUCE,
    OPERATION_REDUCE_INIT,
    OPERATION_BCAST,
    OPERATION_IBCAST,
    OPERATION_BCAST_INIT,
    OPERATION_ALLGATHER,
    OPERATION_IALLGATHER,
    OPERATION_ALLGATHER_INIT,
    OPERATION_GATHER,
    OPERATION_IGATHER,
    OPERATION_GATHER_INIT,
    OPERATION_SCATTER,
    OPERATION_ISCATTER,
    OPERATION_SCATTER_INIT,
    OPERATION_DUP,
    OPERATION_NONE /* not an operation; also the number of operations */
};

struct operation_traits {
    const char *name;
    unsigned unit;    /* bytes per element of a message; 0: the operation has no messages */
    bool nonblocking; /* it can overlap with computation */
    bool checked;     /* its results are checked */
};

extern const struct operation_traits operations[OPERATION_NONE];

/* Returns false, with *operation unchanged, if there is no operation of that name. */
bool operation_find(const char *name, enum operation *operation);

#endif
