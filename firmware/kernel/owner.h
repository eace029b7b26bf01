/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of the kernel NIC is a process that loads the NIC's program, attaches it to an
 * interface, and opens and closes groups. myrd and the tests are owners. The functions need CAP_BPF
 * and CAP_NET_ADMIN, or root.
 *
 * Closing the NIC removes the program. If the owner dies, the program stays attached if it is
 * pinned; otherwise it is removed as described in hooks.h. Programs that others have attached to
 * the interface are not affected. The functions are not thread-safe.
 *
 * Functions that can fail return 0 on success, or -1 with a message in `why` that says how to fix
 * the problem. */
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

/* Loads the NIC's program for the interface that has the address `ip`, which takes 0.3 s. `port` is
 * the UDP port of the NIC (network byte order). Fails if the kernel does not support the NIC, or
 * this process lacks permissions. mcp_kernel_close() releases the NIC. */
int mcp_kernel_load(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY]);

/* Loads the program of the NIC in such a way that the NIC outlives this process: its maps and links
 * are pinned (pins.h).
 *
 * If an owner has died and left a NIC at this address and port, this function takes over that NIC
 * with all its groups, which continue meanwhile. If the takeover is impossible, the old NIC is
 * replaced, and its groups fail. If nothing can be pinned, this function does the same as
 * mcp_kernel_load(). In the last two cases `warning` is set to a message with the reason, otherwise
 * to "". */
int mcp_kernel_load_kept(const struct mcp_ip *ip, uint16_t port, struct mcp_kernel **kernel,
                         char warning[MCP_KERNEL_WHY], char why[MCP_KERNEL_WHY]);

/* Sets the function that returns a user's account. Users with the same account share one quota of
 * pages and buffers. */
void mcp_kernel_count_by(struct mcp_kernel *kernel, uint32_t (*account)(uint32_t uid));

/* mcp_kernel_taken() returns whether the NIC was taken over; mcp_kernel_pins() returns its pins, or
 * MCP_NO_PINS if it has none. */
bool mcp_kernel_taken(const struct mcp_kernel *kernel);
struct mcp_pins *mcp_kernel_pins(struct mcp_kernel *kernel);

/* Makes all owners of a NIC use the same key. If this is the NIC's first owner, stores *key for
 * later owners; otherwise sets *key to the stored key. */
void mcp_kernel_keep_key(struct mcp_kernel *kernel, uint64_t *key);

/* Attaches the NIC to the interface, so that it handles packets from now on. Before this call, the
 * caller must bind a socket to the NIC's port, so that no other process can use the port. */
int mcp_kernel_attach(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY]);

/* Returns the NIC's hooks. */
struct mcp_hooks *mcp_kernel_hooks(struct mcp_kernel *kernel);

/* mcp_kernel_close() removes the NIC, unless it was taken over and this owner has not attached it
 * yet. mcp_kernel_leave() leaves a pinned NIC to the next owner, as if this process had been
 * killed. */
void mcp_kernel_close(struct mcp_kernel *kernel);
void mcp_kernel_leave(struct mcp_kernel *kernel);

/* The parameters of a group to open. The tables are described in engine.h. `peers` first contains
 * the peers to send to, and then the peers to wait for. */
struct mcp_kernel_plan {
    uint64_t key;
    struct mcp_secret secret;
    uint32_t uid; /* whose doorbells are accepted */
    uint32_t nodes, node;
    uint32_t nsteps, nsends, nwaits; /* at most MCP_KERNEL_STEPS, MCP_KERNEL_MESSAGES */
    /* of its buffer, at most MCP_KERNEL_BUFFER bytes; 0 if it has none */
    uint32_t buffer_blocks, unit_most;
    /* for broadcasts, at most MCP_BCAST_BYTES; 0 if it does not broadcast */
    uint32_t window, slot_bytes;
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS];
};

/* Returns the index that the next group will have among the open groups, or MCP_KERNEL_GROUPS if
 * the limit is reached. */
uint32_t mcp_kernel_next_number(const struct mcp_kernel *kernel);

/* Opens a group, whose first epoch is 1, and stores the locations of its release and buffer in
 * `seen`; the descriptors there remain owned by the NIC. Each peer needs a neighbour entry
 * (mcp_kernel_meet()), because nothing is sent to a peer without one. */
int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan,
                          struct mcp_kernel_seen *seen, char why[MCP_KERNEL_WHY]);

