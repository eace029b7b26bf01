/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches messages and receives by the rules of MPI.
 *
 * If a NIC interprets the envelopes of MPI messages, it can match messages without the host
 * (Keppitiyagama and Wagner, MPI-NP II; Zhang, "MPI Collective Operations over Myrinet", sections
 * 2.4 and 3.2). Receives are posted and wait for messages; messages that find no posted receive are
 * kept as unexpected. The order that MPI requires is preserved: a message goes to the receive that
 * was posted first among those that it fits, and a receive gets the message that arrived first.
 *
 * Waiting receives and messages are kept in queues called lanes, which are found through a hash
 * table. The name of a lane consists of a source and a tag, each of which may be a wildcard, so
 * there are four classes of lanes. A receive waits in the lane of its pattern; a message waits in
 * all lanes whose receives would match it. Therefore a search only visits the heads of at most four
 * lanes, regardless of the number of waiting entries. (Zhang's NIC has a queue for each sender, and
 * further queues by tag for wildcard sources.) Receives and messages never wait in the same lane,
 * because they would have matched.
 *
 * The whole table is one block of memory without pointers. Callers must serialise their calls. */
#ifndef MCP_MATCH_H
#define MCP_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message's envelope. Tags with bit MCP_HIDDEN_TAG_BIT are internal to MPI: a wildcard tag does
 * not match them. */
struct mcp_envelope {
    uint32_t context; /* the communicator's */
    uint32_t source;  /* the sender's rank in it */
    uint32_t tag;
};

enum { MCP_HIDDEN_TAG_BIT = 31 };

/* A receive's wildcards. */
enum mcp_open {
    MCP_OPEN_SOURCE = 1,
    MCP_OPEN_TAG = 2,
    MCP_MATCH_CLASSES = 4 /* number of combinations */
};

/* The pattern of a receive. Fields with a wildcard in `open` are ignored. */
struct mcp_pattern {
    struct mcp_envelope envelope;
    uint32_t open; /* of enum mcp_open */
};

/* The index of an entry, which is below the sum of both limits. It does not change while the entry
 * waits, so callers can keep additional data for the entry in an array. */
typedef uint32_t mcp_match_index;
enum { MCP_NO_MATCH = 0xffffffff };

/* Maximum number of receives, and of messages. On 64-bit machines memory is the limit; on others
 * the size of the table must not overflow. */
enum { MCP_MATCH_MOST = sizeof(size_t) < 8 ? 1 << 20 : 1 << 28 };

struct mcp_match;

/* Returns the size of a table for these numbers of waiting receives and messages (bytes), or 0 if
 * one of them is too large or 0. */
size_t mcp_match_bytes(uint32_t receives, uint32_t messages);

/* Initialises a table in memory of this size, which is all 0 and aligned to MYR_LINE. More memory
 * is touched only when more entries wait. */
void mcp_match_init(struct mcp_match *match, uint32_t receives, uint32_t messages);

/* Moves all entries from a table to a larger, empty one. Their indices stay the same. The old table
 * must not be used any more. */
void mcp_match_move(struct mcp_match *larger, const struct mcp_match *match);

enum mcp_matched {
    MCP_MATCHED, /* `*index` is the index of the match, which was removed */
    MCP_WAITS,   /* `*index` is the index of the new waiting entry */
    MCP_NO_ROOM, /* nothing matches, and the table is full; nothing has changed */
};

/* Posts a receive. The earliest waiting message that it matches is removed. */
enum mcp_matched mcp_match_post(struct mcp_match *match, const struct mcp_pattern *pattern,
                                mcp_match_index *index);

/* Handles the arrival of a message. The earliest posted receive that it matches is removed. */
enum mcp_matched mcp_match_arrive(struct mcp_match *match, const struct mcp_envelope *envelope,
                                  mcp_match_index *index);

/* Returns the message that a receive with this pattern would get now, or MCP_NO_MATCH if there is
 * none. */
mcp_match_index mcp_match_probe(const struct mcp_match *match, const struct mcp_pattern *pattern);

/* Removes an entry: a cancelled receive, or a probed message. */
void mcp_match_remove(struct mcp_match *match, mcp_match_index index);

/* mcp_match_is_message() returns whether a message waits at this index. Indices from
 * mcp_match_used() on were never used. */
bool mcp_match_is_message(const struct mcp_match *match, mcp_match_index index);
uint32_t mcp_match_used(const struct mcp_match *match);

/* Return the numbers of waiting entries. */
uint32_t mcp_match_receives(const struct mcp_match *match);
uint32_t mcp_match_messages(const struct mcp_match *match);

#endif
