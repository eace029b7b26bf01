/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a whole NIC: which group a packet is for, what comes too early or too late, and
 * who has waited for too long.
 *
 * Section 3.2 of Buntinas et al. asks what becomes of a barrier message whose process has not
 * opened its port yet, or no more. Here a group's key answers it: it is made of secrets of all
 * members' present incarnations, so nobody else's messages ever fit. What comes before its group is
 * opened is kept in a small record until then (and asked for again where the record was too small);
 * of closed groups the last epoch is kept, so that a peer who lost the last message hears that it
 * is done.
 */
#ifndef MCP_COLLECTIVE_H
#define MCP_COLLECTIVE_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/engine.h"

enum {
    MCP_BUCKETS = 256, /* of the hash table of groups */
    MCP_EARLY = 128,   /* messages kept for groups that are not open yet */
    MCP_LATE = 1024,   /* closed groups remembered */
};

/*
 * How long to wait for a message before asking for it, at first and at the most when asking again
 * (nanoseconds). Asking in vain makes a collective slower, so it is 8 times what a collective
 * usually takes; but no more than MCP_PATIENCE_MORE_NS and half of what it takes, as on a network
 * that loses much it is patience that says how long that is, and it would grow without end.
 */
#define MCP_PATIENCE_NS UINT64_C(1000000)
#define MCP_PATIENCE_MORE_NS UINT64_C(2000000)
#define MCP_PATIENCE_MOST_NS UINT64_C(64000000)
#define MCP_PATIENCE_TIMES 8

struct mcp_collective {
    mcp_offset bucket[MCP_BUCKETS];
    mcp_offset active;    /* first of the groups that wait for messages */
    uint64_t deadline_ns; /* no group's patience ends before this; 0: nobody waits */
    uint32_t next_early, next_late;
    struct {
        uint64_t key; /* 0: none */
        uint32_t epoch;
        uint32_t slot;
    } early[MCP_EARLY];
    struct {
        uint64_t key;
        uint32_t epoch;
        uint32_t failed; /* as in struct mcp_group */
    } late[MCP_LATE];
};

/* Open a group that mcp_group_init() and its tables made ready; its key must not be open, nor 0. */
void mcp_collective_open(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group);

/* Close it; its memory is the host's again. */
void mcp_collective_close(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_group *group);

/* The host has arrived in `epoch`. */
void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch);

/* Node `missing` is missing, for longer than anybody will wait: the group fails, its hosts are
 * woken, and all its peers are told, who do the same. Once for each group. */
void mcp_collective_fail(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group, uint32_t missing);

/* A collective packet that mcp_parse() has let pass; it is from
 * MCP_LINK_SENDER. */
void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header);

/* Ask for what is missing where patience has ended; to be called when deadline_ns is over, or more
 * often. */
void mcp_collective_timer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters);

#endif
