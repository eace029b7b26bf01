/* SPDX-License-Identifier: BSD-3-Clause */
/* The NIC of the node's daemon, myrd, for its clients.
 *
 * One daemon serves all jobs of one user on a node with one NIC. They share its memory and its
 * socket, and get both over a Unix socket. The trust boundary is the user: a job could harm the
 * processes of another job of its user anyway. Daemons of different users share nothing.
 *
 * A process that exits without closing the connection has died; the daemon then releases what it
 * held. The NIC does not need the daemon: when the daemon exits, waiting processes run the NIC
 * themselves. */
#ifndef MYR_SOFT_DAEMON_H
#define MYR_SOFT_DAEMON_H

#include <stddef.h>

#include "libmyr/soft/nic.h"

struct myr_soft_daemon {
    struct myr_segment *segment;
    struct myr_soft_nic *nic; /* NULL: not open */
    int connection;
};

/* The daemon's default socket: in $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp. False if the path is
 * too long. */
bool myr_soft_daemon_path(char *path, size_t bytes);

/* Open the NIC of the daemon that listens at `path` (NULL: the default). MYR_ERR_NOT_THERE: no
 * daemon. MYR_ERR_FOREIGN: another version. MYR_ERR_SYSTEM: it refuses, belongs to another user, or
 * does not answer. In a `hurry`, no answer within a tenth of a second is MYR_ERR_NOT_YET. Close the
 * NIC with myr_soft_daemon_close(), which may be called in any case. */
enum myr_status myr_soft_daemon_open(const char *path, bool hurry, struct myr_soft_daemon *daemon,
                                     struct myr_error *error);
void myr_soft_daemon_close(struct myr_soft_daemon *daemon);

#endif
