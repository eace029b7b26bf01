/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which state MPI_Barrier enters once its choice is to be installed. Called by setup.c, across.c
 * and what measures, with the same result on all members.
 */
#ifndef NICBARR_BARRIER_STATE_H
#define NICBARR_BARRIER_STATE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Have MPI_Barrier go by `module->choice` from now on. Where that is watched, barriers until the
 * next duel are counted from now on. Local. */
void nicbarr_install_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

#endif
