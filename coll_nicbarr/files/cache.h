/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning cache keeps measurements across jobs. It consists of the files that the parameter
 * coll_nicbarr_cache lists: by default only the user's own file, but an administrator may provide
 * others. Only one process of a communicator reads from the cache and writes to it. Errors are
 * printed once per node.
 *
 * The files contain measurements, not choices. A lookup computes the choice and its confidence from
 * the measurements (evidence.h). If the confidence is insufficient, the job starts with that choice
 * and remeasures. */
#ifndef NICBARR_CACHE_H
#define NICBARR_CACHE_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/shape.h"

/* Returns whether the files have been read. The first call on a node starts to read them in the
 * background (node_cache.h). Until that is complete, lookups find nothing. */
bool nicbarr_cache_ready(void);

/* Each collective calls this function with the number of its previous calls, `calls_before`. The
 * first call starts to read the files, so that they are in memory when rank 0 looks up a choice
 * after some more calls; all other calls have no effect. */
void nicbarr_cache_prefetch(ompi_communicator_t *comm, uint32_t calls_before);

/* Called when the component closes: stop reading, and wait, with a timeout, until all added
 * measurements are written. */
void nicbarr_cache_close(void);

/* Look up the best known choice for `shape` and `what` (the name of a collective and its size;
 * NULL: MPI_Barrier), and whether its confidence is sufficient. Returns false if there are no
 * measurements. */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice, bool *sure);

/* Add the measurements of a contest, whose candidates are `choices`. */
void nicbarr_cache_add(const struct nicbarr_shape *shape, const char *what,
                       const struct nicbarr_choice *choices, const struct nicbarr_contest *contest);

#endif
