/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent collectives that carry data: MPI_Allreduce_init, MPI_Reduce_init, MPI_Bcast_init,
 * MPI_Allgather_init, MPI_Gather_init, MPI_Scatter_init.
 *
 * MPI matches persistent operations by the order of their creation. They may be started in any
 * order, which may differ between processes (MPI 4.0, 6.13). Therefore they cannot share rounds
 * with each other or with the communicator's other collectives. On one node each operation has its
 * own exchange or ring (libmyr/), and across nodes its own carrier with a group of NICs
 * (carrier.h). All members create these resources in the same call, which is allowed to wait for
 * the other members (also 6.13), and MPI_Request_free frees them.
 *
 * A started persistent operation is executed like a non-blocking call, by the operations
 * (requests.h) of allreduce.c, gather.c, streamed.c and their counterparts across nodes. Each start
 * uses the arguments with which the operation was created. */
#ifndef NICBARR_PERSISTENT_H
#define NICBARR_PERSISTENT_H

#include "coll_nicbarr/requests.h"

/* The state of a request that persists between starts. */
struct nicbarr_persistent {
    struct nicbarr_reducer reducer;   /* on one node: for an exchange */
    struct nicbarr_streamer streamer; /* on one node: for a ring */
    struct nicbarr_carrier carrier;   /* across nodes: the carrier */
    const void *from;                 /* the arguments of a reduction: */
    void *to;
    nicbarr_count_t count;
    int root;
    ompi_datatype_t *type, *to_type; /* types of any collective; NULL: none */
    ompi_op_t *op;                   /* operation of a reduction; NULL: none */
    ompi_request_free_fn_t free;     /* the previous free function, for the request itself */
};

/* Returns the reducer whose rounds a request on an exchange uses. */
static inline struct nicbarr_reducer *nicbarr_reducer_of(const nicbarr_request_t *request)
{
    return NULL != request->persistent ? &request->persistent->reducer
                                       : &request->module->nonblocking.reducer;
}

/* Create an inactive request with the state `what`. The request then owns the exchange, ring or
 * carrier in `what`; when the program frees the request, these are freed first, and then the
 * operation's release() is called. The caller fills in the request's member `of`.
 *
 * The request retains the MPI types and the MPI operation, so that the program may free them
 * earlier. (Open MPI's own persistent requests do not retain them.) */
nicbarr_request_t *nicbarr_persistent_new(const struct nicbarr_operation *operation,
                                          mca_coll_nicbarr_module_t *module,
                                          ompi_communicator_t *comm,
                                          const struct nicbarr_persistent *what);

/* Create a carrier for one persistent collective of `bytes` bytes (0 if no carrier can serve it).
 * The new carrier uses the same algorithm and NIC as the carrier of its size class; if the class is
 * undecided, it is decided first. If Open MPI's own function is faster, or if a member lacks memory
 * for the carrier, the new carrier has no group on any member. Collective; returns Open MPI's
 * error. */
int nicbarr_data_own_carrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             enum nicbarr_collective collective, size_t bytes,
                             struct nicbarr_carrier *own);

#endif
