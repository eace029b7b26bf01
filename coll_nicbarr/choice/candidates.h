/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which barriers are worth measuring for a communicator of some shape, and which one it begins
 * with. These are pure functions of the shape, so all ranks come to the same list without a
 * message. The list also tells how much memory a record needs.
 *
 * Called by setup.c (room), known.c (the first choice) and tune.c (the contest).
 */
#ifndef NICBARR_CANDIDATES_H
#define NICBARR_CANDIDATES_H

#include "coll_nicbarr/shape.h"

enum { NICBARR_CANDIDATES = 28 };

/* Write all algorithms worth trying for `shape` to candidates[NICBARR_CANDIDATES]: simplest first,
 * Open MPI's own before all, none twice, none that nobody can play. Returns how many, at least 1.
 */
int nicbarr_candidates(const struct nicbarr_shape *shape, struct nicbarr_choice *candidates);

/* The same for a collective that carries data, on several nodes: on those NICs that carry data.
 * `broadcasts`: it is MPI_Bcast. `combined`: bytes of a node's block if blocks are combined, else
 * 0. */
int nicbarr_data_candidates(const struct nicbarr_shape *shape, bool broadcasts, uint32_t combined,
                            struct nicbarr_choice *candidates);

/* One process combines, and nothing else; the parameter as above. */
struct nicbarr_choice nicbarr_rooted_choice(const struct nicbarr_shape *shape, uint32_t nic);

/* What a communicator starts with; across nodes that is Open MPI's own. One of the candidates. */
struct nicbarr_choice nicbarr_default_choice(const struct nicbarr_shape *shape);

#endif
