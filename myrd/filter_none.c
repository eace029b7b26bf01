/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces filter.c in a build without libseccomp; see filter.h. Only the restrictions that need no
 * library are applied. */
#include "myrd/filter.h"

#include <errno.h>
#include <sys/prctl.h>

enum myr_status myrd_filter(enum myrd_filter_owner owner, struct myr_error *error)
{
    (void)owner;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
               ? myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot set no_new_privs")
               : MYR_OK;
}
