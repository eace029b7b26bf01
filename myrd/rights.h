/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops privileges that the daemon does not need. Called by server.c and kernel_server.c. For
 * system calls see filter.h.
 *
 * Privileges are dropped irrevocably. Functions that can fail return an error with a message that
 * describes what to do.
 */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/status.h"

/* Returns whether this process has a capability (CAP_X), or CAP_SYS_ADMIN, which includes many. */
bool myrd_rights_has(int capability);

/* Changes the root to an empty, unwritable directory, in which no path leads to a file, or to
 * `directory` (-1: none). Open descriptors remain valid. Does nothing without CAP_SYS_ADMIN and
 * CAP_SYS_CHROOT; `left` is set to whether the root was changed. */
enum myr_status myrd_rights_leave_files(int dir, bool *left, struct myr_error *error);

/* Drops all capabilities but those in `keep` (bit CAP_X for CAP_X), and sets no_new_privs. Also
 * empties the bounding set if the process has CAP_SETPCAP. (Without that capability, the bounding
 * set cannot be emptied, but has no effect any more.) For processes with one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
