/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages with MPI's envelopes on a simulated cluster, matched by the NICs, one process a node.
 * libmyr's endpoints (libmyr/messages/tagged.h) with the firmware's matching (firmware/match.h) run
 * on each NIC, see nic_port.h. A host hands its NIC a send or a receive, and hears when that is
 * done.
 *
 * Two games, both from Zhang's thesis:
 *
 * NICSIM_PING_PONG (section 4.1): nodes 0 and 1 send a message of `bytes` to and fro.
 *
 * NICSIM_WAITING (section 4.2): node 0 receives a message that waits already behind others. All
 * other nodes first send it messages with a tag that it never receives: `width` each, and the last
 * node `width` - 2. So all channels to it are full but for two places of the last one. Then the
 * last node sends the message and one that says so. Node 0 receives the latter, then the former,
 * which is measured, and answers.
 *
 * Our table finds a message by its hash, whatever waits. The thesis's NIC has a list for each
 * channel and looks at the messages in it, and a table of hashes for receives with an open source.
 * What matches is the same, so one code plays both, and `structure` says what it costs the NIC:
 *
 *   NICSIM_LISTS   a receive with a named source: cycles_check for each message of this source that
 *                  waits; one with an open source: cycles_hash
 *   NICSIM_TABLE   each message that comes, and each receive: cycles_hash, whatever the number of
 *                  lanes
 */
#ifndef NICSIM_PLAY_MESSAGES_H
#define NICSIM_PLAY_MESSAGES_H

#include "bench/nicsim/play.h"

enum nicsim_script { NICSIM_PING_PONG, NICSIM_WAITING };

enum nicsim_structure { NICSIM_LISTS, NICSIM_TABLE };

struct nicsim_messages_game {
    const struct nicsim_machine *machine;
    enum nicsim_script script;
    enum nicsim_structure structure;
    uint32_t nodes;           /* of a ping-pong: 2 */
    uint32_t bytes;           /* of a ping-pong's messages */
    uint32_t width;           /* messages of a sender that may wait, 3 to 32 */
    bool open;                /* the receive that is measured has an open source */
    uint32_t warm_up, rounds; /* how many; those of the warm-up are not measured */
    uint64_t seed;
};

struct nicsim_messages_outcome {
    double round_us;   /* from one round's beginning to the next one's: mean */
    double receive_us; /* the receive that is measured, from call to return: mean */
    uint32_t finished; /* nodes that have done all of their part */
    uint32_t waiting;  /* messages that wait at node 0 in the end */
    bool intact;       /* node 1 has the data that node 0 has sent in a ping-pong */
    struct sim_tally tally;
    struct mcp_counters counters; /* of all NICs together */
    uint64_t events;
};

/* False when out of memory. */
bool nicsim_play_messages(const struct nicsim_messages_game *game,
                          struct nicsim_messages_outcome *outcome);

#endif
