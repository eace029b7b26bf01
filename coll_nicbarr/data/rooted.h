/* SPDX-License-Identifier: BSD-3-Clause */
/* Rooted carriers: reductions across nodes in which only one process combines the values, to save
 * traffic for long vectors.
 *
 * If all processes get all blocks (carrier.h), the traffic grows with the square of the number of
 * nodes. With a rooted carrier, the NICs gather the blocks along a tree at node 0, the lowest rank
 * on this node combines them, and the NICs broadcast the result. Each block and the result are thus
 * sent only once, but the latency includes a host that combines the blocks between the two steps.
 * Values are combined in the same order, so results have the same bits.
 *
 * A rooted carrier has two groups: its own group, whose schedule ends at node 0, and the group of a
 * second carrier, `back`, which broadcasts the result. A process begins an epoch only after it has
 * received the result of the previous epoch. Therefore a sender is never more than one epoch ahead,
 * although node 0 does not acknowledge blocks.
 *
 * Threads: as in carrier.h. */
#ifndef NICBARR_ROOTED_H
#define NICBARR_ROOTED_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"

/* Join and test the second group of each rooted carrier among carriers[1] to carriers[count - 1];
 * `bytes` is the size of the largest vector. failed[c] becomes non-zero if this process cannot use
 * carriers[c]. Collective; returns Open MPI's error. */
int nicbarr_rooted_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        uint32_t bytes, struct nicbarr_carrier carriers[], int count,
                        double failed[], struct myr_error errors[NICBARR_NICS_MOST]);

/* Make `back` the carrier that returns the results of `carrier` from rank `combiner`. From then on
 * `carrier` owns `back`. */
void nicbarr_rooted_attach_back(struct nicbarr_carrier *carrier, struct nicbarr_carrier *back,
                                int combiner);

/* Finish an epoch whose blocks have arrived at this node: combine the blocks on the combining rank,
 * wait for the result on all other ranks, and proceed to the next epoch. Returns an MPI error. */
int nicbarr_rooted_finish(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Called when the wait for a result has failed. The carrier's own group then fails as well, on all
 * nodes. Otherwise the combining rank, which may have completed this epoch, would wait for the
 * contributions of the other nodes to the next one, which they do not send. */
void nicbarr_rooted_fail(struct nicbarr_carrier *carrier);

/* Advance the operation of a rooted carrier as far as possible, like nicbarr_carrier_progress().
 * `returning` is initially zero. */
bool nicbarr_rooted_progress(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                             struct nicbarr_returning *returning);

#endif
