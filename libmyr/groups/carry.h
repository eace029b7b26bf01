/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans which blocks the messages of a schedule carry in a group that carries data (engine.h), so
 * that an epoch performs an allgather of the blocks of all nodes.
 *
 * Each node appends blocks to a buffer in the order in which they arrive according to its schedule.
 * A message carries the first blocks of the sender's buffer, up to the last one that the receiver
 * lacks. The plan thus follows from the schedules alone. The schedule of any barrier is suitable,
 * because in a barrier information from each node reaches all nodes. (Buntinas et al. describe only
 * barriers. For dissemination, the result is the allgather of Bruck et al.) If a block arrives
 * twice, its first copy in the buffer is the one that is used.
 *
 * A plan depends only on the schedules, so all nodes compute the same one. With buffers of B
 * blocks, the computation takes O(messages * B) time and O(nodes * B) memory. For short schedules,
 * B is only slightly greater than the number of nodes. For a chain, in which each node forwards
 * everything that it has, B is half the square of that number. */
#ifndef MYR_CARRY_H
#define MYR_CARRY_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum { MYR_CARRY_NODES = 256 /* maximum number of nodes */ };

/* One node's part of the plan. All sizes and positions are in blocks. */
struct myr_carry {
    uint32_t buffer_blocks; /* size of the largest buffer of any node */
    uint32_t most;          /* size of the longest message of any node */
    uint16_t *blocks;       /* for each of the schedule's peers: number of blocks in the message */
    uint16_t *at;           /* for each awaited peer: the message's position in the buffer */
    uint16_t *position_of;  /* for each node: the final position of its block */
};

/* Computes the plan; free it with myr_carry_free(). With `rooted`, only node 0 must get all blocks.
 * Returns false if out of memory, if there are too many nodes, or if the schedules do not match. */
bool myr_carry_plan(uint32_t nodes, uint32_t node, myr_schedule_fn schedule_of, const void *context,
                    bool rooted, struct myr_carry *carry);
void myr_carry_free(struct myr_carry *carry);

#endif
