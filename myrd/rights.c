/* SPDX-License-Identifier: BSD-3-Clause */
/* Giving up rights. It uses system calls directly, as two of them need no library. See rights.h. */
#include "myrd/rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot tell this process's capabilities");
    }
    for (int word = 0; word < _LINUX_CAPABILITY_U32S_3; ++word) {
        data[word].permitted &= (uint32_t)(keep >> 32 * word);
        data[word].effective = data[word].permitted;
        data[word].inheritable = 0; /* with them go the ambient ones */
    }
    if (syscall(SYS_capset, &header, data) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot give up rights");
    }
    return MYR_OK;
}
