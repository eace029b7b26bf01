/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of the kernel's NIC: loads its program, puts it at an interface, opens and
 * closes groups. For myrd and the tests. It needs CAP_BPF and CAP_NET_ADMIN, or root.
 *
 * The program goes when its owner closes it. If the owner dies, it stays if it is pinned; else it
 * goes as hooks.h tells. Other programs at the interface are not touched. Not for several threads
 * at once.
 *
 * Functions that can fail return 0, or -1 with a line in `why` that says what to do.
 */
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

/* Load the NIC's program for the interface with this address. Its packets will have this UDP port
 * (network byte order). Takes 0.3 s. It shows whether this machine's kernel and this
 * process's rights allow the NIC. mcp_kernel_close() ends it. */
int mcp_kernel_load(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY]);

/*
 * The same, so that it outlives this process: its maps and links are pinned (pins.h). One that a
 * dead owner has left at this address and port is taken over, with all of its groups, and goes on
 * to play meanwhile. Where that cannot be, it is as mcp_kernel_load(), and `note` gets a line that
 * says why; else `note` is "". A NIC that was left, and cannot be taken over, is removed: what
 * plays on it fails.
 */
int mcp_kernel_load_kept(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                         char note[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY]);

/* Users for whom this returns the same have together as many pages and buffers as one user has. */
void mcp_kernel_count_by(struct mcp_kernel *kernel, uint32_t (*account)(uint32_t uid));

/* Was it taken over? And where are its pins (MCP_NO_PINS: it has none)? */
bool mcp_kernel_taken(const struct mcp_kernel *kernel);
struct mcp_pins *mcp_kernel_pins(struct mcp_kernel *kernel);

/* A number that goes with the NIC from owner to owner: the first one's. */
void mcp_kernel_keep_key(struct mcp_kernel *kernel, uint64_t *key);

/* Put it at the interface: from now on it plays. The caller has bound a socket to its port, so that
 * nobody else can. */
int mcp_kernel_stand(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY]);

/* Where it stands. */
struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel);

/* Remove it (but not one that was taken over, if it has not stood for this owner). Or leave it to
 * the next owner, if it is pinned: as if this process had been killed. */
void mcp_kernel_close(struct mcp_kernel *kernel);
void mcp_kernel_leave(struct mcp_kernel *kernel);

/* A group to be opened. Tables are as in engine.h. `peers` holds those sent to, then those waited
 * for. */
struct mcp_kernel_plan {
    uint64_t key;
    struct mcp_secret secret;
    uint32_t uid; /* whose doorbells count */
    uint32_t nodes, node;
    uint32_t nsteps, nsends, nwaits; /* at the most MCP_KERNEL_STEPS, MCP_KERNEL_MESSAGES */
    uint32_t places, unit_most;  /* of its buffer, MCP_KERNEL_BUFFER bytes at the most; 0: none */
    uint32_t window, slot_bytes; /* for broadcasts, MCP_BCAST_BYTES at the most; 0: none */
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS];
};

/* The number that the next group will have among those that are open; MCP_KERNEL_GROUPS: there is
 * no room for one. */
uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel);

/* Open it; epochs begin with 1. The descriptors in `seen` stay the NIC's. Peers must be neighbours
 * (below), or nothing is sent to them. */
int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY]);

/* Close it. Its last epoch is kept until it is forgotten: a peer that lost a message of that epoch
 * is told that it is done. Or that the group has failed, if it `fails`, as a process of this node
 * has died. The caller decides when to forget it; there is room for MCP_KERNEL_LATE. False: it
 * could not be kept, for want of memory, so the group stays as it is. Try again later. */
bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails);
void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key);

/* The hosts have left the group. If a peer may still miss data of its last epoch, or a broadcast,
 * it begins another one, without data, as mcp_collective_farewell() tells: true, with that epoch.
 * It is to be closed when that is complete. False: close it now. */
bool mcp_kernel_group_farewell(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch);

/* ---- what the owner before has left ---- */

/* The next open or closed group, in any order. `key` is 0 to begin with. False: there are no more.
 */
bool mcp_kernel_next_group(struct mcp_kernel *kernel, uint64_t *key);
bool mcp_kernel_next_late(struct mcp_kernel *kernel, uint64_t *key, struct mcp_kernel_late *late);

/* What was opened: as it was then, and now. */
struct mcp_kernel_recalled {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    bool leaves;   /* it says farewell, */
    uint32_t last; /* ... by this epoch */
};
bool mcp_kernel_recall(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_recalled *group);

/* Processes that have groups open, at places from 0 to MCP_KERNEL_HOLDERS - 1. The NIC keeps them
 * for the owner, and does nothing else with them. */
void mcp_kernel_note_holder(struct mcp_kernel *kernel, uint32_t place,
                            const struct mcp_kernel_holder *holder);
void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t place,
                              struct mcp_kernel_holder *holder);

/* ---- groups that are open ---- */

/* Has the group entered an epoch that is not done? 1: yes; 0: it is idle; -1: there is no such
 * group. */
int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done);

/* Find the peers that the group waits for in its present step. `list` gets them. Returns how
 * many. */
uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES]);

/* Not 0: the group has failed, as the node of this number - 1 is missing. */
uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key);

/* The NIC is to be removed: have the group's hosts see that (MCP_KERNEL_REMOVED). */
void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key);

/* Ring for a group, as its hosts do: MCP_RING_ASK; MCP_RING_FAIL, as a process of this node has
 * died; or MCP_RING_FAREWELL. */
int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring);

/* A descriptor that can be read when groups are stuck. -1: this kernel does not find out by itself,
 * so the caller has to look (mcp_kernel_group_waits()). */
int mcp_kernel_watch(const struct mcp_kernel *kernel);

/* Calls `tell` for each stuck group. It calls again, ever more seldom, as long as a group is
 * stuck. */
typedef void (*mcp_kernel_stuck_fn)(void *context, const struct mcp_kernel_stuck *stuck);
void mcp_kernel_hear(struct mcp_kernel *kernel, mcp_kernel_stuck_fn tell, void *context);

/* Find the hardware address of a host in the interface's network, and know it from now on, as long
 * as a group needs it. After that it is forgotten when there is no room for another one. Where the
 * system does not have the address, this starts a question (ARP, or IPv6's) and fails for now: try
 * again. */
int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY]);

/* What it has counted so far. */
void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters);

/* The name of its interface, and that it has another one now. */
const char *mcp_kernel_interface(const struct mcp_kernel *kernel);
void mcp_kernel_rename(struct mcp_kernel *kernel, const char *interface);

#endif
