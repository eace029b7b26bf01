/* SPDX-License-Identifier: BSD-3-Clause */
/* Knowledge about a shape, from this job or an earlier one, and the initial choice of a
 * communicator of that shape.
 *
 * The job's knowledge lies in the segment, for all processes of the node. Called by setup.c,
 * across.c and tuning. Any thread. */
#ifndef NICBARR_KNOWN_H
#define NICBARR_KNOWN_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A choice and its source, as one word that processes can pass on; never 0. */
uint64_t nicbarr_pack(struct nicbarr_choice choice, enum nicbarr_source source);
enum nicbarr_source nicbarr_unpack(uint64_t word, struct nicbarr_choice *choice);

/* The job's choice for a shape, as such a word; 0: nothing was measured. */
uint64_t nicbarr_recall(const struct nicbarr_shape *shape);
/* Store the best choice for a shape (nicbarr_shape_key()) or a class of size
 * (nicbarr_data_note_key()) for the job; `proven`: it was measured with sufficient confidence. */
void nicbarr_remember(uint64_t key, struct nicbarr_choice choice, bool proven);

/* The reason why the forced choice cannot be played on such a communicator; NULL if it can. All
 * members get the same answer. */
const char *nicbarr_forced_in_vain(const struct nicbarr_shape *shape);

/* The choice that this process proposes for a communicator of `shape`. */
enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice);

/* Are choices from that source watched? The same on all processes. */
bool nicbarr_watched(enum nicbarr_source source);

/* Was it measured elsewhere, without sufficient confidence? */
static inline bool nicbarr_is_unproven(enum nicbarr_source source)
{
    return NICBARR_FROM_CACHE == source || NICBARR_FROM_TRIAL == source;
}

#endif
