/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_nicbarr_check: before each blocking collective the members of the communicator compare their
 * calls. If these differ (in the function, its root, operation, type or bytes), all members return
 * an error, and the first prints one line with the calls and the code that made them. Without this,
 * such a program hangs or gets wrong data.
 *
 * The module of a communicator that is checked plays nothing itself: the collectives are those of
 * the components below. Non-blocking and persistent collectives are not compared, as their calls
 * must not wait for other members. What Open MPI calls within a collective is not compared
 * again. */
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
    bool begun, alike; /* members were examined; all of them compare calls */
    int depth;         /* nesting of collective calls */
} nicbarr_checker_t;

OBJ_CLASS_DECLARATION(nicbarr_checker_t);

/* The module for an intracommunicator; NULL: it is not checked. */
mca_coll_base_module_t *nicbarr_checker_new(ompi_communicator_t *comm);

#endif
