/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On the way to NICs that play barriers across nodes: what is known is looked up, then measured if
 * need be, then groups are joined. MPI_Barrier goes that way in many calls (barrier.c).
 * MPI_Ibarrier and MPI_Barrier_init need a group of their own, and go the rest of it at once.
 */
#ifndef NICBARR_SPLIT_H
#define NICBARR_SPLIT_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Why MPI_Barrier is Open MPI's own at first, for the report. */
extern const char nicbarr_too_few_barriers[];

/* Leave the first state: find out who can play, and what is known. Collective, within a blocking
 * call; Open MPI's error. */
int nicbarr_across_leave_first(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Enter the state in which there is a group for MPI_Ibarrier, unless this cannot be. Likewise. */
int nicbarr_across_get_split(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
