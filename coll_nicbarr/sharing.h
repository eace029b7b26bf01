/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a communicator's secret comes to all of its members. Called by across.c, within a collective
 * of all of them.
 */
#ifndef NICBARR_SHARING_H
#define NICBARR_SHARING_H

#include "firmware/siphash.h"
#include "coll_nicbarr/coll_nicbarr.h"

enum { NICBARR_SHARED_WORDS = 2 };

/*
 * Rank 0's `words` and secret go to all members. The secret travels sealed where all members have a
 * key, which is what all of them know alike, and tells in `sealed`; else as it is. Where somebody
 * has changed it on its way, a member ends up with another one, and says so: no packet of its
 * groups will fit. Returns Open MPI's error.
 */
int nicbarr_share(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  uint64_t words[NICBARR_SHARED_WORDS], struct mcp_secret *secret, bool *sealed);

#endif
