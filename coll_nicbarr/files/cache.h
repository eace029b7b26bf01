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

/* Have the files been read? The first call on a node starts that in the background (node_cache.h).
 * Until then nothing is known. */
bool nicbarr_cache_ready(void);

/* Rank 0 will query the cache after enough calls: on the first one, start reading the files. */
void nicbarr_cache_soon(ompi_communicator_t *comm, uint32_t calls_before);

/* The component closes: stop reading. */
void nicbarr_cache_close(void);

/* The best known choice for `shape` and `what`, a collective and its size in words (NULL:
 * MPI_Barrier), and whether that is sure. False if nothing is known. */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice, bool *sure);

/* Add the measurements of a contest of these `choices`; it has their number. */
void nicbarr_cache_add(const struct nicbarr_shape *shape, const char *what,
                       const struct nicbarr_choice *choices, const struct nicbarr_contest *contest);

#endif
