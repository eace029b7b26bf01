/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drops privileges that the daemon does not need. Called by server.c and kernel_server.c. filter.h
 * restricts the system calls.
 *
 * Privileges are dropped irrevocably. Functions that can fail return an error with a message that
 * describes what to do. */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/status.h"

/* Returns whether this process has a capability (CAP_X), or CAP_SYS_ADMIN, which includes many. */
bool myrd_rights_has(int capability);

/* Changes the root to `dir` or, if this is -1, to an empty directory that is not writable, in which
 * no path leads to a file. Open descriptors remain valid. Does nothing without CAP_SYS_ADMIN and
 * CAP_SYS_CHROOT; `left` becomes true if the root was changed. */
enum myr_status myrd_rights_leave_files(int dir, bool *left, struct myr_error *error);

/* Drops all capabilities except those in `keep` (bit CAP_X for CAP_X), and sets no_new_privs. Also
 * empties the bounding set if the process has CAP_SETPCAP. (Without this capability, the bounding
 * set cannot be emptied, but it no longer has any effect.) The process must have only one
 * thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
