/* SPDX-License-Identifier: BSD-3-Clause */
/* Drops privileges by direct system calls, which need no library; see rights.h. */
#include "myrd/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct sets {
    struct __user_cap_data_struct word[_LINUX_CAPABILITY_U32S_3];
};

static long get_sets(struct sets *sets)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, sets->word);
}

static long set_sets(const struct sets *sets)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capset, &header, sets->word);
}

static bool has_capability(const struct sets *sets, int capability)
{
    return 0 != (sets->word[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

bool myrd_rights_has(int capability)
{
    struct sets sets;
    return 0 == get_sets(&sets) &&
           (has_capability(&sets, capability) || has_capability(&sets, CAP_SYS_ADMIN));
}

/* ---- files ---- */

/* Creates an empty, unmounted tmpfs. Returns a descriptor of its root. */
static int make_empty_root(void)
{
    const int system = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (system < 0) {
        return -1;
    }
    int root = -1;
    if (0 == syscall(SYS_fsconfig, system, FSCONFIG_CMD_CREATE, NULL, NULL, 0)) {
        root = (int)syscall(SYS_fsmount, system, FSMOUNT_CLOEXEC,
                            MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                MOUNT_ATTR_NOEXEC);
    }
    const int err = errno;
    close(system);
    errno = err;
    return root;
}

/* Clones the directory's mount as a detached tree, which has no parent. Returns a descriptor of its
 * root. */
static int clone_as_root(int dir)
{
    return (int)syscall(SYS_open_tree, dir, "",
                        (unsigned)(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
}

enum myr_status myrd_rights_leave_files(int dir, bool *left, struct myr_error *error)
{
    struct sets sets;
    *left = false;
    if (get_sets(&sets) < 0 || !has_capability(&sets, CAP_SYS_ADMIN) ||
        !has_capability(&sets, CAP_SYS_CHROOT)) {
        return MYR_OK;
    }
    const int root = dir < 0 ? make_empty_root() : clone_as_root(dir);
    if (root < 0) {
        /* A container may forbid this even to processes with the capability. */
        return EPERM == errno || EACCES == errno
                   ? MYR_OK
                   : myr_fail(error, MYR_ERR_SYSTEM, errno,
                              "cannot create a root directory of its own");
    }
    *left = 0 == fchdir(root) && 0 == chroot(".");
    const int err = errno;
    close(root);
    return *left ? MYR_OK
                 : myr_fail(error, MYR_ERR_SYSTEM, err,
                            "cannot change to a root directory of its own");
}

/* ---- capabilities ---- */

/* Empties the bounding set, because capabilities that are not in it cannot be regained. */
static bool empty_bounding_set(void)
{
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) {
            return false;
        }
    }
    return true;
}

enum myr_status myrd_rights_keep(uint64_t keep, struct myr_error *error)
{
    struct sets sets;
    if (get_sets(&sets) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot determine this process's capabilities");
    }
    if (has_capability(&sets, CAP_SETPCAP) && !empty_bounding_set()) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot drop capabilities");
    }
    for (int word = 0; word < _LINUX_CAPABILITY_U32S_3; ++word) {
        sets.word[word].permitted &= (uint32_t)(keep >> 32 * word);
        sets.word[word].effective = sets.word[word].permitted;
        sets.word[word].inheritable = 0; /* clears the ambient set as well */
    }
    if (set_sets(&sets) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot drop privileges");
    }
    return MYR_OK;
}
