/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reduction by an operation that the program has defined, on elements of any type.
 *
 * Such a function may take long. So processes share the work, unlike with MPI's own operations: the
 * same tree over ranks (reduction.h) is climbed level by level. At a level each process knows the
 * value of its block of ranks, packed (packing.h) for the others; it reads that of the neighbouring
 * block from one member, and combines the two, lower ranks on the left. So the function is called
 * once at each level, with the whole vector. A level takes rounds of the exchange. Of MPI_Reduce
 * one member of each block goes on: the root, or the lowest rank.
 *
 * Values are combined in memory of the reduction's own. So the function sees nothing that other
 * processes see, and may write into gaps: only the values go from there to the program's result.
 *
 * The function may take locks of the program. So no lock of ours is held then, and the call that
 * starts a non-blocking reduction does not run it (allreduce.c).
 */
#ifndef NICBARR_USER_OP_H
#define NICBARR_USER_OP_H

#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/reduction.h"

struct nicbarr_user_op {
    struct nicbarr_taker taker;
    struct nicbarr_reduction rounds; /* of this level: */
    uint32_t rounds_each;            /* so many of each */
    ompi_op_t *op;
    ompi_datatype_t *type;
    void *to;
    nicbarr_count_t count;
    int root;
    size_t bytes; /* packed */
    uint32_t processes, rank;
    uint32_t level;                   /* blocks have 1 << level ranks */
    struct nicbarr_operands operands; /* memory of its own, for: */
    uint8_t *value;                   /* of this block: the first element's address */
    uint8_t *other;                   /* where the neighbouring block's goes */
    uint8_t *packed;
    opal_mutex_t *held; /* to be let go while the program's function runs; NULL: none */
};

/* Get memory for one. Open MPI's error if there is none; to be closed in any case. */
int nicbarr_user_op_open(struct nicbarr_user_op *user, const struct myr_exchange *x, void *to,
                         nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op, int root,
                         opal_mutex_t *held);
void nicbarr_user_op_close(struct nicbarr_user_op *user);

/* Pack this process's vector: before each reduction. Open MPI's error. */
int nicbarr_user_op_load(struct nicbarr_user_op *user, const void *from);

/* Reserve the rounds of all levels. */
void nicbarr_user_op_begin(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

/* Go on as far as it can; true: complete. */
bool nicbarr_user_op_go_on(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

/* The same to the end. No other reduction may be outstanding. */
void nicbarr_user_op_finish(struct nicbarr_reducer *reducer, struct nicbarr_user_op *user);

#endif
