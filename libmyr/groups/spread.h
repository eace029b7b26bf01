/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans how a broadcast spreads over the messages of a schedule, for any root (bcast.h).
 *
 * Each message has a reach: a node sends the message only if the distance of the node from the root
 * is less than the reach. The reach is the shortest distance, around the circle of nodes, that a
 * message of the same step covers. In a dissemination barrier the distances are 1, b, b^2 and so
 * on, and the messages form a tree for each root. A schedule whose messages do not form such trees
 * has no plan. */
#ifndef MYR_SPREAD_H
#define MYR_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum { MYR_SPREAD_NODES = 4096 /* maximum number of nodes */ };

struct myr_spread {
    uint16_t *reach; /* of each of the schedule's peers, in its order */
    uint16_t *up; /* [nodes]: distance of a node's parent, by the node's distance from the root */
};

/* Computes the plan; free it with myr_spread_free(). Returns false if the schedule is not suitable
 * for broadcasts, if there are too many nodes, or if out of memory. */
bool myr_spread_plan(const struct myr_schedule *schedule, uint32_t nodes, uint32_t node,
                     struct myr_spread *spread);
void myr_spread_free(struct myr_spread *spread);

#endif
