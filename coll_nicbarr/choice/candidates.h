/* SPDX-License-Identifier: BSD-3-Clause */
/* The barriers that are worth measuring for a communicator of some shape, and the initial one.
 * These are pure functions of the shape, so all ranks compute the same list without a message. The
 * list also determines the memory that a record needs.
 *
 * Called by setup.c (room), known.c (the first choice) and tune.c (the contest). */
#ifndef NICBARR_CANDIDATES_H
#define NICBARR_CANDIDATES_H

#include "coll_nicbarr/shape.h"

enum { NICBARR_CANDIDATES = 28 };

/* List all algorithms that are worth measuring for `shape` in candidates[NICBARR_CANDIDATES]: Open
 * MPI's own, then the others in the order of simplicity, without duplicates and those that cannot
 * be played. Returns their number, at least 1. */
int nicbarr_candidates(const struct nicbarr_shape *shape, struct nicbarr_choice *candidates);

/* The same for a collective that carries data across nodes, which needs NICs that carry data.
 * `broadcasts` is true for MPI_Bcast. `combined` is the size of a node's block in bytes if blocks
 * are combined, else 0. */
int nicbarr_data_candidates(const struct nicbarr_shape *shape, bool broadcasts, uint32_t combined,
                            struct nicbarr_choice *candidates);

/* The reduction at one process, NICBARR_ROOTED, with its default parameter. */
struct nicbarr_choice nicbarr_rooted_choice(const struct nicbarr_shape *shape, uint32_t nic);

/* The initial choice, one of the candidates; across nodes that is Open MPI's own. */
struct nicbarr_choice nicbarr_default_choice(const struct nicbarr_shape *shape);

#endif
