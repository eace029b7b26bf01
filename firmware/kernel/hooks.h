/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the kernel NIC's programs stand at an interface: one looks at what comes in, one at what
 * goes out. There are two ways to stand, and the kernel is asked which one it has.
 *
 * tcx (Linux 6.6): links, which are descriptors of this process. They go with it, however it ends,
 * unless they are pinned (pins.h). A pinned link stays, and the next NIC puts its own program into
 * it, with no packet in between.
 *
 * clsact (older kernels): filters of the interface's traffic control. They stay when their process
 * ends. So somebody has to remove them: the caller at its end, or another process in its place
 * (mcp_hooks_leave()). Where both were killed, the next NIC with the same name finds the filters
 * and takes them away. The clsact itself stays, even if it was made here: somebody else may have
 * come to use it, and an empty one costs nothing.
 *
 * Either way the NIC stands before all others that came earlier, and lets go on to them what is not
 * its own. Programs at tcx come before those at clsact.
 *
 * Invariants: nobody else's link, filter or clsact is changed or removed. A filter is this NIC's if
 * it has its name. A name has the NIC's address and port in it, so two living NICs of a network
 * namespace never have the same.
 */
#ifndef MCP_KERNEL_HOOKS_H
#define MCP_KERNEL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/kernel/pins.h"

enum mcp_way { MCP_IN, MCP_OUT, MCP_WAYS };

struct mcp_hooks {
    int link[MCP_WAYS]; /* by tcx; -1: there is none */
    int socket;         /* by clsact: to ask the system to remove the filters; -1: not so */
    uint32_t interface;
    struct mcp_filter {
        uint32_t handle, place; /* 0: there is none; its priority and protocol */
    } filter[MCP_WAYS];
};

/* Programs that stand nowhere. */
#define MCP_NO_HOOKS ((struct mcp_hooks){.link = {-1, -1}, .socket = -1})

/* Have both programs (descriptors) stand at the interface (its number). `tcx`: that may be tried.
 * `pins`: links are pinned there, and those that are there already get these programs; or NULL.
 * Returns 0, or -1 with errno; mcp_hooks_leave() is to be called either way. EADDRINUSE: a qdisc is
 * in the way of clsact. */
int mcp_hooks_stand(struct mcp_hooks *hooks, uint32_t interface, const int program[MCP_WAYS],
                    const char *name, bool tcx, const struct mcp_pins *pins);

/* Names of the links' pins. */
extern const char *const mcp_hooks_pins[MCP_WAYS];

/* Will they stay at the interface when this process ends? */
bool mcp_hooks_stay(const struct mcp_hooks *hooks);

/* Remove the filters, if there are any. This takes CAP_NET_ADMIN, and no system calls but read()
 * and write(). */
void mcp_hooks_remove(const struct mcp_hooks *hooks);

/* Somebody else removes the filters: forget them. */
void mcp_hooks_forget(struct mcp_hooks *hooks);

/* Leave the interface. Pinned links stay until they have no pins any more. */
void mcp_hooks_leave(struct mcp_hooks *hooks);

#endif
