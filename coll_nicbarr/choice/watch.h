/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watching a choice: see watch.c. Called within MPI_Barrier, by all members.
 */
#ifndef NICBARR_WATCH_H
#define NICBARR_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A duel is due: join its contestants' groups, then play this barrier. Collective over `comm`; Open
 * MPI's error. */
int nicbarr_watch_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Play a barrier of a duel. Collective over `comm`; Open MPI's error. */
int nicbarr_watch_play(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The communicator ends: release a duel's resources. Local. */
void nicbarr_watch_end(mca_coll_nicbarr_module_t *module);

/* Duels and switches of this process's communicators so far; any thread. */
struct nicbarr_watch_counters {
    unsigned long long duels, switches;
};
struct nicbarr_watch_counters nicbarr_watch_count(void);

#endif
