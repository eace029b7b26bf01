/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a communicator: all properties that the choice of its barrier depends on. It is the
 * key of measured choices. members.c determines a communicator's shape, which is the same on all
 * its ranks. The functions here are pure. */
#ifndef NICBARR_SHAPE_H
#define NICBARR_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/schedule.h"

struct nicbarr_shape {
    uint32_t nodes;
    uint32_t processes;  /* of the communicator */
    uint32_t homes;      /* on rank 0's node: distinct affinity masks; 1: not bound */
    uint32_t processors; /* of rank 0's node, available to the job */
    uint32_t players;    /* bit n: NIC n can play; on one node bit 0: the processes can */
    bool oversubscribed;
};

static inline bool nicbarr_has(const struct nicbarr_shape *shape, uint32_t nic)
{
    return 0 != (shape->players >> nic & 1);
}

/* Can `choice` be played in a communicator of `shape`? */
static inline bool nicbarr_playable(const struct nicbarr_shape *shape, struct nicbarr_choice choice)
{
    return NICBARR_OPENMPI == choice.algorithm || nicbarr_has(shape, choice.nic);
}

/* Remove these kinds of NICs from the players of the shape. If no other player would be left,
 * returns false and changes nothing. */
bool nicbarr_shape_without(struct nicbarr_shape *shape, uint32_t players);

/* A digest of the shape, never 0: its key in the job's notes. Its highest bit is set, so it differs
 * from the small numbers that are also keys of notes. */
uint64_t nicbarr_shape_key(const struct nicbarr_shape *shape);

/* A digest of all algorithms as implemented, because measurements of another implementation do not
 * apply. 0 if out of memory. Takes some 100 us. */
uint64_t nicbarr_schedules_digest(void);

#endif
