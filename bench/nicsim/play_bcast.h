/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts on a simulated cluster, one process a node, with node 0 as the root: by the NICs among
 * themselves, or by the hosts with messages over the same NICs.
 *
 * NICs spread a block by the firmware's own trees (firmware/bcast.h), in its window with its
 * credits. The root's call returns when its NIC has sent the block to all children, the others'
 * when they have it, as in Zhang's thesis (section 3.3.5). Hosts forward over the thesis's binary
 * tree: node k sends to 2k + 1 and 2k + 2. Both bring a block to the last of 8 nodes by way of 1
 * and 3, who send there first.
 *
 * What it takes to look at each other node (cycles_look, mpi_look_us) is charged for one other node
 * only, whatever the number of nodes: that is a cost of barriers, see docs/simulator.md.
 *
 * No packet may be lost: hosts do not ask for what is missing.
 */
#ifndef NICSIM_PLAY_BCAST_H
#define NICSIM_PLAY_BCAST_H

#include "bench/nicsim/play.h"

enum { NICSIM_BLOCK_MOST = 1200 }; /* bytes of data that fit into a packet with what is before it */

struct nicsim_bcast_game {
    const struct nicsim_machine *machine;
    uint32_t nodes;
    uint32_t bytes; /* of data */
    bool on_nics;
    uint32_t fan_out; /* of NICs: they play on the schedule dissemination:fan_out */
    enum nicsim_level level;
    /* The last node sends a message of so many bytes to the root when it has the block, and the
     * root waits for that before its next broadcast. Otherwise nobody waits. */
    bool answered;
    uint32_t answer_bytes;
    uint32_t warm_up, broadcasts; /* how many; those of the warm-up are not measured */
    uint64_t seed;
    /* Told of each node when it returns from broadcast 1, 2, ...; NULL: nobody is. */
    void (*observe)(void *observer, uint32_t node, uint32_t broadcast, double at_us);
    void *observer;
};

struct nicsim_bcast_outcome {
    double round_us;   /* from one broadcast's beginning to the next one's, with the answer: mean */
    double root_us;    /* the root's call: mean */
    uint32_t finished; /* nodes that have had them all */
    struct sim_tally tally;
    struct mcp_counters counters; /* of all NICs together */
    size_t group_bytes;           /* of the NICs' memory, with the window, the most of a node */
    uint64_t events;
};

/* False when out of memory. */
bool nicsim_play_bcast(const struct nicsim_bcast_game *game, struct nicsim_bcast_outcome *outcome);

#endif
