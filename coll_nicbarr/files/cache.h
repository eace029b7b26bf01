/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning cache: what was measured, kept across jobs in files of the user's and the
 * administrator's. One process of a communicator asks it, and one writes to it. Complaints are
 * printed once on a node.
 *
 * What is kept is evidence, not a verdict (evidence.h). A choice follows from it when it is asked
 * for, and how sure that is. Where it is not sure, the job begins with it and measures anew.
 */
#ifndef NICBARR_CACHE_H
#define NICBARR_CACHE_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"
#include "coll_nicbarr/shape.h"

/* Have the files been read? The first question on a node begins that, and nobody waits for it
 * (node_cache.h). Until then nothing is known. */
bool nicbarr_cache_ready(void);

/* Rank 0 will ask when there were enough calls: where this is the first, have the files read. */
void nicbarr_cache_soon(ompi_communicator_t *comm, uint32_t calls_before);

/* The component closes: what has not been read by now is not wanted any more. */
void nicbarr_cache_close(void);

/*
 * The best that is known for `shape` and `what`, a collective and its size in words (NULL:
 * MPI_Barrier), and whether that is sure. False if nothing is known.
 */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice, bool *sure);

/* Add what a contest of these `choices` has measured, by its own number of them. */
void nicbarr_cache_add(const struct nicbarr_shape *shape, const char *what,
                       const struct nicbarr_choice *choices, const struct nicbarr_contest *contest);

#endif
