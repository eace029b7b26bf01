/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up a communicator on one node; see setup.c. (On several nodes: across.h.)
 *
 * Called by the collectives, at the first one that uses it.
 */
#ifndef NICBARR_SETUP_H
#define NICBARR_SETUP_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Find out whether the members of a communicator on one node can be served, and its shape. NULL:
 * yes; else why not. All members come to the same answer. */
const char *nicbarr_agree(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Set up at the first collective. False: this communicator's collectives stay Open MPI's own, and
 * its function pointers have been put back. No communication. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The name of a record of the communicator; 0 is the number of its barriers' own. */
struct myr_key nicbarr_record_key(const mca_coll_nicbarr_module_t *module,
                                  ompi_communicator_t *comm, uint64_t sequence);

#endif
