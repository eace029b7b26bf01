/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a whole NIC: assigning packets to groups, early and late messages, and
 * retransmission requests.
 *
 * Section 3.2 of Buntinas et al. asks what to do with a barrier message for a process whose port is
 * not open yet, or is closed again. Here a group's key answers it. The key is made of secrets of
 * all members' present incarnations, so it identifies their messages alone. A message that arrives
 * before its group is open is kept in a small ring buffer. If it is overwritten there, the NIC asks
 * for it again later. The last epoch of a closed group is kept, so that a peer that lost the last
 * message learns that it is done. But if that epoch had data, they are gone, and the peer learns
 * that the group has failed. So a group that carries data plays a farewell epoch before it is
 * closed.
 *
 * No field of a packet is used before its check is verified. An early message is kept with its
 * check, which is verified when the group is opened, as its secret is known then. */
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
    uint64_t deadline_ns; /* no group's timeout expires before this; 0: none waits */
    uint32_t next_early, next_late;
    struct {
        uint64_t key, check; /* key 0: none */
        struct mcp_collective_part part;
    } early[MCP_EARLY];
    struct {
        uint64_t key;
        struct mcp_ending ending;
    } late[MCP_LATE];
    struct mcp_secret late_secret[MCP_LATE]; /* of those groups; in a separate array, because the
                                                keys are searched */
};

/* Open a group, which is initialised by mcp_group_init() and has its tables. Its key must not be 0,
 * or be that of another open group. */
void mcp_collective_open(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group);

/* Close a group. Its memory is the host's again. */
void mcp_collective_close(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_group *group);

/* The host has arrived in `epoch`. */
void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch);

/* The host has arrived in `epoch` of a group that carries data, with the node's block of `unit`
 * bytes (0: no node has data). Returns false, without effect, if mcp_group_offer() does not accept
 * the block. */
bool mcp_collective_offer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch,
                          const void *block, uint32_t unit);

/* The hosts have left a group. If its last epoch carried data, or if it broadcasts, a peer may
 * still miss this node's payload, so the group plays one more epoch, without data. Once it is
 * complete, all nodes have had all data, and the group can be closed. No host waits for it: a later
 * call closes it, once mcp_group_waits_now() is false. Meanwhile FAIL messages of peers are
 * ignored. Returns true if that epoch is under way, and false if the group can be closed now. */
bool mcp_collective_farewell(struct mcp_collective *c, struct mcp_board *board,
                             struct mcp_counters *counters, struct mcp_group *group);

/* This node is the root of broadcast `number`: send the block, `bytes` bytes, to all nodes. False,
 * without effect, if the window has no room for it (bcast.h), or the group has failed. */
bool mcp_collective_bcast(struct mcp_board *board, struct mcp_counters *counters,
                          struct mcp_group *group, uint32_t number, const void *block,
                          uint32_t bytes);

/* A host has waited long for that block: ask for it. */
void mcp_collective_bcast_ask(struct mcp_board *board, struct mcp_counters *counters,
                              struct mcp_group *group, uint32_t root, uint32_t number);

/* Give node `missing` up: the group fails, its hosts are woken, and all its peers are informed,
 * which do the same. Returns MCP_KNOWN, without effect, if the group has failed before, and
 * MCP_IMPLAUSIBLE if it has no such node. */
enum mcp_recorded mcp_collective_fail(struct mcp_collective *c, struct mcp_board *board,
                                      struct mcp_counters *counters, struct mcp_group *group,
                                      uint32_t missing);

/* Handle a collective packet that mcp_parse() has accepted. MCP_LINK_SENDER is its sender. */
void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload);

/* Ask for missing messages whose timeout has expired. Call it at deadline_ns, or more often. */
void mcp_collective_timer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters);

#endif
