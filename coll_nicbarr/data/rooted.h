/* SPDX-License-Identifier: BSD-3-Clause */
/* Rooted carriers: reductions across nodes that one process combines.
 *
 * If all processes get all blocks (carrier.h), the traffic grows with the square of the nodes. Here
 * NICs gather the blocks at node 0, up a tree. The lowest rank there combines them, and NICs
 * broadcast the result. So each node's block and the result are sent once, at the cost of one more
 * turn of a host in the latency. That pays for long vectors. The order of combining is the same, so
 * results have the same bits.
 *
 * A rooted carrier has two groups: its own, whose schedule ends at node 0, and another carrier's,
 * `back`, which broadcasts. A process begins an epoch only after it has the result of the one
 * before. So a sender is never ahead by more than one epoch, although node 0 does not acknowledge
 * blocks.
 *
 * Threads: as carrier.h. */
#ifndef NICBARR_ROOTED_H
#define NICBARR_ROOTED_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"

/* Join the second groups of the rooted ones among carriers[1] to carriers[count - 1], and try them;
 * `bytes`: the largest vector. failed[c] becomes not 0 if this process cannot use one. Collective;
 * Open MPI's error. */
int nicbarr_rooted_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        uint32_t bytes, struct nicbarr_carrier carriers[], int count,
                        double failed[], struct myr_error errors[NICBARR_NICS_MOST]);

/* Make `back` return the results of `carrier` from rank `combiner`. `carrier` owns `back` from then
 * on. */
void nicbarr_rooted_put_together(struct nicbarr_carrier *carrier, struct nicbarr_carrier *back,
                                 int combiner);

/* Finish an epoch whose blocks have arrived at this node: combine the blocks on the combining rank,
 * wait for the result on all others, and proceed to the next epoch. Returns an MPI error. */
int nicbarr_rooted_finish(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* nicbarr_carrier_go_on() for rooted carriers. `returning` is initially zero. */
bool nicbarr_rooted_go_on(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                          struct nicbarr_returning *returning);

#endif
