/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a communicator comprises all properties on which the choice of its barrier depends.
 * Measured choices are therefore stored under the shape as their key. members.c determines the
 * shape, which is the same on all ranks of the communicator. The functions of this file are
 * pure. */
#ifndef NICBARR_SHAPE_H
#define NICBARR_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/schedule.h"

struct nicbarr_shape {
    uint32_t nodes;
    uint32_t processes;  /* processes of the communicator */
    uint32_t homes;      /* distinct homes (glossary) on rank 0's node; 1: not bound */
    uint32_t processors; /* processors of rank 0's node that are available to the job */
    /* bit n: NIC n can execute collectives; bit 0, on one node: the processes can */
    uint32_t nics;
    bool oversubscribed;
};

static inline bool nicbarr_shape_has(const struct nicbarr_shape *shape, uint32_t nic)
{
    return 0 != (shape->nics >> nic & 1);
}

/* Returns whether `choice` can be executed in a communicator of `shape`. */
static inline bool nicbarr_runnable(const struct nicbarr_shape *shape, struct nicbarr_choice choice)
{
    return NICBARR_OPENMPI == choice.algorithm || nicbarr_shape_has(shape, choice.nic);
}

/* Remove the kinds of NICs in `nics` from those that the shape can use. If none would be left,
 * returns false and changes nothing. */
bool nicbarr_shape_without(struct nicbarr_shape *shape, uint32_t nics);

/* Returns a digest of the shape, never 0, which is its key in the job's key-value table
 * (libmyr/node/segment.h). Its highest bit is set, so it differs from the small numbers that are
 * also keys of that table. */
uint64_t nicbarr_shape_key(const struct nicbarr_shape *shape);

/* Returns a digest of the schedules of all algorithms, or 0 if out of memory. It is stored with
 * measurements, so that they are not used by a version whose algorithms differ. Takes about 100
 * us. */
uint64_t nicbarr_schedules_digest(void);

#endif
