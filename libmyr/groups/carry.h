/* SPDX-License-Identifier: BSD-3-Clause */
/* What the messages of a schedule carry in a group that carries data (engine.h): an allgather of
 * all nodes' blocks.
 *
 * Each node appends blocks to a buffer in the order in which they arrive by its schedule. A message
 * carries the first blocks of its sender's buffer, up to the last one that its receiver lacks. So
 * the plan follows from the schedules alone, and any schedule of a barrier will do, because in a
 * barrier information from each node reaches all nodes. (Buntinas et al. have barriers only. For
 * dissemination it is the allgather of Bruck et al.) A block may arrive twice; then the first place
 * counts.
 *
 * Pure; all nodes compute the same plan. It takes O(messages * places) time, and O(nodes * places)
 * memory. With short schedules, buffers have few places more than there are nodes. On a chain,
 * where each node forwards all that it has, they have half the square of that. */
#ifndef MYR_CARRY_H
#define MYR_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum { MYR_CARRY_NODES = 256 /* at the most */ };

/* One node's part of the plan. Places and sizes are in blocks. */
struct myr_carry {
    uint32_t places;    /* of the largest buffer of any node */
    uint32_t most;      /* of the longest message of any node */
    uint16_t *blocks;   /* for each of the schedule's peers: blocks in the message */
    uint16_t *at;       /* for each peer that is waited for: the message's place in the buffer */
    uint16_t *place_of; /* for each node: the final place of its block */
};

/* False if out of memory, if there are too many nodes, or if the schedules do not match. Free the
 * plan with myr_carry_free(). */
bool myr_carry_plan(uint32_t nodes, uint32_t node, myr_schedule_fn schedule_of, const void *context,
                    bool rooted, struct myr_carry *carry);
void myr_carry_free(struct myr_carry *carry);

#endif
