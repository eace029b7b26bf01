/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner's side of the kernel's NIC: loads its program, attaches it to an interface, opens and
 * closes groups. For myrd and the tests. It needs CAP_BPF and CAP_NET_ADMIN, or root.
 *
 * Closing the NIC removes the program. If the owner dies, the program stays if it is pinned; else
 * hooks.h describes its removal. Other programs at the interface are not affected. Not thread-safe.
 *
 * Functions that can fail return 0, or -1 with a line in `why` that says what to do. */
#ifndef MCP_KERNEL_OWNER_H
#define MCP_KERNEL_OWNER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/kernel/hooks.h"
#include "firmware/kernel/kernel.h"

struct mcp_kernel; /* one NIC */

enum { MCP_KERNEL_WHY = 240 };

/* Load the NIC's program for the interface with this address and UDP port (network byte order).
 * Takes 0.3 s. It fails if this machine's kernel or this process's permissions do not allow the
 * NIC. mcp_kernel_close() ends it. */
int mcp_kernel_load(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY]);

/* Load the NIC's program so that the NIC outlives this process: its maps and links are pinned
 * (pins.h). If a dead owner has left a NIC at this address and port, take it over, with all of its
 * groups, which keep playing meanwhile. If that is impossible, replace it, and its groups fail. If
 * nothing can be pinned, this is the same as mcp_kernel_load(). In the last two cases `note` gets a
 * line with the reason; otherwise it is "". */
int mcp_kernel_load_kept(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                         char note[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY]);

/* Users with the same account share the quota of pages and buffers of one user. */
void mcp_kernel_count_by(struct mcp_kernel *kernel, uint32_t (*account)(uint32_t uid));

/* Was it taken over? And its pins (MCP_NO_PINS: none). */
bool mcp_kernel_taken(const struct mcp_kernel *kernel);
struct mcp_pins *mcp_kernel_pins(struct mcp_kernel *kernel);

/* A key that the NIC keeps from owner to owner: the first one's. */
void mcp_kernel_keep_key(struct mcp_kernel *kernel, uint64_t *key);

/* Attach it to the interface: from now on it plays. The caller has bound a socket to its port, so
 * that no other process can. */
int mcp_kernel_stand(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY]);

/* Its hooks. */
struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel);

/* Remove it (except for one that was taken over and was not attached by this owner). Or leave it to
 * the next owner, if it is pinned, as if this process had been killed. */
void mcp_kernel_close(struct mcp_kernel *kernel);
void mcp_kernel_leave(struct mcp_kernel *kernel);

/* A group to be opened. Tables are as in engine.h. `peers` has those sent to, then those waited
 * for. */
struct mcp_kernel_plan {
    uint64_t key;
    struct mcp_secret secret;
    uint32_t uid; /* whose doorbells are accepted */
    uint32_t nodes, node;
    uint32_t nsteps, nsends, nwaits; /* at most MCP_KERNEL_STEPS, MCP_KERNEL_MESSAGES */
    uint32_t places, unit_most;      /* of its buffer, at most MCP_KERNEL_BUFFER bytes; 0: none */
    uint32_t window, slot_bytes;     /* for broadcasts, at most MCP_BCAST_BYTES; 0: none */
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS];
};

/* The index of the next group among the open ones; MCP_KERNEL_GROUPS: no room for one. */
uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel);

/* Open a group; epochs begin with 1. The NIC keeps the descriptors in `seen`. Peers must be
 * neighbours (below), or nothing is sent to them. */
int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY]);

/* Close a group. Its last epoch is kept until it is forgotten: a peer that lost a message of that
 * epoch learns that it is done, or, with `fails`, that the group has failed because a process of
 * this node has died. The caller decides when to forget it; there is room for MCP_KERNEL_LATE.
 * False: out of memory to keep it, so the group stays open. Try again later. */
bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails);
void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key);

/* The hosts have left the group. If a peer may still miss data of its last epoch, or a broadcast,
 * begin a farewell epoch without data, like mcp_collective_farewell(), and return true with that
 * epoch; close the group when it is complete. False: close the group now. */
bool mcp_kernel_group_farewell(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch);

/* ---- state of the previous owner ---- */

/* Iterate over open or closed groups, in any order. `key` is 0 to begin with. False at the end. */
bool mcp_kernel_next_group(struct mcp_kernel *kernel, uint64_t *key);
bool mcp_kernel_next_late(struct mcp_kernel *kernel, uint64_t *key, struct mcp_kernel_late *late);

/* A group of the previous owner: the plan with which it was opened, and its present state. */
struct mcp_kernel_recalled {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    bool leaves;   /* it plays its farewell epoch, */
    uint32_t last; /* ... which is this */
};
bool mcp_kernel_recall(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_recalled *group);

/* Processes that have groups open, at indices from 0 to MCP_KERNEL_HOLDERS - 1. The NIC only stores
 * them for the owner. */
void mcp_kernel_note_holder(struct mcp_kernel *kernel, uint32_t place,
                            const struct mcp_kernel_holder *holder);
void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t place,
                              struct mcp_kernel_holder *holder);

/* ---- open groups ---- */

/* Has the group begun an epoch that is not complete? 1: yes; 0: it is idle; -1: no such group. */
int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done);

/* List the peers that the group waits for in its present step. Returns their number. */
uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES]);

/* The number of the missing node, plus 1, if the group has failed; else 0. */
uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key);

/* The NIC is about to be removed: show that to the group's hosts (MCP_KERNEL_REMOVED). */
void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key);

/* Ring the doorbell for a group, as its hosts do: MCP_RING_ASK; MCP_RING_FAIL, because a process of
 * this node has died; or MCP_RING_FAREWELL. */
int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring);

/* A descriptor that is readable when groups are stuck. -1: this kernel does not detect that, so the
 * caller must poll (mcp_kernel_group_waits()). */
int mcp_kernel_watch(const struct mcp_kernel *kernel);

/* Call `notify` for each stuck group. Notifications repeat, with growing intervals, as long as a
 * group is stuck. */
typedef void (*mcp_kernel_stuck_fn)(void *context, const struct mcp_kernel_stuck *stuck);
void mcp_kernel_consume(struct mcp_kernel *kernel, mcp_kernel_stuck_fn notify, void *context);

/* Resolve the hardware address of a host in the interface's network, and keep the neighbour entry
 * as long as a group needs it. After that it may be evicted for another one. If the system does not
 * have the address, this starts a query (ARP, or neighbour discovery) and fails for now: try
 * again. */
int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY]);

/* Its counters. */
void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters);

/* The name of its interface; and a change of that name. */
const char *mcp_kernel_interface(const struct mcp_kernel *kernel);
void mcp_kernel_rename(struct mcp_kernel *kernel, const char *interface);

#endif
