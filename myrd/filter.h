/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A seccomp(2) filter limits the daemon to the system calls that it needs while it serves.
 * server.c, kernel_server.c and kernel_guard.c each install it once, at the end of their start-up.
 * Builds without libseccomp have no filter (filter_none.c).
 *
 * Other system calls fail with ENOSYS, as if the kernel lacked them. A C library that tries a newer
 * call thus falls back to an older one. A system call through the ABI of another architecture kills
 * the process.
 *
 * A feature that needs another call must add it to the list in filter.c. */
#ifndef MYRD_FILTER_H
#define MYRD_FILTER_H

#include "libmyr/status.h"

enum myrd_filter_owner { MYRD_FILTER_SOFT, MYRD_FILTER_KERNEL, MYRD_FILTER_GUARD };

/* Sets no_new_privs and installs the filter for all threads of this process, irrevocably. Returns
 * MYR_OK, or an error with a message. */
enum myr_status myrd_filter(enum myrd_filter_owner owner, struct myr_error *error);

#endif
