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

/* Changes the root directory to `dir` or, if `dir` is -1, to an empty directory that is not
 * writable, so that no path leads to a file. Open descriptors remain valid. Without CAP_SYS_ADMIN
 * and CAP_SYS_CHROOT, does nothing. `left` is set to whether the root was changed. */
enum myr_status myrd_rights_leave_files(int dir, bool *left, struct myr_error *error);

/* Drops all capabilities except those whose bit is set in `keep` (bit CAP_X for CAP_X), and sets
 * no_new_privs. If the process has CAP_SETPCAP, also empties the bounding set. (Without CAP_SETPCAP
 * this is impossible, but also unnecessary, because the process cannot gain capabilities from the
 * bounding set any more.) The process must have only one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
