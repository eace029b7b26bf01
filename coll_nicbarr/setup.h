/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting up a communicator on one node; see setup.c. (On several nodes: across.h.)
 *
 * Called by the collectives, at the first one that uses it.
 */
#ifndef NICBARR_SETUP_H
#define NICBARR_SETUP_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Set up at the first collective. False: this communicator's collectives stay Open MPI's own, and
 * its function pointers have been put back. No communication. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
