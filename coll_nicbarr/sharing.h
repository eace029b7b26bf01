/* SPDX-License-Identifier: BSD-3-Clause */
/* Distributes a communicator's secret to all of its members. Called by across.c, within a
 * collective of all members. */
#ifndef NICBARR_SHARING_H
#define NICBARR_SHARING_H

#include "coll_nicbarr/coll_nicbarr.h"

enum { NICBARR_SHARED_WORDS = 2 };

/* Broadcast rank 0's `words` and module->secret to all members. If all members have a public key,
 * the secret is sent sealed and module->sealed becomes true; otherwise it is sent in the clear. All
 * members make the same decision. If a member detects that the secret was changed in transit, it
 * reports this and uses a random secret instead, so that the packets of its groups will not be
 * accepted. Returns Open MPI's error. */
int nicbarr_share_secret(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         uint64_t words[NICBARR_SHARED_WORDS]);

#endif
