/* SPDX-License-Identifier: BSD-3-Clause */
/* Computation of the broadcast trees of a schedule; see spread.h. */
#include "libmyr/groups/spread.h"

#include <stdlib.h>
#include <string.h>

/* Returns the ring distance that a message to or from this peer covers. */
static uint32_t ring_distance(uint32_t nodes, uint32_t node, uint32_t peer, bool sent)
{
    return sent ? (peer + nodes - node) % nodes : (node + nodes - peer) % nodes;
}

/* Fills in the reach of each message, which is the same for all messages of a step. */
static void fill_reach(const struct myr_schedule *schedule, uint32_t nodes, uint32_t node,
                       uint16_t *reach)
{
    const uint32_t *peer = schedule->peers;
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        const uint32_t sends = schedule->steps[s].sends, count = sends + schedule->steps[s].waits;
        uint32_t least = nodes;
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t further = ring_distance(nodes, node, peer[i], i < sends);
            least = further < least ? further : least;
        }
        for (uint32_t i = 0; i < count; ++i) {
            *reach++ = (uint16_t)least;
        }
        peer += count;
    }
}

/* Adds the edges of a message with this reach and distance. Returns false if a node already has a
 * parent. */
static bool add_children(uint32_t nodes, uint32_t further, uint32_t reach, uint16_t *up)
{
    for (uint32_t from = 0; from < reach && from + further < nodes; ++from) {
        if (0 != up[from + further]) {
            return false;
        }
        up[from + further] = (uint16_t)further;
    }
    return true;
}

/* Returns whether the messages that are sent (or those that are waited for) reach each node except
 * the root exactly once. */
static bool fill_parents(const struct myr_schedule *schedule, uint32_t nodes, uint32_t node,
                         bool sent, const struct myr_spread *spread)
{
    const uint32_t *peer = schedule->peers;
    const uint16_t *reach = spread->reach;
    bool good = true;
    memset(spread->up, 0, nodes * sizeof(*spread->up));
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        const uint32_t sends = schedule->steps[s].sends, count = sends + schedule->steps[s].waits;
        for (uint32_t i = 0; i < count; ++i, ++peer, ++reach) {
            if ((i < sends) == sent) {
                good = add_children(nodes, ring_distance(nodes, node, *peer, sent), *reach,
                                    spread->up) &&
                       good;
            }
        }
    }
    for (uint32_t n = 1; n < nodes; ++n) {
        good = good && 0 != spread->up[n];
    }
    return good;
}

bool myr_spread_plan(const struct myr_schedule *schedule, uint32_t nodes, uint32_t node,
                     struct myr_spread *spread)
{
    *spread = (struct myr_spread){NULL, NULL};
    if (nodes <= MYR_SPREAD_NODES) {
        spread->reach = calloc((size_t)schedule->npeers + 1, sizeof(*spread->reach));
        spread->up = calloc(nodes, sizeof(*spread->up));
    }
    if (NULL != spread->reach && NULL != spread->up) {
        fill_reach(schedule, nodes, node, spread->reach);
        if (fill_parents(schedule, nodes, node, true, spread) &&
            fill_parents(schedule, nodes, node, false, spread)) {
            return true;
        }
    }
    myr_spread_free(spread);
    return false;
}

void myr_spread_free(struct myr_spread *spread)
{
    free(spread->reach);
    free(spread->up);
    *spread = (struct myr_spread){NULL, NULL};
}
