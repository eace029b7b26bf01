/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning cache: measurements kept across jobs in files of the user and the administrator. One
 * process of a communicator queries it, and one writes to it. Errors are printed once on a node.
 *
 * The files contain evidence, not choices (evidence.h). A query computes the choice and its
 * confidence from it. Without sufficient confidence, the job starts with that choice and
 * remeasures. */
#ifndef NICBARR_CACHE_H
#define NICBARR_CACHE_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/shape.h"

/* Have the files been read? The first call on a node starts to read them in the background
 * (node_cache.h). Until that is complete, queries find nothing. */
bool nicbarr_cache_ready(void);

/* Called on each call of a collective, of which `calls_before` came before: on the first one, start
 * to read the files, since rank 0 will query the cache after some more. */
void nicbarr_cache_soon(ompi_communicator_t *comm, uint32_t calls_before);

/* The component closes: stop reading. */
void nicbarr_cache_close(void);

/* Get the best known choice for `shape` and `what` (the name of a collective and its size; NULL:
 * MPI_Barrier), and whether its confidence is sufficient. False if nothing is known. */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice, bool *sure);

/* Add the measurements of a contest, whose candidates are `choices`. */
void nicbarr_cache_add(const struct nicbarr_shape *shape, const char *what,
                       const struct nicbarr_choice *choices, const struct nicbarr_contest *contest);

#endif
