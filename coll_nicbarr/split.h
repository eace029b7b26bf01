/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps until NICs play a communicator's barriers across nodes: look up what is known, measure
 * if necessary, then join groups. MPI_Barrier performs them over many calls (barrier.c).
 * MPI_Ibarrier and MPI_Barrier_init need a group of their own, and perform the remaining steps at
 * once. */
#ifndef NICBARR_SPLIT_H
#define NICBARR_SPLIT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Why MPI_Barrier is Open MPI's own at first, for the report. */
extern const char nicbarr_too_few_barriers[];

/* Leave the first state: determine the NICs that can play, and what is known. Collective, within a
 * blocking call; Open MPI's error. */
int nicbarr_across_leave_first(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Enter the state in which there is a group for MPI_Ibarrier, if possible. Collective, within a
 * blocking call; Open MPI's error. */
int nicbarr_across_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
