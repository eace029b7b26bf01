/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of collectives that carry data, on one node: records in the segment.
 *
 * Called by data.c, persistent.c and the files of the collectives, for persistent ones. */
#ifndef NICBARR_MEMORY_H
#define NICBARR_MEMORY_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Get the memory that a collective needs: the ring, or the exchange. False, with a line for the
 * user, if there is none: Open MPI's own functions are restored, on all members. */
bool nicbarr_data_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective);
/* The same for its non-blocking calls; if there is no memory, they use Open MPI's own functions
 * from now on. Called with the requests' lock held. */
bool nicbarr_data_set_up_nonblocking(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     enum nicbarr_collective collective);
void nicbarr_data_leave(mca_coll_nicbarr_module_t *module);

/* Get an exchange, or a ring, for one persistent collective. False, on all members, if memory is
 * short. */
bool nicbarr_data_own_exchange(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                               struct nicbarr_reducer *reducer);
bool nicbarr_data_own_ring(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct nicbarr_streamer *streamer);
/* Leave it, if it was set up. */
void nicbarr_reducer_leave(struct nicbarr_reducer *reducer);
void nicbarr_streamer_leave(struct nicbarr_streamer *streamer);

#endif
