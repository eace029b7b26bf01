/*
 * What a NIC counts. One list for the NIC, for `nicbarr status` and for MPI's tools interface: each
 * entry is a name and what it means in words.
 */
#ifndef MCP_COUNTERS_H
#define MCP_COUNTERS_H

#include <stdint.h>

#define MCP_COUNTERS(entry)                                                                        \
    entry(packets_sent, "packets put on the wire") entry(                                          \
        packets_received,                                                                          \
        "packets taken from the wire") entry(barriers, "barriers completed, of all groups")        \
        entry(unexpected, "collective messages that came before the host had started") entry(      \
            early, "collective messages for a group that was not open yet")                        \
            entry(asked, "collective messages that were asked for again") entry(                   \
                answered, "collective messages sent again because a peer asked")                   \
                entry(retransmissions, "message packets sent again") entry(                        \
                    refused, "message packets that a peer refused: port closed or without tokens") \
                    entry(duplicates, "packets that had come before, or out of turn") entry(       \
                        dropped_damaged, "packets dropped: damaged, or not in our format")         \
                        entry(dropped_foreign,                                                     \
                              "packets dropped: with a key that is nobody's here")                 \
                            entry(dropped_implausible,                                             \
                                  "packets dropped: of a group or connection, but not possible")   \
                                entry(send_errors, "packets that the network would not take")

struct mcp_counters {
#define MCP_COUNTER_FIELD(name, text) uint64_t name;
    MCP_COUNTERS(MCP_COUNTER_FIELD)
#undef MCP_COUNTER_FIELD
};

#endif
