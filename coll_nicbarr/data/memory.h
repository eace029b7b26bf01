/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates records in the segment for collectives that carry data on one node.
 *
 * Called by data.c and persistent.c, and by the files of the collectives for their persistent
 * variants. */
#ifndef NICBARR_MEMORY_H
#define NICBARR_MEMORY_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Allocate the ring or the exchange that a collective needs. If there is no memory for it, all
 * members restore Open MPI's own functions and return false, and rank 0 prints a message for the
 * user. */
bool nicbarr_data_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective);
/* Allocate the exchange with wide or large slots that blocking calls use. Returns false, on all
 * members, if memory was short at the first call for this kind of slots; the allocation is not
 * attempted again. */
bool nicbarr_data_get_slots(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum myr_slots slots);
/* Allocate the memory of a collective's non-blocking calls. Returns false if memory is exhausted;
 * these calls then use Open MPI's own functions from now on. Called with the requests' lock
 * held. */
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
