/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rights of this process. The daemon gives up those that it does not need. Called by server.c
 * and kernel_server.c. What a process may call besides is in filter.h.
 *
 * What is given up never comes back. Functions that can fail give a line that says what to do.
 */
#ifndef MYRD_RIGHTS_H
#define MYRD_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "libmyr/status.h"

/* Has this process a capability (CAP_X), or CAP_SYS_ADMIN, which stands for many? */
bool myrd_rights_has(int capability);

/* Have an empty root that nobody can write: no file has a name any more; or have this folder (-1:
 * none) for a root. Descriptors stay. It takes CAP_SYS_ADMIN and CAP_SYS_CHROOT. Without these it
 * does nothing. `left` says whether it has done it. */
enum myr_status myrd_rights_leave_files(int folder, bool *left, struct myr_error *error);

/* Keep only those of this process's capabilities that are in `keep` (bit CAP_X for CAP_X), and
 * never gain any, by whatever program. The bounding set is emptied, too, if there is CAP_SETPCAP.
 * (Without that it stays, and means nothing any more.) For processes of one thread. */
enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error);

#endif
