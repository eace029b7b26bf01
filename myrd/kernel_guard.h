/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A child process that removes the NIC's filters from its interface after the daemon has ended, for
 * whatever reason. With clsact (firmware/kernel/hooks.h) filters would otherwise stay. The daemon
 * itself must not be able to remove them: that needs CAP_NET_ADMIN, by which one can reconfigure
 * the whole network, and the daemon communicates with untrusted clients.
 *
 * The guard keeps that capability and communicates with nobody. It waits for the end of the daemon,
 * removes the filters and exits. (If another daemon can take the NIC over, a killed daemon leaves
 * the filters.) Its only descriptors are one end of a socket pair and a netlink socket. Its only
 * system calls are read(), write() and exit_group(). No signal but SIGKILL ends it before the
 * daemon. If both are killed, the next daemon removes the filters.
 *
 * Called by kernel_server.c, whose only thread has not dropped its capabilities yet.
 */
#ifndef MYRD_KERNEL_GUARD_H
#define MYRD_KERNEL_GUARD_H

#include <stdbool.h>

#include "firmware/kernel/hooks.h"
#include "libmyr/status.h"

/* Start a guard that removes the filters when this process ends, or, if they are to outlive it
 * (`kept`), only on request. `guard` gets a descriptor for myrd_guard_end(), or -1 if no guard is
 * needed because the hooks disappear with the process. The guard owns the hooks from then on. */
enum myr_status myrd_guard_start(struct mcp_hooks *hooks, bool kept, int *guard,
                                 struct myr_error *error);

/* Request that the filters be removed now. */
void myrd_guard_end(int guard);

#endif
