/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a whole NIC: which group a packet belongs to, what comes too early or too late,
 * and who has waited too long.
 *
 * Section 3.2 of Buntinas et al. asks what to do with a barrier message for a process whose port is
 * not open yet, or is closed again. Here a group's key answers it. The key is made of secrets of
 * all members' present incarnations, so nobody else's messages ever fit. A message that comes
 * before its group is open is kept in a small record. Where the record is too small, the NIC asks
 * for the message again later. Of a closed group the last epoch is kept: a peer that lost the last
 * message is then told that it is done. But if that epoch had data, they are gone: the peer is told
 * that the group has failed. So a group that carries data says farewell before it is closed.
 *
 * Nothing that a packet says counts before its check is known to be good. A message that comes
 * early is kept with its check, and looked at when the group is opened, as its secret is known
 * then.
 */
#ifndef MCP_COLLECTIVE_H
#define MCP_COLLECTIVE_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/policy.h"

enum {
    MCP_BUCKETS = 256, /* of the hash table of groups */
    MCP_EARLY = 128,   /* messages kept for groups that are not open yet */
    MCP_LATE = 1024,   /* closed groups remembered */
};

struct mcp_collective {
    mcp_offset bucket[MCP_BUCKETS];
    mcp_offset active;    /* first of the groups that wait for messages */
    uint64_t deadline_ns; /* no group's patience ends before this; 0: nobody waits */
    uint32_t next_early, next_late;
    struct {
        uint64_t key, check; /* key 0: none */
        struct mcp_collective_part part;
    } early[MCP_EARLY];
    struct {
        uint64_t key;
        struct mcp_ending ending;
    } late[MCP_LATE];
    struct mcp_secret
        late_secret[MCP_LATE]; /* of those groups; apart, as their keys are searched */
};

/* Open a group that mcp_group_init() and its tables made ready. Its key must not be 0, nor be open
 * already. */
void mcp_collective_open(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group);

/* Close it. Its memory is the host's again. */
void mcp_collective_close(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_group *group);

/* The host has arrived in `epoch`. */
void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch);

/* The same in a group that carries data, with the node's block for that epoch, `unit` bytes (0:
 * nobody has any). False, and nothing is done, where mcp_group_offer() says so. */
bool mcp_collective_offer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch,
                          const void *block, uint32_t unit);

/*
 * The hosts have left a group. If its last epoch carried data, or if it broadcasts, a peer may
 * still miss this node's payload, so the group plays one more epoch, without data. When that is
 * complete, all nodes have had all data, and the group can be closed. Nobody waits for it: whoever
 * passes by later closes it, once mcp_group_waits_now() is false. Meanwhile it does not fail,
 * whatever its peers say. True: it is under way. False: close it now.
 */
bool mcp_collective_farewell(struct mcp_collective *c, struct mcp_board *board,
                             struct mcp_counters *counters, struct mcp_group *group);

/*
 * This node is the root of broadcast `number`: the block, `bytes` bytes, goes to all nodes. False,
 * and nothing is done, where the window has no room for it (bcast.h), or the group has failed.
 */
bool mcp_collective_bcast(struct mcp_board *board, struct mcp_counters *counters,
                          struct mcp_group *group, uint32_t number, const void *block,
                          uint32_t bytes);

/* A host has waited for that block for long: ask for it. */
void mcp_collective_bcast_ask(struct mcp_board *board, struct mcp_counters *counters,
                              struct mcp_group *group, uint32_t root, uint32_t number);

/* Node `missing` is missing, and nobody will wait for it any longer. The group fails, its hosts are
 * woken, and all its peers are told, which do the same. Once for each group: MCP_KNOWN after that.
 * MCP_IMPLAUSIBLE if the group has no such node. */
enum mcp_recorded mcp_collective_fail(struct mcp_collective *c, struct mcp_board *board,
                                      struct mcp_counters *counters, struct mcp_group *group,
                                      uint32_t missing);

/* Handle a collective packet that mcp_parse() has accepted. MCP_LINK_SENDER is its sender. */
void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload);

/* Ask for missing messages where patience has ended. Call it when deadline_ns is over, or more
 * often. */
void mcp_collective_timer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters);

#endif
