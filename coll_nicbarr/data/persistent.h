/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives that carry data: MPI_Allreduce_init, MPI_Reduce_init, MPI_Bcast_init,
 * MPI_Allgather_init, MPI_Gather_init, MPI_Scatter_init.
 *
 * MPI matches persistent operations by the order in which they are made. They may be started in any
 * order, another one on each process (MPI 4.0, 6.13). So they cannot take turns with the
 * communicator's other collectives, nor with each other. Each has something of its own: an exchange
 * or a ring (libmyr/), or across nodes a carrier, which is a group of NICs (carrier.h). All members
 * make it in the same call, which may wait for them (6.13, too), and give it back by
 * MPI_Request_free.
 *
 * A start is what a non-blocking call is: allreduce.c, gather.c, streamed.c and their neighbours
 * for several nodes have the operations (requests.h). Each start reads the arguments once more.
 */
#ifndef NICBARR_PERSISTENT_H
#define NICBARR_PERSISTENT_H

#include "coll_nicbarr/requests.h"

/* What a request keeps from one start to the next. */
struct nicbarr_persistent {
    struct nicbarr_reducer reducer;   /* on one node one of these */
    struct nicbarr_streamer streamer; /* ... */
    struct nicbarr_carrier carrier;   /* across nodes */
    const void *from;                 /* arguments of a reduction: */
    void *to;
    nicbarr_count_t count;
    int root;
    ompi_datatype_t *type, *to_type; /* of any; NULL: has none */
    ompi_op_t *op;                   /* the same */
    ompi_request_free_fn_t free;     /* of requests that keep nothing */
};

/* Whose rounds a request takes, of those that go by an exchange. */
static inline struct nicbarr_reducer *nicbarr_reducer_of(const nicbarr_request_t *request)
{
    return NULL != request->persistent ? &request->persistent->reducer
                                       : &request->module->nonblocking.reducer;
}

/* A request that is `what`, and not active; NULL when out of memory. `of` is the caller's to fill
 * in. When it is freed, so is all of `what`, and then what the operation drops. The program may
 * free the type and the operation: MPI keeps them as long as it needs them. (Open MPI's own
 * requests do not.) */
nicbarr_request_t *nicbarr_persistent_new(const struct nicbarr_operation *operation,
                                          mca_coll_nicbarr_module_t *module,
                                          ompi_communicator_t *comm,
                                          const struct nicbarr_persistent *what);

/* One more of the kind that a class goes by, for a persistent collective of so many bytes (0: none
 * that could be carried) alone. The class is decided now, unless that was done. Not joined, on all
 * members: Open MPI's own is faster, or somebody has no room for it. Collective; Open MPI's error.
 */
int nicbarr_data_own_carrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, size_t bytes,
                             struct nicbarr_carrier *own);

#endif
