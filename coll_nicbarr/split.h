/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets up the group of NICs that MPI_Ibarrier and MPI_Barrier_init need across nodes.
 *
 * The steps until NICs execute a communicator's barriers are: look up the best known choice,
 * measure if necessary, then join groups. MPI_Barrier spreads them over many calls (barrier.c).
 * MPI_Ibarrier and MPI_Barrier_init need a group of their own, so the functions here perform the
 * remaining steps at once. */
#ifndef NICBARR_SPLIT_H
#define NICBARR_SPLIT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The reason, in the report, why MPI_Barrier is Open MPI's own function at first. */
extern const char nicbarr_too_few_barriers[];

/* Leave the state NICBARR_BARRIER_ACROSS_FIRST: determine which NICs can execute barriers, and look
 * up the best known choice. Collective, within a blocking call; returns Open MPI's error. */
int nicbarr_across_leave_first(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Enter the state in which there is a group for MPI_Ibarrier, if possible. Collective, within a
 * blocking call; returns Open MPI's error. */
int nicbarr_across_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
