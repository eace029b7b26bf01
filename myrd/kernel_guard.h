/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guard is a child process that removes the NIC's filters from the network interface after the
 * daemon has ended, for any reason. If they are attached at a clsact qdisc
 * (firmware/kernel/hooks.h), they would otherwise stay. Removing them requires CAP_NET_ADMIN, which
 * permits reconfiguring the whole network. The daemon must not keep this capability, because it
 * communicates with untrusted clients.
 *
 * The guard keeps the capability, but does not communicate with clients. It waits until the daemon
 * has ended, removes the filters and exits. (If another daemon can take over the NIC, the filters
 * of a killed daemon are left in place.) To keep its attack surface small, the guard has only two
 * descriptors, one end of a socket pair and a netlink socket, and may use only three system calls:
 * read(), write() and exit_group(). Only SIGKILL can end the guard before the daemon. If both are
 * killed, the next daemon removes the filters.
 *
 * Called by kernel_server.c while the process has one thread and has not dropped its capabilities
 * yet. */
#ifndef MYRD_KERNEL_GUARD_H
#define MYRD_KERNEL_GUARD_H

#include <stdbool.h>

#include "firmware/kernel/hooks.h"
#include "libmyr/status.h"

/* Starts a guard, which owns the hooks from then on. It removes the filters when this process has
 * ended, but if `kept` is set, only after myrd_guard_end(). `guard` is set to a descriptor for
 * myrd_guard_end(), or to -1 if no guard is needed because the hooks disappear with the process. */
enum myr_status myrd_guard_start(struct mcp_hooks *hooks, bool kept, int *guard,
                                 struct myr_error *error);

/* Requests that the filters be removed now. */
void myrd_guard_end(int guard);

#endif
