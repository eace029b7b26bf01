/* SPDX-License-Identifier: BSD-3-Clause */
/* Distribution of a communicator's secret to all of its members. Called by across.c, within a
 * collective of all of them. */
#ifndef NICBARR_SHARING_H
#define NICBARR_SHARING_H

#include "firmware/siphash.h"
#include "coll_nicbarr/coll_nicbarr.h"

enum { NICBARR_SHARED_WORDS = 2 };

/* Broadcast rank 0's `words` and secret to all members. The secret is sent sealed (`sealed`) if all
 * members have a key, which all of them know alike; else in the clear. If it was changed in
 * transit, a member ends up with another one, and reports so: no packet of its groups will be
 * accepted. Returns Open MPI's error. */
int nicbarr_share(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  uint64_t words[NICBARR_SHARED_WORDS], struct mcp_secret *secret, bool *sealed);

#endif
