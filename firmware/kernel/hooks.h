/* SPDX-License-Identifier: BSD-3-Clause */
/* Attaches the programs of the kernel NIC to an interface, one for ingress and one for egress.
 * There are two mechanisms, for which the kernel is probed:
 * - tcx (Linux 6.6): links, which are descriptors of this process. When the process ends, for any
 *   reason, they are detached unless they are pinned (pins.h). A pinned link remains attached, and
 *   the next NIC replaces its program without missing a packet.
 * - clsact (older kernels): filters in the traffic control of the interface. They remain when their
 *   process ends, so the caller must remove them before it ends, or another process must do so in
 *   its place (mcp_hooks_detach()). If both were killed, the next NIC with the same name finds and
 *   removes the filters. The clsact qdisc itself remains, even if it was created by this code,
 *   because other programs may use it meanwhile, and an empty qdisc costs nothing.
 *
 * Both at tcx and at clsact, the programs of the NIC run before programs that were attached
 * earlier, and pass other traffic on to them. Programs at tcx run before programs at clsact.
 *
 * Invariants: links, filters and qdiscs that this NIC does not own are never changed or removed. A
 * filter belongs to this NIC if it has the name of the NIC, which contains the NIC's address and
 * port, and is thus unique among the running NICs of a network namespace. */
#ifndef MCP_KERNEL_HOOKS_H
#define MCP_KERNEL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/pins.h"

enum mcp_way { MCP_IN, MCP_OUT, MCP_WAYS };

struct mcp_hooks {
    int link[MCP_WAYS]; /* with tcx; -1 if there is none */
    int socket;         /* with clsact: for requests to remove the filters; -1 if unused */
    uint32_t interface;
    struct mcp_filter {
        uint32_t handle, info; /* 0 if there is none; its priority and protocol */
    } filter[MCP_WAYS];
};

/* The initial value: nothing is attached. */
#define MCP_NO_HOOKS ((struct mcp_hooks){.link = {-1, -1}, .socket = -1})

/* Attaches both programs, given by their descriptors, to the interface with this index. tcx is used
 * only if `tcx` is set. If `pins` is not NULL, links are pinned there, and links that are pinned
 * already get the new programs. Returns 0, or -1 with errno; in either case the caller must call
 * mcp_hooks_detach(). EADDRINUSE means that the interface has a qdisc that excludes clsact. */
int mcp_hooks_attach(struct mcp_hooks *hooks, uint32_t interface, const int program[MCP_WAYS],
                     const char *name, bool tcx, const struct mcp_pins *pins);

/* Names of the links' pins. */
extern const char *const mcp_hooks_pins[MCP_WAYS];

/* Returns whether the programs are attached by filters, which the kernel does not remove when this
 * process ends. */
bool mcp_hooks_have_filters(const struct mcp_hooks *hooks);

/* Removes the filters, if there are any. This needs CAP_NET_ADMIN, and uses only the system calls
 * read() and write(). */
void mcp_hooks_remove(const struct mcp_hooks *hooks);

/* Forgets the filters, because another process will remove them. */
void mcp_hooks_forget(struct mcp_hooks *hooks);

/* Detaches the programs. Pinned links stay until their pins are removed. */
void mcp_hooks_detach(struct mcp_hooks *hooks);

#endif
