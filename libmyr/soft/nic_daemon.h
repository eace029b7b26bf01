/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NIC of the node's daemon, myrd, as its clients have it.
 *
 * One daemon serves all jobs of one user on a node with one NIC. They share its memory and its
 * socket, and get both over a Unix socket. The boundary is the user: a job could harm the processes
 * of another job of its user anyway. Other users' daemons share nothing with it.
 *
 * A process that ends without closing the connection has died. The daemon then takes back what it
 * held. The NIC does not need the daemon: when the daemon ends, waiting processes run the NIC
 * themselves.
 */
#ifndef MYR_SOFT_DAEMON_H
#define MYR_SOFT_DAEMON_H

#include <stddef.h>

#include "libmyr/soft/nic.h"

struct myr_soft_daemon {
    struct myr_segment *segment;
    struct myr_soft_nic *nic; /* NULL: not open */
    int connection;
};

/* Where the daemon listens unless it is told otherwise: in $XDG_RUNTIME_DIR, else in $TMPDIR or
 * /tmp. False if that is too long. */
bool myr_soft_daemon_path(char *path, size_t bytes);

/*
 * Open the NIC of the daemon that listens at `path` (NULL: the usual place). MYR_ERR_NOT_THERE:
 * there is none. MYR_ERR_FOREIGN: it is of another version. MYR_ERR_SYSTEM: it refuses, is somebody
 * else's, or does not answer. In a `hurry` that last thing is known after a tenth of a second, and
 * is MYR_ERR_NOT_YET. Close the NIC by myr_soft_daemon_close(), which may be called in any case.
 */
enum myr_status myr_soft_daemon_open(const char *path, bool hurry, struct myr_soft_daemon *daemon,
                                     struct myr_error *error);
void myr_soft_daemon_close(struct myr_soft_daemon *daemon);

#endif
