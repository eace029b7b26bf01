/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the candidates of a contest, which are the algorithms worth measuring for a
 * communicator of some shape, and the initial choice among them. All functions are pure functions
 * of the shape, so all ranks compute the same list without a message. The list also determines the
 * memory that a record needs.
 *
 * Called by setup.c (memory), known.c (the first choice) and tune.c (the contest). */
#ifndef NICBARR_CANDIDATES_H
#define NICBARR_CANDIDATES_H

#include "coll_nicbarr/shape.h"

enum { NICBARR_CANDIDATES = 28 };

/* List all algorithms that are worth measuring for `shape` in candidates[NICBARR_CANDIDATES]: Open
 * MPI's own function, then the others in the order of simplicity. The list has no duplicates, and
 * no algorithms that cannot be executed in this shape. Returns their number, at least 1. */
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
