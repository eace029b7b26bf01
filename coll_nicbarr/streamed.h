/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Ibcast, MPI_Iscatter, MPI_Bcast_init and MPI_Scatter_init on one node: requests that go by a
 * ring, a step at a time (stream.h), by lines alone.
 *
 * The root writes what there is room for, the others take what has come. What a communicator's ring
 * has under way takes turns, and what blocks waits for it: so the ring's rounds are in the order of
 * the calls. A persistent one has a ring of its own (persistent.h).
 */
#ifndef NICBARR_STREAMED_H
#define NICBARR_STREAMED_H

#include "coll_nicbarr/requests.h"

/* Begin one on the communicator's ring. Open MPI's error. */
int nicbarr_streamed_start(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct nicbarr_streamed *what, ompi_request_t **handle);

/* Make a persistent one. NULL in *handle: there is no room for it, or it is not worth it, on all
 * members. Open MPI's error. */
int nicbarr_streamed_init(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          enum nicbarr_collective collective, const struct nicbarr_streamed *what,
                          ompi_request_t **handle);

#endif
