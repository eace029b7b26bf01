/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dropping privileges that the daemon does not need. Called by server.c and kernel_server.c. For
 * system calls see filter.h.
 *
 * Privileges are dropped irrevocably. Functions that can fail return a line that says what to do.
 */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/status.h"

/* True if this process has a capability (CAP_X), or CAP_SYS_ADMIN, which includes many. */
bool myrd_rights_has(int capability);

/* Change to an empty, unwritable root, in which no path leads to a file, or to `folder` as the root
 * (-1: none). Open descriptors remain valid. Does nothing without CAP_SYS_ADMIN and CAP_SYS_CHROOT;
 * `left` tells whether it was done. */
enum myr_status myrd_rights_leave_files(int folder, bool *left, struct myr_error *error);

/* Drop all capabilities but those in `keep` (bit CAP_X for CAP_X), and set no_new_privs. Empties
 * the bounding set as well, if there is CAP_SETPCAP; otherwise that remains without effect. For
 * processes with one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
