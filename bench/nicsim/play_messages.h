/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulation of messages with MPI envelopes that NICs match, on a cluster with one process per
 * node. libmyr's endpoints (libmyr/messages/tagged.h) with the firmware's matching
 * (firmware/match.h) run on each NIC, see nic_port.h. A host passes sends and receives to its NIC,
 * which notifies it of their completion.
 *
 * There are two scripts, both from Zhang's thesis:
 *
 * NICSIM_PING_PONG (section 4.1): nodes 0 and 1 send a message of `bytes` back and forth.
 *
 * NICSIM_WAITING (section 4.2): node 0 receives an unexpected message while many others are queued.
 * First all other nodes fill their channels to node 0 with messages whose tag it never receives:
 * `width` messages per node, but only `width` - 2 from the last node. Then the last node sends the
 * message to be received, followed by a message that announces it. Node 0 receives the
 * announcement, then receives the other message, which is the receive that is measured, and
 * replies.
 *
 * nicbarr finds a message in a hash table, at a cost that does not depend on the other contents of
 * the table. The NIC of the thesis searches a list per channel, and has a hash table for receives
 * with an open source. Both find the same messages. The simulation therefore always executes
 * nicbarr's code, and `structure` only determines the time that the NIC spends:
 *
 *   NICSIM_LISTS   a receive with a named source: cycles_check per unexpected message of this
 *                  source; one with an open source: cycles_hash
 *   NICSIM_TABLE   each arriving message, and each receive: cycles_hash, whatever the number of
 *                  lanes */
#ifndef NICSIM_PLAY_MESSAGES_H
#define NICSIM_PLAY_MESSAGES_H

#include "bench/nicsim/play.h"

enum nicsim_script { NICSIM_PING_PONG, NICSIM_WAITING };

enum nicsim_structure { NICSIM_LISTS, NICSIM_TABLE };

struct nicsim_messages_game {
    const struct nicsim_machine *machine;
    enum nicsim_script script;
    enum nicsim_structure structure;
    uint32_t nodes;           /* 2 for a ping-pong */
    uint32_t bytes;           /* size of the messages of a ping-pong */
    uint32_t width;           /* unexpected messages per sender, 3 to 32 */
    bool open;                /* the measured receive has an open source */
    uint32_t warm_up, rounds; /* numbers of rounds; the warm-up is not measured */
    uint64_t seed;
};

struct nicsim_messages_outcome {
    double round_us;   /* mean time from the start of a round to the start of the next */
    double receive_us; /* the measured receive, from call to return: mean */
    uint32_t finished; /* nodes that have completed their script */
    uint32_t waiting;  /* unexpected messages at node 0 at the end */
    bool intact;       /* ping-pong: node 1 has received the data that node 0 has sent */
    struct sim_tally tally;
    struct mcp_counters counters; /* sum of all NICs */
    uint64_t events;
};

/* Runs a simulation. Returns false if memory runs out. */
bool nicsim_play_messages(const struct nicsim_messages_game *game,
                          struct nicsim_messages_outcome *outcome);

#endif