/* mcp_kernel_group_close() closes a group, but keeps its last epoch. A peer that misses a message
 * of this epoch thus still learns that the epoch is complete or, if `fails` is set, that the group
 * has failed because a process of this node has died. If there is no memory for keeping the epoch,
 * returns false and leaves the group open; the caller tries again later.
 *
 * mcp_kernel_group_forget() deletes the kept epoch. The caller decides when; at most
 * MCP_KERNEL_LATE can be kept. */
bool mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key, bool fails);
void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key);

/* Begins to close a group that its hosts have left. If a peer may still miss data of the last
 * epoch, or a broadcast, begins a closing epoch (mcp_collective_begin_closing()), stores its number
 * in *epoch, and returns true; the caller closes the group when this epoch is complete. Returns
 * false if the group can be closed immediately. */
bool mcp_kernel_group_begin_closing(struct mcp_kernel *kernel, uint64_t key, uint32_t *epoch);

/* ---- state of the previous owner ---- */

/* Iterate over the open or the closed groups, in any order. *key must initially be 0. Return false
 * at the end. */
bool mcp_kernel_next_group(struct mcp_kernel *kernel, uint64_t *key);
bool mcp_kernel_next_late(struct mcp_kernel *kernel, uint64_t *key, struct mcp_kernel_late *late);

/* A group of the previous owner: the parameters with which it was opened, and its present state. */
struct mcp_kernel_recalled {
    struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    bool failed;
    bool leaves;   /* whether it runs its closing epoch */
    uint32_t last; /* the last epoch that it has started, such as the closing epoch */
};
bool mcp_kernel_recall(struct mcp_kernel *kernel, uint64_t key, struct mcp_kernel_recalled *group);

/* Store and load one record of a process that has groups open; `index` is below MCP_KERNEL_HOLDERS.
 * The records are kept for the next owner; the NIC itself does not use them. */
void mcp_kernel_record_holder(struct mcp_kernel *kernel, uint32_t index,
                              const struct mcp_kernel_holder *holder);
void mcp_kernel_recall_holder(struct mcp_kernel *kernel, uint32_t index,
                              struct mcp_kernel_holder *holder);

/* ---- open groups ---- */

/* Returns 1 if the group has begun an epoch that is not complete, 0 if it is idle, and -1 if there
 * is no such group. */
int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done);

/* Lists the peers that the group waits for in its present step. Returns their number. */
uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_missing list[MCP_KERNEL_MESSAGES]);

/* Returns the number of the missing node, plus 1, if the group has failed; else 0. */
uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key);

/* Publishes to the group's hosts that the NIC is about to be removed (MCP_KERNEL_REMOVED). */
void mcp_kernel_group_give_up(struct mcp_kernel *kernel, uint64_t key);

/* Rings a doorbell for a group, as its hosts do: MCP_RING_ASK, MCP_RING_FAIL (a process of this
 * node has died), or MCP_RING_CLOSING. */
int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring);

/* Returns a descriptor that becomes readable when groups are stuck. Returns -1 if this kernel
 * cannot detect stuck groups; the caller must then poll each group by mcp_kernel_group_waits(). */
int mcp_kernel_watch(const struct mcp_kernel *kernel);

/* Calls `notify` for each stuck group. Notifications repeat, at growing intervals, as long as a
 * group is stuck. */
typedef void (*mcp_kernel_stuck_fn)(void *context, const struct mcp_kernel_stuck *stuck);
void mcp_kernel_consume(struct mcp_kernel *kernel, mcp_kernel_stuck_fn notify, void *context);

/* Resolves the hardware address of a host in the interface's network, and stores it in a neighbour
 * entry. The entry is kept as long as a group needs it; afterwards it may be evicted. If the system
 * does not know the address yet, this call starts a query (ARP, or neighbour discovery) and fails;
 * the caller then tries again later. */
int mcp_kernel_meet(struct mcp_kernel *kernel, const struct mcp_ip *ip, char why[MCP_KERNEL_WHY]);

/* Gets the NIC's counters, summed over all CPUs; all are 0 on failure. */
void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters);

/* mcp_kernel_interface() returns the name of the NIC's interface. mcp_kernel_rename() sets the name
 * after the interface was renamed. */
const char *mcp_kernel_interface(const struct mcp_kernel *kernel);
void mcp_kernel_rename(struct mcp_kernel *kernel, const char *interface);

#endif
