/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up the group of NICs that MPI_Ibarrier and MPI_Barrier_init need across nodes.
 *
 * Before NICs can execute the barriers of a communicator, the members look up the best known
 * choice, measure if necessary, and join groups. MPI_Barrier spreads these steps over many calls
 * (barrier.c). MPI_Ibarrier and MPI_Barrier_init need a separate group, so the functions here
 * perform all remaining steps in a single call. */
#ifndef NICBARR_SPLIT_H
#define NICBARR_SPLIT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The reason that the report states while Open MPI's own function executes the first barriers. */
extern const char nicbarr_too_few_barriers[];

/* Leave the state NICBARR_BARRIER_ACROSS_FIRST: determine which NICs can execute barriers, and look
 * up the best known choice. Collective, within a blocking call; returns Open MPI's error. */
int nicbarr_across_leave_first(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Perform all remaining steps of the setup, after which there is a group for MPI_Ibarrier if
 * possible. Collective, within a blocking call; returns Open MPI's error. */
int nicbarr_across_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
