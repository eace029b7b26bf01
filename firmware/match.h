/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching: which message goes to which receive, as MPI wants it.
 *
 * A NIC that knows MPI's envelopes matches by itself (Keppitiyagama and Wagner, MPI-NP II; Zhang,
 * "MPI Collective Operations over Myrinet", sections 2.4 and 3.2). There are receives that wait for
 * a message (posted), and messages that wait for a receive (unexpected). Both keep MPI's order: a
 * message goes to the receive that was posted first, of those that it fits. A receive gets the
 * message that came first.
 *
 * What waits is kept in lanes. A lane is a queue with a name, and a table of hashes finds it. There
 * are four classes of names, as a receive may leave open the source, the tag, both or neither. A
 * receive waits in one lane, that of its own pattern. A message waits in all lanes whose receives
 * would take it. So each search looks at no more than the heads of four lanes, however much waits.
 * (Zhang's NIC has a queue for each sender, and a second one by tag for open sources.) Receives and
 * messages never wait in one lane: they would have matched.
 *
 * All of it is one piece of memory without pointers. The caller sees to it that one thread at a
 * time calls.
 */
#ifndef MCP_MATCH_H
#define MCP_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a message says of itself. Tags with bit MCP_HIDDEN_TAG_BIT are MPI's own: a receive with an
 * open tag does not take them.
 */
struct mcp_envelope {
    uint32_t context; /* the communicator's */
    uint32_t source;  /* the sender's rank in it */
    uint32_t tag;
};

enum { MCP_HIDDEN_TAG_BIT = 31 };

/* What a receive leaves open. */
enum mcp_open {
    MCP_OPEN_SOURCE = 1,
    MCP_OPEN_TAG = 2,
    MCP_MATCH_CLASSES = 4 /* combinations */
};

/* What a receive takes. Fields that `open` names do not matter. */
struct mcp_pattern {
    struct mcp_envelope envelope;
    uint32_t open; /* of enum mcp_open */
};

/* A place of the table, below the sum of both limits. What waits keeps its place. So what the
 * caller must know of it can lie in an array. */
typedef uint32_t mcp_match_place;
enum { MCP_NO_PLACE = 0xffffffff };

enum { MCP_MATCH_MOST = 1 << 20 /* receives, or messages */ };

struct mcp_match;

/* Bytes for so many receives and so many messages that wait; 0 if they are too many or none. */
size_t mcp_match_bytes(uint32_t receives, uint32_t messages);

/* Set it up in memory of that size, which is all 0 and aligned to MYR_LINE. It touches more of it
 * only as more waits. */
void mcp_match_init(struct mcp_match *match, uint32_t receives, uint32_t messages);

/*
 * Move all that waits from a table to a larger one, which was just set up. Places stay the same.
 * The old one is of no use any more.
 */
void mcp_match_move(struct mcp_match *larger, const struct mcp_match *match);

enum mcp_matched {
    MCP_MATCHED, /* `*place` says with what: it has left */
    MCP_WAITS,   /* `*place` says where */
    MCP_NO_ROOM, /* nothing matches, and it cannot wait; nothing has changed */
};

/* A receive is posted. If a message waits that it takes, the message that came first leaves. */
enum mcp_matched mcp_match_post(struct mcp_match *match, const struct mcp_pattern *pattern,
                                mcp_match_place *place);

/* A message has come. If a receive waits that takes it, the one that was posted first leaves. */
enum mcp_matched mcp_match_arrive(struct mcp_match *match, const struct mcp_envelope *envelope,
                                  mcp_match_place *place);

/* The message that a receive with this pattern would get now. MCP_NO_PLACE: none waits. */
mcp_match_place mcp_match_probe(const struct mcp_match *match, const struct mcp_pattern *pattern);

/* Take out what waits at a place: a receive that is cancelled, or a message that was probed for. */
void mcp_match_remove(struct mcp_match *match, mcp_match_place place);

/* Does a message wait at this place? Places from mcp_match_used() on were never used. */
bool mcp_match_is_message(const struct mcp_match *match, mcp_match_place place);
uint32_t mcp_match_used(const struct mcp_match *match);

/* How many wait. */
uint32_t mcp_match_receives(const struct mcp_match *match);
uint32_t mcp_match_messages(const struct mcp_match *match);

#endif
