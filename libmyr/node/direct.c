/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct access to the memory of other processes; see direct.h. */
#include "libmyr/node/direct.h"

#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the level to which the kernel's Yama module restricts access to other processes. At level
 * 0 access is not restricted. At level 1 other processes need the permission of the process whose
 * memory they access. At higher levels they need capabilities that an ordinary program does not
 * have. */
static int yama_scope(void)
{
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
    if (NULL != file) {
        if (1 != fscanf(file, "%d", &scope)) {
            scope = 0;
        }
        fclose(file);
    }
    return scope;
}

static uint64_t namespace_of(const char *path)
{
    struct stat about;
    return stat(path, &about) < 0 ? 0 : (uint64_t)about.st_ino;
}

/* Returns whether the system call exists and is not blocked, as it is in some containers. */
static bool can_read(void)
{
    int from = 1, to = 0;
    return myr_direct_read((uint32_t)getpid(), &to, (uintptr_t)&from, sizeof(to)) && from == to;
}

void myr_direct_describe(struct myr_direct *own)
{
    *own = (struct myr_direct){
        .process_namespace = namespace_of("/proc/self/ns/pid"),
        .user_namespace = namespace_of("/proc/self/ns/user"),
        .pid = (uint32_t)getpid(),
        .user = (uint32_t)geteuid(),
    };
    const int scope = yama_scope();
#ifdef PR_SET_PTRACER
    if (1 == scope) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
#endif
    own->readable = scope <= 1 && 1 == prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) && can_read();
}

bool myr_direct_possible(const struct myr_direct *one, const struct myr_direct *other)
{
    return one->readable && other->readable && one->user == other->user &&
           one->process_namespace == other->process_namespace &&
           one->user_namespace == other->user_namespace;
}

typedef ssize_t (*copy_fn)(pid_t pid, const struct iovec *local, unsigned long locals,
                           const struct iovec *remote, unsigned long remotes, unsigned long flags);

static bool copy_bytes(copy_fn call, uint32_t pid, void *here, uint64_t there, size_t bytes)
{
    struct iovec local = {.iov_base = here, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)there, .iov_len = bytes};
    while (local.iov_len > 0) { /* a call copies 2 GiB at most */
        const ssize_t copied = call((pid_t)pid, &local, 1, &remote, 1, 0);
        if (copied <= 0) {
            return false;
        }
        local.iov_base = (uint8_t *)local.iov_base + copied;
        local.iov_len -= (size_t)copied;
        remote.iov_base = (uint8_t *)remote.iov_base + copied;
        remote.iov_len -= (size_t)copied;
    }
    return true;
}

bool myr_direct_read(uint32_t pid, void *to, uint64_t from, size_t bytes)
{
    return copy_bytes(process_vm_readv, pid, to, from, bytes);
}

bool myr_direct_write(uint32_t pid, const void *from, uint64_t to, size_t bytes)
{
    return copy_bytes(process_vm_writev, pid, (void *)(uintptr_t)from, to, bytes);
}
