/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions across nodes that one process combines.
 *
 * Where all processes get all blocks (carrier.h), bytes grow with the square of the nodes. Here
 * NICs gather the blocks at node 0, up a tree. The lowest rank there combines them, and NICs
 * broadcast the result. So each node's block and the result travel once, and every process waits
 * for one more turn of a host. That pays for long vectors. The order of combining is the same, so
 * results have the same bits.
 *
 * A rooted carrier has two groups: its own, whose schedule ends at node 0, and another carrier's,
 * `back`, which broadcasts. Nobody begins an epoch before it has the result of the one before. So
 * whoever sends up is never ahead by more than one epoch, although node 0 tells nobody that it has
 * got a block.
 *
 * Threads: as carrier.h.
 */
#ifndef NICBARR_ROOTED_H
#define NICBARR_ROOTED_H

#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/data/carrier.h"

/*
 * Join the other groups of those among carriers[1] to carriers[count - 1] that are rooted, and try
 * them; `bytes`: of a vector, at the most.
 * failed[c] becomes not 0 where this process cannot use one. Collective; Open MPI's error.
 */
int nicbarr_rooted_join(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        uint32_t bytes, struct nicbarr_carrier carriers[], int count,
                        double failed[], struct myr_error errors[NICBARR_NICS_MOST]);

/* Have results of `carrier` come back by `back`, of which it is the owner then, from rank
 * `combiner`. */
void nicbarr_rooted_put_together(struct nicbarr_carrier *carrier, struct nicbarr_carrier *back,
                                 int combiner);

/* The epoch under way is complete at this node: combine it or wait for its result, and go behind
 * it. Returns an error of MPI's. */
int nicbarr_rooted_finish(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* What nicbarr_carrier_go_on() is for the others. `returning` is zero at first. */
bool nicbarr_rooted_go_on(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                          struct nicbarr_returning *returning);

#endif
