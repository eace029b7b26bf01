/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls that are left to the daemon once it serves (seccomp(2)). Called by server.c,
 * kernel_server.c and kernel_guard.c, once each, after all else that they do to begin. Without
 * libseccomp there is no filter (filter_none.c).
 *
 * Any other call fails with ENOSYS, as on a kernel that lacks it: a C library that has learnt a new
 * call then takes the one that it used before. Calls of another architecture than the program's end
 * the process.
 *
 * A feature that needs another call adds it to the list in filter.c; it fails until then.
 */
#ifndef MYRD_FILTER_H
#define MYRD_FILTER_H

#include "libmyr/status.h"

enum myrd_filter_owner { MYRD_FILTER_SOFT, MYRD_FILTER_KERNEL, MYRD_FILTER_GUARD };

/* For all threads of this process, and no new privileges for any of them; for good. MYR_OK, or an
 * error with a line. */
enum myr_status myrd_filter(enum myrd_filter_owner owner, struct myr_error *error);

#endif
