/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions with user-defined operations, on elements of any type.
 *
 * A user-defined function may take long, so the processes share the work of combining the vectors,
 * which they do not do with predefined operations. They ascend the same tree over ranks
 * (reduction.h) level by level. At each level, each process has the value of the block of ranks to
 * which it belongs. It sends this value, packed (packing.h), in rounds of the exchange, reads the
 * value of the neighbouring block from one member of that block, and combines both values, with the
 * lower ranks on the left. Each process therefore calls the function once per level, with the whole
 * vector. In MPI_Reduce only one member of each block continues: the root if it is in this block,
 * otherwise the lowest rank.
 *
 * Values are combined in private memory of the process, so the user's function does not access the
 * memory of other processes. It may also write into the gaps between values, because only the
 * values themselves are copied to the program's buffer.
 *
 * The user's function may acquire locks of the program. To avoid deadlocks, nicbarr holds none of
 * its own locks while it calls the function, and never calls it within the MPI call that starts a
 * non-blocking reduction (allreduce.c). */
#ifndef NICBARR_USER_OP_H
#define NICBARR_USER_OP_H

#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/reduction.h"

struct nicbarr_user_op {
    struct nicbarr_consumer consumer;
    struct nicbarr_reduction rounds; /* rounds of the current level */
    uint32_t rounds_each;            /* number of rounds of each level */
    ompi_op_t *op;
    ompi_datatype_t *type;
    void *to;
    nicbarr_count_t count;
    int root;
    size_t bytes; /* size of the packed vector */
    uint32_t processes, rank;
    uint32_t level;                   /* blocks have 1 << level ranks */
    struct nicbarr_operands operands; /* private memory, which contains: */
    uint8_t *value;                   /* value of this block: address of the first element */
    uint8_t *other;                   /* value of the neighbouring block, likewise */
    uint8_t *packed;
    opal_mutex_t *held; /* lock to be released while the program's function runs; NULL: none */
};

/* Allocate the memory of a reduction on `comm`. */
void nicbarr_user_op_open(struct nicbarr_user_op *user, ompi_communicator_t *comm, void *to,
                          nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op, int root,
                          opal_mutex_t *held);
void nicbarr_user_op_close(struct nicbarr_user_op *user);

/* Pack this process's vector, before each reduction. */
void nicbarr_user_op_load(struct nicbarr_user_op *user, const void *from);

/* Reserve the rounds of all levels. */
void nicbarr_user_op_begin(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

/* Advance as far as possible. Returns whether the reduction is complete. */
bool nicbarr_user_op_progress(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

/* Complete the reduction, blocking. No other reduction may be outstanding. */
void nicbarr_user_op_finish(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

#endif
