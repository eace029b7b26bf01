/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Ibcast, MPI_Iscatter, MPI_Bcast_init and MPI_Scatter_init on one node: requests that use a
 * ring in steps (stream.h).
 *
 * In each step the root writes as many rounds as there is space for, and the other processes read
 * the rounds that have arrived. All non-blocking streams of a communicator use the same ring and
 * are executed one after the other, in the order of the calls. Each persistent stream has a ring of
 * its own (persistent.h), which gets chunks only if the payload is too long for a few slots
 * (nicbarr_data_small()). */
#ifndef NICBARR_STREAMED_H
#define NICBARR_STREAMED_H

#include "coll_nicbarr/requests.h"

/* Returns whether the communicator's ring can transfer a payload of `bytes` bytes, the sum of all
 * blocks. If the payload is larger than a slot, the function first allocates the ring's chunks. The
 * result is the same on all members.
 *
 * Tuning does not measure these collectives, because nicbarr's implementation was faster than Open
 * MPI's in all measurements. On an idle EPYC with Open MPI 4.1.4, with 2 and 4 processes, 2 to 8
 * KiB and root 0, nicbarr executed sequences of 12 or 300 MPI_Ibcast 4 to 19 times as fast, and
 * MPI_Iscatter 4 to 18 times as fast. */
bool nicbarr_streamed_fits(mca_coll_nicbarr_module_t *module, size_t bytes);

/* Begin a non-blocking stream on the communicator's ring. */
void nicbarr_streamed_start(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct nicbarr_streamed *what, ompi_request_t **handle);

/* Create a persistent broadcast or scatter; `bytes` is the sum of all blocks. Returns false, on all
 * members, if there are no bytes or no shared memory for it, or if Open MPI's own function is
 * preferable. */
bool nicbarr_streamed_init(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective, size_t bytes,
                           const struct nicbarr_streamed *what, ompi_request_t **handle);

#endif
