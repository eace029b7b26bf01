/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up a communicator on one node; see setup.c. across.h does so across nodes.
 *
 * Called by the first collective on a communicator. */
#ifndef NICBARR_SETUP_H
#define NICBARR_SETUP_H

#include "coll_nicbarr/coll_nicbarr.h"

/* On one node, set the communicator up at its first collective, without communication. Returns
 * false if it cannot be served; then Open MPI's own functions have been restored.
 *
 * Across nodes, this only returns whether the group of MPI_Ibarrier has been set up, because the
 * setup takes messages. */
bool nicbarr_set_up(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
