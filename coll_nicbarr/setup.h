/* SPDX-License-Identifier: BSD-3-Clause */
/* Setup of a communicator on one node; see setup.c. (Across nodes: across.h.)
 *
 * Called by the collectives, at the first one that uses it. */
#ifndef NICBARR_SETUP_H
#define NICBARR_SETUP_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Set up at the first collective. False: this communicator's collectives stay Open MPI's own, and
 * its functions have been restored. No communication. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
