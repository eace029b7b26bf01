/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulation of broadcasts on a cluster with one process per node and node 0 as the root.
 * Broadcasts are NIC-based, or host-based with messages over the same NICs.
 *
 * In NIC-based broadcasts, NICs distribute a block along the firmware's trees, with the window and
 * the credits of firmware/bcast.h. As in Zhang's thesis (section 3.3.5), the root's call returns
 * when its NIC has sent the block to all children, and the other calls return when they have
 * received the block. In host-based broadcasts, hosts forward along the thesis's binary tree, in
 * which node k sends to nodes 2k + 1 and 2k + 2. With 8 nodes, both variants send a block to the
 * last node by way of nodes 1 and 3, and each node on this path sends the block to the next one
 * before it sends it to other nodes.
 *
 * The cost of polling (cycles_look, mpi_look_us) is only included for one other node, regardless of
 * the number of nodes, because only barriers poll all nodes; see docs/simulator.md.
 *
 * Packets must not be lost, because hosts do not request missing packets. */
#ifndef NICSIM_PLAY_BCAST_H
#define NICSIM_PLAY_BCAST_H

#include "bench/nicsim/play.h"

enum { NICSIM_BLOCK_MOST = 1200 }; /* bytes of data that fit into a packet with its headers */

struct nicsim_bcast_game {
    const struct nicsim_machine *machine;
    uint32_t nodes;
    uint32_t bytes; /* size of the data */
    bool on_nics;
    uint32_t fan_out; /* NIC-based only: parameter of the schedule dissemination:fan_out */
    enum nicsim_level level;
    /* If set, the last node replies with a message of answer_bytes when it has received the block,
     * and the root waits for this reply before its next broadcast. Otherwise broadcasts follow each
     * other without waiting. */
    bool answered;
    uint32_t answer_bytes;
    uint32_t warm_up, broadcasts; /* numbers of broadcasts; the warm-up is not measured */
    uint64_t seed;
    /* Called when a node returns from broadcast 1, 2, ...; may be NULL. */
    void (*observe)(void *observer, uint32_t node, uint32_t broadcast, double at_us);
    void *observer;
};

struct nicsim_bcast_outcome {
    double round_us;   /* mean time from the start of a broadcast to the start of the next, with the
                          reply */
    double root_us;    /* duration of the root's call: mean */
    uint32_t finished; /* nodes that have received all broadcasts */
    struct sim_tally tally;
    struct mcp_counters counters; /* sum of all NICs */
    size_t group_bytes; /* the NIC's memory for the group, including the window: maximum over the
                           nodes */
    uint64_t events;
};

/* Runs a simulation. Returns false if memory runs out. */
bool nicsim_play_bcast(const struct nicsim_bcast_game *game, struct nicsim_bcast_outcome *outcome);

#endif
