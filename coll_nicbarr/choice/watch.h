/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choice of MPI_Barrier from time to time, by A/B comparisons
 * (comparison.h); see watch.c. All members call these functions within MPI_Barrier. */
#ifndef NICBARR_WATCH_H
#define NICBARR_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Start a comparison: join the groups of its variants, then execute this barrier. Collective over
 * `comm`; returns Open MPI's error. */
int nicbarr_watch_compare(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Execute a barrier of a comparison. Collective over `comm`; returns Open MPI's error. */
int nicbarr_watch_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Release a comparison's resources, because the communicator is freed or declined. Local. */
void nicbarr_watch_end(mca_coll_nicbarr_module_t *module);

/* Returns the number of comparisons so far, in all communicators of this process, and how many of
 * them changed the choice. Any thread may call this. */
struct nicbarr_watch_counters {
    unsigned long long comparisons, switches;
};
struct nicbarr_watch_counters nicbarr_watch_count(void);

#endif
