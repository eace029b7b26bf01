/* SPDX-License-Identifier: BSD-3-Clause */
/* A NIC's counters. The NIC, `nicbarr status` and MPI's tools interface share this list of names
 * and descriptions. */
#ifndef MCP_COUNTERS_H
#define MCP_COUNTERS_H

#include <stdint.h>

/* clang-format off */
#define MCP_COUNTERS(entry)                                                                        \
    entry(packets_sent, "packets put on the wire")                                                 \
    entry(packets_received, "packets taken from the wire")                                         \
    entry(barriers, "barriers completed, of all groups")                                           \
    entry(broadcasts, "blocks of broadcasts that came here")                                       \
    entry(unexpected, "collective messages that came before the host had started")                 \
    entry(early, "collective messages for a group that was not open yet")                          \
    entry(asked, "collective messages that were asked for again")                                  \
    entry(answered, "collective messages sent again because a peer asked")                         \
    entry(later, "questions answered: the host has not come so far yet")                           \
    entry(heard, "such answers that have come: a peer's host is late, its NIC is alive")           \
    entry(failed, "groups that failed because a node is missing")                                  \
    entry(messages_sent, "messages that their port has been told are sent")                        \
    entry(messages_received, "messages delivered to a port")                                       \
    entry(messages_local, "messages from one port of this NIC to another, of those")               \
    entry(retransmissions, "message packets sent again")                                           \
    entry(refused, "message packets that a peer refused: port closed or without tokens")           \
    entry(refusals, "message packets that were refused here")                                      \
    entry(duplicates, "packets that had come before, or out of turn")                              \
    entry(bad_tokens, "tokens dropped: not possible, their process is in error")                   \
    entry(dropped_damaged, "packets dropped: damaged, or not in our format")                       \
    entry(dropped_foreign, "packets dropped: with a key that is nobody's here")                    \
    entry(dropped_forged, "packets dropped: of a group or connection, but the check does not fit")  \
    entry(dropped_implausible, "packets dropped: of a group or connection, but not possible")      \
    entry(dropped_no_room, "packets dropped: no room for another connection")                      \
    entry(send_errors, "packets that the network would not take")
/* clang-format on */

struct mcp_counters {
#define MCP_COUNTER_FIELD(name, text) uint64_t name;
    MCP_COUNTERS(MCP_COUNTER_FIELD)
#undef MCP_COUNTER_FIELD
};

#endif
