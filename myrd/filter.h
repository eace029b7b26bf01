/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls that remain available to the daemon once it serves (seccomp(2)). Called by
 * server.c, kernel_server.c and kernel_guard.c, once each, at the end of their start-up. Without
 * libseccomp there is no filter (filter_none.c).
 *
 * All other calls fail with ENOSYS, as on a kernel that lacks them, so a C library that tries a new
 * call falls back to an older one. A call by the ABI of another architecture ends the process.
 *
 * A feature that needs another call must add it to the list in filter.c.
 */
#ifndef MYRD_FILTER_H
#define MYRD_FILTER_H

#include "libmyr/status.h"

enum myrd_filter_owner { MYRD_FILTER_SOFT, MYRD_FILTER_KERNEL, MYRD_FILTER_GUARD };

/* Install the filter and no_new_privs, for all threads of this process, irrevocably. MYR_OK, or an
 * error with a line. */
enum myr_status myrd_filter(enum myrd_filter_owner owner, struct myr_error *error);

#endif
