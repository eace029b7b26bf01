/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans how a broadcast spreads over the messages of a schedule, for any root (bcast.h).
 *
 * The plan assigns a reach to each message of the schedule. A node sends a message of the broadcast
 * only if its distance from the root, counted around the circle of nodes, is less than the reach of
 * the message. All messages of a step have the same reach, which is the shortest distance that one
 * of them covers.
 *
 * In a dissemination barrier these distances are 1, b, b^2 and so on, so the messages that are sent
 * form a tree for each root. A schedule for which they do not form such trees has no plan. */
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
