/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choice of MPI_Barrier from time to time, by duels (duel.h), which are A/B
 * comparisons; see watch.c. All members call these functions within MPI_Barrier. */
#ifndef NICBARR_WATCH_H
#define NICBARR_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Start a duel: join the groups of its duelists, then execute this barrier. Collective over `comm`;
 * returns Open MPI's error. */
int nicbarr_watch_duel(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Execute a barrier of a duel. Collective over `comm`; returns Open MPI's error. */
int nicbarr_watch_play(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Release a duel's resources, because the communicator is freed or declined. Local. */
void nicbarr_watch_end(mca_coll_nicbarr_module_t *module);

/* Returns the number of duels so far, in all communicators of this process, and how many of them
 * changed the choice. Any thread. */
struct nicbarr_watch_counters {
    unsigned long long duels, switches;
};
struct nicbarr_watch_counters nicbarr_watch_count(void);

#endif
