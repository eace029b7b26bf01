/* SPDX-License-Identifier: BSD-3-Clause */
/* The soft NIC of the daemon myrd: the interface for its clients.
 *
 * A daemon serves all jobs of a user on a node with a single NIC. The jobs share the memory and the
 * UDP socket of this NIC, and get both over a Unix socket. The trust boundary is the user, because
 * a job could harm the processes of another job of the same user anyway. Daemons of different users
 * share nothing.
 *
 * If the connection to a process ends without a close message, the process has died, and the daemon
 * releases the resources of the process. The NIC itself does not depend on the daemon: when the
 * daemon exits, waiting processes run the NIC themselves. */
#ifndef MYR_SOFT_DAEMON_H
#define MYR_SOFT_DAEMON_H

#include <stddef.h>

#include "libmyr/soft/nic.h"

struct myr_soft_daemon {
    struct myr_segment *segment;
    struct myr_soft_nic *nic; /* NULL if not open */
    int connection;
};

/* Forms the path of the daemon's default socket: in $XDG_RUNTIME_DIR, else in $TMPDIR or /tmp.
 * Returns false if the path is too long. */
bool myr_soft_daemon_path(char *path, size_t bytes);

/* Opens the NIC of the daemon that listens at `path` (NULL for the default). Close it with
 * myr_soft_daemon_close(), which may be called in any case. Returns
 * - MYR_ERR_NOT_THERE if there is no daemon,
 * - MYR_ERR_FOREIGN if it has another version,
 * - MYR_ERR_SYSTEM if it refuses, belongs to another user, or does not answer,
 * - MYR_ERR_NOT_YET, only with `hurry`, if it does not answer within a tenth of a second. */
enum myr_status myr_soft_daemon_open(const char *path, bool hurry, struct myr_soft_daemon *daemon,
                                     struct myr_error *error);
void myr_soft_daemon_close(struct myr_soft_daemon *daemon);

#endif
