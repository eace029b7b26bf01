/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores and looks up the best choice for a shape, from this job or an earlier one, and determines
 * the initial choice of a communicator of that shape.
 *
 * The job's choices are stored in the segment, where all processes of the node can look them up.
 * Any thread may call these functions. */
#ifndef NICBARR_KNOWN_H
#define NICBARR_KNOWN_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Encode a choice and its source in one word, which processes can exchange and which is never 0,
 * and decode it. */
uint64_t nicbarr_choice_encode(struct nicbarr_choice choice, enum nicbarr_source source);
enum nicbarr_source nicbarr_choice_decode(uint64_t word, struct nicbarr_choice *choice);

/* Returns the job's choice for a shape, encoded by nicbarr_choice_encode(), or 0 if nothing was
 * measured. */
uint64_t nicbarr_choice_of_job(const struct nicbarr_shape *shape);
/* Store the best choice for a shape (nicbarr_shape_key()) or for a size class
 * (nicbarr_data_kv_key()), for all communicators of the job. `proven` states whether it was
 * measured with sufficient confidence. */
void nicbarr_store_choice(uint64_t key, struct nicbarr_choice choice, bool proven);

/* Returns the reason why the forced choice cannot be used on a communicator of `shape`, or NULL if
 * it can. All members get the same result. */
const char *nicbarr_forced_unusable(const struct nicbarr_shape *shape);

/* Determine the choice that this process proposes for a communicator of `shape`. Returns its
 * source. */
enum nicbarr_source nicbarr_propose(const struct nicbarr_shape *shape,
                                    struct nicbarr_choice *choice);

/* Returns whether choices from this source are periodically re-evaluated. The result is the same on
 * all processes. */
bool nicbarr_watched(enum nicbarr_source source);

/* Returns whether a choice from this source was measured by an earlier job, or on another
 * communicator of this job without sufficient confidence. */
static inline bool nicbarr_is_unproven(enum nicbarr_source source)
{
    return NICBARR_FROM_CACHE == source || NICBARR_FROM_TRIAL == source;
}

#endif
