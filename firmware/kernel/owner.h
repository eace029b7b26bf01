/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of the kernel's NIC: loads its program, stands it at an interface, opens and
 * closes groups. For myrd and the tests; needs CAP_BPF and CAP_NET_ADMIN, or root.
 *
 * The program goes when its owner closes it or dies, however that happens; what other programs
 * stand at the interface is not touched. Not for several threads at once.
 *
 * Functions that can fail return 0, or -1 with a line in `why` that says what to do.
 */
#ifndef MCP_KERNEL_OWNER_H
#define MCP_KERNEL_OWNER_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/kernel/kernel.h"

struct mcp_kernel; /* one NIC */

enum { MCP_KERNEL_WHY = 240 };

/* Load the NIC's program, for the interface that has this address (network byte order). Its packets
 * will have this UDP port (network byte order). Takes 0.2 s; says whether this machine's kernel and
 * this process's rights allow it. mcp_kernel_close() ends it. */
int mcp_kernel_load(uint32_t ip, uint16_t port, struct mcp_kernel **kernel,
                    char why[MCP_KERNEL_WHY]);

/* Stand it at the interface: from now on it plays. The caller has bound a socket to its port, so
 * that nobody else does. */
int mcp_kernel_stand(struct mcp_kernel *kernel, char why[MCP_KERNEL_WHY]);
void mcp_kernel_close(struct mcp_kernel *kernel);

/* A group to be opened. Tables as in engine.h; `peers` are those sent to, then those waited for. */
struct mcp_kernel_plan {
    uint64_t key;
    uint32_t uid; /* whose doorbells count */
    uint32_t node;
    uint32_t nsteps, nsends, nwaits; /* at the most MCP_KERNEL_STEPS, MCP_KERNEL_MESSAGES */
    struct mcp_step steps[MCP_KERNEL_STEPS];
    struct mcp_kernel_peer peers[MCP_KERNEL_PEERS];
};

/* Have what groups to come need made ahead from now on, by a thread with the rights that the caller
 * has now. */
void mcp_kernel_prepare(struct mcp_kernel *kernel);

/* Open it; epochs begin with 1. `page` gets a descriptor that may be mapped to read one struct
 * mcp_kernel_page (and nothing else may be done with it); it is the caller's. Peers must be
 * neighbours (below), or they are not sent to. */
int mcp_kernel_group_open(struct mcp_kernel *kernel, const struct mcp_kernel_plan *plan, int *page,
                          char why[MCP_KERNEL_WHY]);

/* Close it. Its last epoch is kept, so that a peer who lost a message of that hears that it is
 * done, as long as it is not forgotten (which the caller sees to: there is room for
 * MCP_KERNEL_LATE). */
void mcp_kernel_group_close(struct mcp_kernel *kernel, uint64_t key);
void mcp_kernel_group_forget(struct mcp_kernel *kernel, uint64_t key);

/* Has the group entered an epoch (1) that is not done (0: idle, -1: there is no such group)? */
int mcp_kernel_group_waits(struct mcp_kernel *kernel, uint64_t key, uint32_t *done);

/* Whom does the group wait for in its present step? `list` gets them, and the return is how many.
 */
uint32_t mcp_kernel_group_missing(struct mcp_kernel *kernel, uint64_t key,
                                  struct mcp_kernel_missing list[MCP_KERNEL_MESSAGES]);

/* Not 0: the group has failed, as the node of this number - 1 is missing. */
uint32_t mcp_kernel_group_failed(struct mcp_kernel *kernel, uint64_t key);

/* Ring for a group, as its hosts do: MCP_RING_ASK; or MCP_RING_FAIL, as a process of this node has
 * died. */
int mcp_kernel_ring(struct mcp_kernel *kernel, uint64_t key, enum mcp_ring ring);

/* A descriptor that can be read when there are groups that are stuck; -1: this kernel does not find
 * out by itself, so that the caller has to look (mcp_kernel_group_waits()). */
int mcp_kernel_watch(const struct mcp_kernel *kernel);

/* Which are stuck: `tell` is called for each, and again, ever more seldom, as long as they are. */
typedef void (*mcp_kernel_stuck_fn)(void *context, const struct mcp_kernel_stuck *stuck);
void mcp_kernel_hear(struct mcp_kernel *kernel, mcp_kernel_stuck_fn tell, void *context);

/* Find out the hardware address of a host in the interface's network, and know it from now on.
 * Where the system does not have it, it is asked to (by ARP), and this fails for now: try again. */
int mcp_kernel_meet(struct mcp_kernel *kernel, uint32_t ip, char why[MCP_KERNEL_WHY]);

/* What it has counted so far. */
void mcp_kernel_count(struct mcp_kernel *kernel, struct mcp_counters *counters);

/* The name of the interface it stands at. */
const char *mcp_kernel_interface(const struct mcp_kernel *kernel);

#endif
