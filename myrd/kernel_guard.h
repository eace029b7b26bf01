/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard: a child process that removes the NIC's filters from its interface after the daemon has
 * ended, for whatever reason. With clsact (firmware/kernel/hooks.h) the filters would otherwise
 * stay. Removing them requires CAP_NET_ADMIN, which permits reconfiguring the whole network. The
 * daemon itself must not keep that capability, because it communicates with untrusted clients.
 *
 * The guard keeps the capability and communicates with no client. It waits for the end of the
 * daemon, removes the filters and exits. (If another daemon can take the NIC over, a killed daemon
 * leaves the filters in place.) To keep its attack surface small, the guard has only two
 * descriptors, one end of a socket pair and a netlink socket, and only three system calls, read(),
 * write() and exit_group(). No signal but SIGKILL ends it before the daemon. If both are killed,
 * the next daemon removes the filters.
 *
 * Called by kernel_server.c while the process has one thread and has not dropped its capabilities
 * yet.
 */
#ifndef MYRD_KERNEL_GUARD_H
#define MYRD_KERNEL_GUARD_H

#include <stdbool.h>

#include "firmware/kernel/hooks.h"
#include "libmyr/status.h"

/* Starts a guard that removes the filters when this process ends, or, if they are to outlive it
 * (`kept`), only on request. `guard` is set to a descriptor for myrd_guard_end(), or to -1 if no
 * guard is needed because the hooks disappear with the process. The guard owns the hooks from then
 * on. */
enum myr_status myrd_guard_start(struct mcp_hooks *hooks, bool kept, int *guard,
                                 struct myr_error *error);

/* Requests that the filters be removed now. */
void myrd_guard_end(int guard);

#endif
