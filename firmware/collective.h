/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives of a NIC. This unit assigns packets to groups, and handles early messages, late
 * messages and retransmission requests.
 *
 * A barrier message may arrive for a process whose port is not open yet, or is already closed (this
 * problem is described in section 3.2 of Buntinas et al.). Here each group has a key, which is
 * derived from the random secret of its communicator and thus identifies the messages of exactly
 * one group:
 * - A message that arrives before its group is opened is kept in a small ring buffer. If it is
 *   overwritten there, the NIC requests the message later.
 * - The last epoch of a closed group is kept, so that a peer that has missed the last message
 *   learns that this epoch is complete. If the epoch carried data, however, the data no longer
 *   exist, and the peer would learn that the group has failed. Therefore a group that carries data
 *   runs one more epoch, the closing epoch, before it is closed.
 *
 * Each packet is authenticated by a hash of its contents and the group's secret. Until the hash has
 * been verified, the packet's key is used only to find the group, and its contents have no effect.
 * If a message arrives before its group is opened, the secret is still unknown. The message is then
 * stored together with the hash, and verified when the group is opened. */
#ifndef MCP_COLLECTIVE_H
#define MCP_COLLECTIVE_H

#include "firmware/board.h"
#include "firmware/counters.h"
#include "firmware/policy.h"

enum {
    MCP_BUCKETS = 256, /* number of buckets of the hash table of groups */
    MCP_EARLY = 128,   /* messages kept for groups that are not open yet */
    MCP_LATE = 1024,   /* closed groups whose last epoch is kept */
};

struct mcp_collective {
    mcp_offset bucket[MCP_BUCKETS];
    mcp_offset active;    /* first of the groups that wait for messages */
    uint64_t deadline_ns; /* no group's timeout expires before this; 0 if no group waits */
    uint32_t next_early, next_late;
    struct {
        uint64_t key, check; /* key 0: the entry is empty */
        struct mcp_collective_part part;
    } early[MCP_EARLY];
    struct {
        uint64_t key;
        struct mcp_ending ending;
    } late[MCP_LATE];
    struct mcp_secret late_secret[MCP_LATE]; /* secrets of those groups; in a separate array, so
                                                that a search reads only the keys */
};

/* Opens a group, which the caller has initialised with mcp_group_init() and filled with its tables.
 * Its key must not be 0 or that of another open group. */
void mcp_collective_open(struct mcp_collective *c, struct mcp_board *board,
                         struct mcp_counters *counters, struct mcp_group *group);

/* Closes a group. Its memory belongs to the host again. */
void mcp_collective_close(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_group *group);

/* Handles the host's arrival in `epoch`. */
void mcp_collective_start(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch);

/* Handles the arrival of the host in an epoch of a group that carries data. The block of this node
 * has `unit` bytes (0 if no node has data in this epoch). Returns false, without effect, if
 * mcp_group_offer() does not accept the block. */
bool mcp_collective_offer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters, struct mcp_group *group, uint32_t epoch,
                          const void *block, uint32_t unit);

/* Begins to close a group after its hosts have left.
 *
 * If the last epoch of the group carried data, or if the group broadcasts, another node may still
 * miss data that this node has sent. The group therefore runs one more epoch without data, the
 * closing epoch. Once it is complete, all nodes have received all data, and the group can be
 * closed. No host waits for this epoch. Instead, the group is closed by a later call, when
 * mcp_group_waits_now() returns false. FAIL messages of peers are ignored meanwhile.
 *
 * Returns true if the closing epoch has begun, and false if the group can be closed
 * immediately. */
bool mcp_collective_begin_closing(struct mcp_collective *c, struct mcp_board *board,
                                  struct mcp_counters *counters, struct mcp_group *group);

/* Begins broadcast `number`, whose root is this node, by sending the block to the children in the
 * tree. Returns false, without effect, if the window has no free slot for it (bcast.h), or the
 * group has failed. */
bool mcp_collective_bcast(struct mcp_board *board, struct mcp_counters *counters,
                          struct mcp_group *group, uint32_t number, const void *block,
                          uint32_t bytes);

/* Requests the block of that broadcast, because a host has waited for it too long. */
void mcp_collective_bcast_ask(struct mcp_board *board, struct mcp_counters *counters,
                              struct mcp_group *group, uint32_t root, uint32_t number);

/* Fails the group because the node `missing` is lost. This wakes the hosts of the group, and
 * informs all peers, which then fail the group as well. Returns MCP_KNOWN, without effect, if the
 * group has already failed, and MCP_IMPLAUSIBLE if it has no such node. */
enum mcp_recorded mcp_collective_fail(struct mcp_collective *c, struct mcp_board *board,
                                      struct mcp_counters *counters, struct mcp_group *group,
                                      uint32_t missing);

/* Handles a collective packet that mcp_parse() has accepted. MCP_LINK_SENDER is its sender. */
void mcp_collective_receive(struct mcp_collective *c, struct mcp_board *board,
                            struct mcp_counters *counters, const struct mcp_header *header,
                            const void *payload);

/* Requests the missing messages whose timeout has expired. To be called at deadline_ns, or more
 * often. */
void mcp_collective_timer(struct mcp_collective *c, struct mcp_board *board,
                          struct mcp_counters *counters);

#endif
