/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations that nicbarr_bench can measure, by name.
 *
 * Called by its command line, its report and mpi_operation.c, which plays them. Nothing here knows
 * MPI.
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
    OPERATION_NONE /* not one; how many there are */
};

struct operation_traits {
    const char *name;
    unsigned unit;    /* bytes of an element, of which messages consist; 0: carries no message */
    bool nonblocking; /* computation can overlap with it */
    bool checked;     /* has results that can be wrong */
};

extern const struct operation_traits operations[OPERATION_NONE];

/* False, and *operation untouched, if nothing has that name. */
bool operation_find(const char *name, enum operation *operation);

#endif
