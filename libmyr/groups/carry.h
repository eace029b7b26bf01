/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the messages of a schedule carry in a group that carries data (engine.h): all nodes' blocks
 * come to all nodes.
 *
 * Each node gathers blocks in a buffer, in the order in which they come by its schedule. A message
 * has the first blocks of its sender's buffer, up to the last one that its receiver does not know
 * yet. So the plan follows from the schedules alone, and any schedule of a barrier will do: in a
 * barrier each node hears of each. (Buntinas et al. have barriers only. For dissemination it is the
 * allgather of Bruck et al.) A block may come twice; then the first place counts.
 *
 * Pure; all nodes come to the same plan. It takes O(messages * places) time, and O(nodes * places)
 * memory. Buffers have few places more than there are nodes where schedules are short. On a chain
 * of nodes, each one hands on all that it has, so buffers have half the square of that.
 */
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
    uint16_t *blocks;   /* of each of the schedule's peers: how many the message carries */
    uint16_t *at;       /* of those waited for: where they go */
    uint16_t *place_of; /* of each node: where its block is in the end */
};

/* False when out of memory, with too many nodes, or where the schedules do not fit together. Give
 * it back by myr_carry_free(). */
bool myr_carry_plan(uint32_t nodes, uint32_t node, myr_schedule_fn schedule_of, const void *context,
                    bool rooted, struct myr_carry *carry);
void myr_carry_free(struct myr_carry *carry);

#endif
