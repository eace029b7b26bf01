/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds mismatched collective calls, for coll_nicbarr_check. Without this check, a program with
 * such calls hangs or gets wrong data.
 *
 * Before each blocking collective the members of the communicator compare their calls. If the calls
 * differ in the function, its root, operation, type or number of bytes, all members return an
 * error, and the first one prints a message with the calls and the code that made them.
 *
 * The module of a checked communicator implements no collective itself, but calls the functions of
 * the components below it. Non-blocking and persistent collectives are not compared, because their
 * calls must not wait for other members. Calls that Open MPI makes within a collective are not
 * compared again. */
#ifndef NICBARR_CHECKING_H
#define NICBARR_CHECKING_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The blocking collectives. */
#define NICBARR_CHECKED(each)                                                                      \
    each(allgather) each(allgatherv) each(allreduce) each(alltoall) each(alltoallv)                \
        each(alltoallw) each(barrier) each(bcast) each(exscan) each(gather) each(gatherv)          \
            each(reduce) each(reduce_scatter) each(reduce_scatter_block) each(scan) each(scatter)  \
                each(scatterv)

typedef struct nicbarr_checker {
    mca_coll_base_module_t super;
    NICBARR_CHECKED(NICBARR_FALLBACK)
    bool examined; /* it is known whether all members compare their calls: */
    bool all_compare;
    int depth; /* nesting of collective calls */
} nicbarr_checker_t;

OBJ_CLASS_DECLARATION(nicbarr_checker_t);

/* Returns the module for an intracommunicator, or NULL if its calls are not checked. */
mca_coll_base_module_t *nicbarr_checker_new(ompi_communicator_t *comm);

#endif
