/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that removes the NIC's filters from its interface when the daemon has ended, in
 * whatever way. Where the NIC stands by clsact (firmware/kernel/hooks.h) these would stay. The
 * daemon itself may not remove them: that takes CAP_NET_ADMIN, with which one may also turn the
 * network upside down, and the daemon talks to everybody.
 *
 * So a child of it keeps that right. It talks to nobody. It waits for the daemon's end, removes the
 * filters, and ends. (Where the next daemon takes the NIC over, one that is killed leaves them.) It
 * has no descriptors but one end of a pair of sockets and one for traffic control. It may read,
 * write, and end: no other system call. No signal but SIGKILL ends it before the daemon. Where that
 * ends both, the next daemon removes the filters.
 *
 * Called by kernel_server.c, by its one thread, before it gives up its rights.
 */
#ifndef MYRD_KERNEL_GUARD_H
#define MYRD_KERNEL_GUARD_H

#include <stdbool.h>

#include "firmware/kernel/hooks.h"
#include "libmyr/status.h"

/* Have the filters removed when this process ends, however it ends; or, where they are to outlive
 * it
 * (`kept`), only when it says so. `guard` gets a descriptor for
 * myrd_guard_end(); -1 if the hooks do not stay, so that there is nothing to guard. The hooks are
 * the guard's from now on. */
enum myr_status myrd_guard_start(struct mcp_hooks *hooks, bool kept, int *guard,
                                 struct myr_error *error);

/* Have them removed now. */
void myrd_guard_end(int guard);

#endif
