/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a shape, by this job or by an earlier one, and what a communicator of that shape
 * begins with.
 *
 * What the job knows lies in the segment, for all processes of the node. Called by setup.c,
 * across.c and tuning. Any thread.
 */
#ifndef NICBARR_KNOWN_H
#define NICBARR_KNOWN_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A choice and where it comes from, as one word that processes can pass on; never 0. */
uint64_t nicbarr_pack(struct nicbarr_choice choice, enum nicbarr_source source);
enum nicbarr_source nicbarr_unpack(uint64_t word, struct nicbarr_choice *choice);

/* What the job knows about a shape, as such a word; 0: nothing measured. */
uint64_t nicbarr_recall(const struct nicbarr_shape *shape);
/* Tell the job what is best for a shape (nicbarr_shape_key()) or a class of size
 * (nicbarr_data_note_key()); `proven`: it was measured, and the figures leave no doubt. */
void nicbarr_remember(uint64_t key, struct nicbarr_choice choice, bool proven);

/* What keeps the forced choice from being played there, in words; NULL: nothing. All members come
 * to the same answer. */
const char *nicbarr_forced_in_vain(const struct nicbarr_shape *shape);

/* What this process would have a communicator of `shape` use. */
enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice);

/* Are choices that come from there watched? The same on all processes. */
bool nicbarr_watched(enum nicbarr_source source);

/* Was it measured elsewhere, by figures that leave some doubt? */
static inline bool nicbarr_is_unproven(enum nicbarr_source source)
{
    return NICBARR_FROM_CACHE == source || NICBARR_FROM_TRIAL == source;
}

#endif
