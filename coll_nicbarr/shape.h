/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shape of a communicator: all that the choice of its barrier depends on. Measured choices are
 * remembered by it. Pure. members.c finds out a communicator's shape, which is the same on all its
 * ranks.
 */
#ifndef NICBARR_SHAPE_H
#define NICBARR_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/schedule.h"

struct nicbarr_shape {
    uint32_t nodes;
    uint32_t processes;  /* of the communicator */
    uint32_t homes;      /* on rank 0's node: sets of processors they are bound to; 1: not bound */
    uint32_t processors; /* of rank 0's node, that the job may use */
    uint32_t players;    /* bit n: NIC n can play; on one node bit 0: the processes can */
    bool oversubscribed;
};

static inline bool nicbarr_has(const struct nicbarr_shape *shape, uint32_t nic)
{
    return 0 != (shape->players >> nic & 1);
}

/* Is there, in a communicator of `shape`, who plays `choice`? */
static inline bool nicbarr_playable(const struct nicbarr_shape *shape, struct nicbarr_choice choice)
{
    return NICBARR_OPENMPI == choice.algorithm || nicbarr_has(shape, choice.nic);
}

/* Have these kinds of NICs play no more for communicators of that shape. False, and nothing has
 * changed, if no other one is left. */
bool nicbarr_shape_without(struct nicbarr_shape *shape, uint32_t players);

/* One number for all of it, never 0: what the job's notes know a shape by. Its highest bit is set,
 * so it is none of the small numbers that the notes are also used with. */
uint64_t nicbarr_shape_key(const struct nicbarr_shape *shape);

/* One number for all algorithms as they are: what was measured with others says nothing of these.
 * 0 when out of memory. Takes some 100 us. */
uint64_t nicbarr_schedules_digest(void);

#endif
