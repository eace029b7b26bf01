/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading and writing another process's memory: a large message on one node is copied once, by its
 * receiver; what is put into a window or got from it, by who asks.
 *
 * Is that possible? Both sides decide it from what both have told, so they decide alike. Where the
 * system refuses nevertheless, it goes by messages.
 */
#include "btl_myr/btl_myr.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What the kernel's Yama module asks for. 0: nothing. 1: the process that is read must allow it.
 * More: rights that a program does not have. */
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

/* Is the system call there, and not forbidden (as in some containers)? */
static bool can_read(void)
{
    int from = 1, to = 0;
    const struct iovec local = {.iov_base = &to, .iov_len = sizeof(to)};
    const struct iovec remote = {.iov_base = &from, .iov_len = sizeof(from)};
    return (ssize_t)sizeof(to) == process_vm_readv(getpid(), &local, 1, &remote, 1, 0) &&
           from == to;
}

void mca_btl_myr_direct_hello(struct mca_btl_myr_hello *hello)
{
    hello->pid = (uint32_t)getpid();
    hello->user = (uint32_t)geteuid();
    hello->process_namespace = namespace_of("/proc/self/ns/pid");
    hello->user_namespace = namespace_of("/proc/self/ns/user");
    const int scope = yama_scope();
#ifdef PR_SET_PTRACER
    if (1 == scope) {
        (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
#endif
    hello->readable = scope <= 1 && 1 == prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) && can_read();
}

bool mca_btl_myr_direct_possible(const struct mca_btl_myr_hello *one,
                                 const struct mca_btl_myr_hello *other)
{
    return one->readable && other->readable && one->user == other->user &&
           one->process_namespace == other->process_namespace &&
           one->user_namespace == other->user_namespace;
}

typedef ssize_t (*copy_fn)(pid_t pid, const struct iovec *local, unsigned long locals,
                           const struct iovec *remote, unsigned long remotes, unsigned long flags);

static bool copy(copy_fn call, pid_t pid, void *here, uint64_t there, size_t bytes)
{
    struct iovec local = {.iov_base = here, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)there, .iov_len = bytes};
    while (local.iov_len > 0) { /* a call copies 2 GiB at the most */
        const ssize_t copied = call(pid, &local, 1, &remote, 1, 0);
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

bool mca_btl_myr_read(pid_t pid, void *to, uint64_t from, size_t bytes)
{
    return copy(process_vm_readv, pid, to, from, bytes);
}

bool mca_btl_myr_write(pid_t pid, const void *from, uint64_t to, size_t bytes)
{
    return copy(process_vm_writev, pid, (void *)(uintptr_t)from, to, bytes);
}

int mca_btl_myr_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    void *local_address, uint64_t remote_address,
                    mca_btl_base_registration_handle_t *local_handle,
                    mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                    int order, mca_btl_base_rdma_completion_fn_t callback, void *context,
                    void *data)
{
    (void)remote_handle;
    (void)flags;
    (void)order;
    if (!mca_btl_myr_read(endpoint->pid, local_address, remote_address, size)) {
        return OPAL_ERROR; /* ob1 has it sent in fragments */
    }
    callback(btl, endpoint, local_address, local_handle, context, data, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}
