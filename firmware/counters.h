/* SPDX-License-Identifier: BSD-3-Clause */
/* A NIC's counters. The NIC, `nicbarr status` and MPI's tools interface share this list of names
 * and descriptions. */
#ifndef MCP_COUNTERS_H
#define MCP_COUNTERS_H

#include <stdint.h>

/* clang-format off */
#define MCP_COUNTERS(entry)                                                                        \
    entry(packets_sent, "packets sent")                                                            \
    entry(packets_received, "packets received")                                                    \
    entry(barriers, "barriers completed by all groups")                                            \
    entry(broadcasts, "broadcast blocks received")                                                 \
    entry(unexpected, "collective messages received before the host had called the operation")     \
    entry(early, "collective messages received for a group that was not open yet")                 \
    entry(asked, "collective messages whose retransmission was requested")                         \
    entry(answered, "collective messages retransmitted at a peer's request")                       \
    entry(later, "requests answered with LATER, as the host has not arrived yet")                  \
    entry(heard, "answers LATER received: a peer's host is late, its NIC is alive")                \
    entry(failed, "groups that failed because a node did not respond")                             \
    entry(messages_sent, "messages whose completion was reported to the sending port")             \
    entry(messages_received, "messages delivered to a port")                                       \
    entry(messages_local, "messages delivered from one port of this NIC to another")               \
    entry(retransmissions, "message packets retransmitted")                                        \
    entry(refused, "message packets that a peer refused: port closed, or no receive token")        \
    entry(refusals, "message packets refused by this NIC: port closed, or no receive token")       \
    entry(duplicates, "packets received twice, or out of order")                                   \
    entry(bad_tokens, "tokens dropped: invalid, by an error of the process that posted them")      \
    entry(dropped_damaged, "packets dropped: damaged, or not in nicbarr's format")                 \
    entry(dropped_foreign, "packets dropped: no group or connection has their key")                \
    entry(dropped_forged, "packets dropped: their signature or checksum does not match")           \
    entry(dropped_implausible, "packets dropped: invalid for their group or connection")           \
    entry(dropped_no_room, "packets dropped: the maximum number of connections is reached")        \
    entry(send_errors, "packets that the system failed to send")
/* clang-format on */

struct mcp_counters {
#define MCP_COUNTER_FIELD(name, text) uint64_t name;
    MCP_COUNTERS(MCP_COUNTER_FIELD)
#undef MCP_COUNTER_FIELD
};

#endif
