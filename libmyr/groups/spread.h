/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a broadcast spreads over the messages of a schedule, whatever node is the root (bcast.h).
 *
 * Each message has a reach: nodes that are nearer to the root send it. Here it is the least
 * distance around the circle of nodes that a message of the same step goes. In a dissemination
 * barrier those are 1, b, b^2 and so on, and the messages make a tree for each root. Where they do
 * not, there is no plan. Pure.
 */
#ifndef MYR_SPREAD_H
#define MYR_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum { MYR_SPREAD_NODES = 4096 /* at the most */ };

struct myr_spread {
    uint16_t *reach; /* of each of the schedule's peers, as they stand in it */
    uint16_t *up;    /* [nodes]: how far its parent is from a node at this distance from the root */
};

/* False if this is no schedule for broadcasts, there are too many nodes, or out of memory. Give it
 * back by myr_spread_free(). */
bool myr_spread_plan(const struct myr_schedule *schedule, uint32_t nodes, uint32_t node,
                     struct myr_spread *spread);
void myr_spread_free(struct myr_spread *spread);

#endif
