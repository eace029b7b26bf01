/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates the memory of collectives that carry data, on one node: records in the segment.
 *
 * Called by data.c, persistent.c and the files of the collectives, for persistent ones. */
#ifndef NICBARR_MEMORY_H
#define NICBARR_MEMORY_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Allocate the memory that a collective needs, a ring or an exchange. If there is none, restores
 * Open MPI's own functions, on all members, and returns false, with a message for the user. */
bool nicbarr_data_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective);
/* Allocate a wide exchange for the blocking calls, at the first call of this function. Returns
 * false, on all members, if memory is short. */
bool nicbarr_data_widen(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);
/* Allocate the memory of a collective's non-blocking calls. Returns false if there is none; then
 * these calls use Open MPI's own functions from now on. Called with the requests' lock held. */
bool nicbarr_data_set_up_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective);
void nicbarr_data_leave(mca_coll_nicbarr_module_t *module);

/* Allocate an exchange, or a ring, for one persistent collective. Returns false, on all members, if
 * memory is short. */
bool nicbarr_data_own_exchange(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               struct nicbarr_reducer *reducer);
bool nicbarr_data_own_ring(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct nicbarr_streamer *streamer);
/* Leave the exchange or the ring, if it was set up. */
void nicbarr_reducer_leave(struct nicbarr_reducer *reducer);
void nicbarr_streamer_leave(struct nicbarr_streamer *streamer);

#endif
