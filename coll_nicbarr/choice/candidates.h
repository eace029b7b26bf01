/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the candidates of a contest, that is, the algorithms worth measuring for a
 * communicator of a given shape, and the initial choice among them. All results depend on the shape
 * only, so all ranks compute the same list without exchanging messages. On one node, the list also
 * determines how much shared memory the communicator needs.
 *
 * Called by setup.c (memory), known.c (the first choice), tune.c (the contest), watch.c
 * (challengers), and data_across.c (collectives that carry data). */
#ifndef NICBARR_CANDIDATES_H
#define NICBARR_CANDIDATES_H

#include "coll_nicbarr/shape.h"

enum { NICBARR_CANDIDATES = 28 };

/* Fill candidates[NICBARR_CANDIDATES] with the algorithms that are worth measuring for `shape`:
 * Open MPI's own function first, then the others, starting with the simplest. The list contains no
 * duplicates, and only algorithms that can be executed in this shape. Returns the number of
 * candidates, at least 1. */
int nicbarr_candidates(const struct nicbarr_shape *shape, struct nicbarr_choice *candidates);

/* List the candidates of a collective that carries data across nodes, like nicbarr_candidates();
 * they need NICs that carry data. `broadcasts` is true for MPI_Bcast. `combined` is the size of a
 * node's block in bytes if blocks are combined, else 0. */
int nicbarr_data_candidates(const struct nicbarr_shape *shape, bool broadcasts, uint32_t combined,
                            struct nicbarr_choice *candidates);

/* Returns the reduction at one process, NICBARR_ROOTED, with its default parameter. */
struct nicbarr_choice nicbarr_rooted_choice(const struct nicbarr_shape *shape, uint32_t nic);

/* Returns the initial choice, one of the candidates; across nodes it is Open MPI's own function. */
struct nicbarr_choice nicbarr_default_choice(const struct nicbarr_shape *shape);

#endif
