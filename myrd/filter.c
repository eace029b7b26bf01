/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The system calls that the daemon may use; see filter.h.
 *
 * The lists were determined by tracing the daemon during its tests, and by reading the code. System
 * calls are listed by name, because libseccomp knows their numbers on each machine and skips those
 * that the machine lacks.
 *
 * System calls on the path of a barrier are allowed regardless of their arguments: the kernel
 * records such calls in a bitmap and does not run the filter for them. This reduces the cost of the
 * filter to 60 ns per call for the soft NIC (recvfrom() takes 335 ns without a filter). The
 * barriers of the kernel NIC do not involve the daemon. */
#include "myrd/filter.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define INT UINT32_MAX /* all bits of an int */

/* The index of the flags among the arguments of clone(). */
#ifdef __s390__
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

/* A call is allowed if these bits of the argument have this value. If no bits are given, it is
 * always allowed. */
struct call {
    const char *name;
    unsigned int argument;
    uint64_t bits, value;
};

static const struct call both[] = {
    /* Memory, but not executable. */
    {"brk", 0, 0, 0},
    {"madvise", 0, 0, 0},
    {"mmap", 2, PROT_EXEC, 0},
    {"mmap2", 2, PROT_EXEC, 0},
    {"mprotect", 2, PROT_EXEC, 0},
    {"mremap", 0, 0, 0},
    {"munmap", 0, 0, 0},
    /* Creating threads is allowed, creating processes is not. The filter cannot inspect the flags
     * of clone3(), which are in memory. Therefore clone3() is not allowed, and glibc falls back to
     * clone(). */
    {"clone", CLONE_FLAGS, CLONE_THREAD, CLONE_THREAD},
    {"exit", 0, 0, 0},
    {"exit_group", 0, 0, 0},
    {"futex", 0, 0, 0},
    {"futex_time64", 0, 0, 0},
    {"getpid", 0, 0, 0},
    {"gettid", 0, 0, 0},
    {"prctl", 0, INT, PR_SET_NAME},
    {"rseq", 0, 0, 0},
    {"rt_sigaction", 0, 0, 0}, /* called by the C library for the first thread */
    {"rt_sigprocmask", 0, 0, 0},
    {"rt_sigreturn", 0, 0, 0},
    {"sched_getaffinity", 0, 0, 0},
    {"sched_yield", 0, 0, 0},
    {"set_robust_list", 0, 0, 0},
    {"sigaltstack", 0, 0, 0}, /* called for each thread in a build with sanitizers */
    /* Time. */
    {"clock_gettime", 0, 0, 0},
    {"clock_gettime64", 0, 0, 0},
    {"clock_nanosleep", 0, 0, 0},
    {"clock_nanosleep_time64", 0, 0, 0},
    {"restart_syscall", 0, 0, 0}, /* used by the kernel when a stopped process continues */
    /* Descriptors. */
    {"close", 0, 0, 0},
    {"dup2", 0, 0, 0},
    {"dup3", 0, 0, 0},
    {"eventfd2", 0, 0, 0},
    {"fcntl", 0, 0, 0},
    {"fcntl64", 0, 0, 0},
    {"fstat", 0, 0, 0},
    {"fstat64", 0, 0, 0},
    {"poll", 0, 0, 0},
    {"ppoll", 0, 0, 0},
    {"ppoll_time64", 0, 0, 0},
    {"read", 0, 0, 0},
    {"write", 0, 0, 0},
    {"writev", 0, 0, 0},
    /* Clients. */
    {"accept4", 0, 0, 0},
    {"getsockopt", 0, 0, 0},
    {"pidfd_open", 0, 0, 0},
    {"recvfrom", 0, 0, 0},
    {"recvmsg", 0, 0, 0},
    {"sendmsg", 0, 0, 0},
    {"sendto", 0, 0, 0},
    {"shutdown", 0, 0, 0},
    {"unlinkat", 0, 0, 0}, /* to remove the socket and the pins at exit */
    /* Identity and random numbers. */
    {"getegid", 0, 0, 0},
    {"getegid32", 0, 0, 0},
    {"geteuid", 0, 0, 0},
    {"geteuid32", 0, 0, 0},
    {"getgid", 0, 0, 0},
    {"getgid32", 0, 0, 0},
    {"getrandom", 0, 0, 0},
    {"getuid", 0, 0, 0},
    {"getuid32", 0, 0, 0},
};

/* System calls that the daemon makes as the owner of a soft NIC. If a client dies while it runs the
 * NIC, the daemon may have to replace the NIC, which requires memory and a socket. The daemon also
 * reads from /proc which processes are alive. */
static const struct call soft[] = {
    {"bind", 0, 0, 0},
    {"connect", 0, 0, 0},
    {"fallocate", 0, 0, 0},
    {"ftruncate", 0, 0, 0},
    {"ftruncate64", 0, 0, 0},
    {"getsockname", 0, 0, 0},
    {"kill", 1, INT, 0}, /* liveness checks */
    {"memfd_create", 0, 0, 0},
    {"open", 1, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY},
    {"openat", 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY},
    {"prctl", 0, INT, PR_SET_PTRACER},
    {"sendmmsg", 0, 0, 0},
    {"setsockopt", 0, 0, 0},
    {"socket", 0, INT, AF_INET},
    {"socket", 0, INT, AF_INET6},
    {"socket", 0, INT, AF_NETLINK}, /* to list addresses */
};

/* System calls that the daemon makes as the owner of the kernel NIC. Its programs and sockets exist
 * already, so it only needs to access maps and to create pages for groups. */
static const struct call kernel[] = {
    {"bpf", 0, INT, BPF_MAP_CREATE},
    {"bpf", 0, INT, BPF_MAP_LOOKUP_ELEM},
    {"bpf", 0, INT, BPF_MAP_UPDATE_ELEM},
    {"bpf", 0, INT, BPF_MAP_DELETE_ELEM},
    {"bpf", 0, INT, BPF_MAP_GET_NEXT_KEY},
    {"bpf", 0, INT, BPF_MAP_LOOKUP_AND_DELETE_ELEM},
    {"bpf", 0, INT, BPF_MAP_FREEZE},
    {"bpf", 0, INT, BPF_OBJ_PIN}, /* for pages; only the NIC's own directory is reachable */
    {"bpf", 0, INT, BPF_MAP_LOOKUP_BATCH},
    {"bpf", 0, INT, BPF_MAP_LOOKUP_AND_DELETE_BATCH},
    {"bpf", 0, INT, BPF_MAP_UPDATE_BATCH},
    {"bpf", 0, INT, BPF_MAP_DELETE_BATCH},
    {"bpf", 0, INT, BPF_PROG_TEST_RUN}, /* to run a loaded program */
    {"ioctl", 1, INT, SIOCOUTQ},        /* bytes that a client has not read */
};

/* Calls of the guard, which removes the NIC's filters (kernel_guard.h). */
static const struct call guard[] = {
    {"exit_group", 0, 0, 0},
    {"read", 0, 0, 0},
    {"write", 0, 0, 0},
};

static int allow_calls(scmp_filter_ctx filter, const struct call *calls, size_t count)
{
    for (size_t c = 0; c < count; ++c) {
        const struct call *call = &calls[c];
        const int number = seccomp_syscall_resolve_name(call->name);
        if (__NR_SCMP_ERROR == number) {
            continue; /* libseccomp is too old to know the call */
        }
        const struct scmp_arg_cmp what = {call->argument, SCMP_CMP_MASKED_EQ, call->bits,
                                          call->value};
        const int rc =
            seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, 0 == call->bits ? 0 : 1, &what);
        if (rc < 0 && -EDOM != rc) { /* EDOM: the machine lacks the call */
            return rc;
        }
    }
    return 0;
}

#define ALLOW(filter, calls) allow_calls(filter, calls, sizeof(calls) / sizeof((calls)[0]))

static int allow_all(scmp_filter_ctx filter, enum myrd_filter_owner owner)
{
    if (MYRD_FILTER_GUARD == owner) {
        return ALLOW(filter, guard);
    }
    const int rc = ALLOW(filter, both);
    if (0 != rc) {
        return rc;
    }
    return MYRD_FILTER_KERNEL == owner ? ALLOW(filter, kernel) : ALLOW(filter, soft);
}

static int load_filter(scmp_filter_ctx filter, enum myrd_filter_owner owner)
{
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* all threads */
    if (0 == rc) {
        /* By default, older kernels enable a slow mitigation (SSBD) for each process with a filter.
         * The mitigation is intended for sandboxes that run untrusted code, which this daemon does
         * not do. */
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
        rc = allow_all(filter, owner);
    }
    return 0 == rc ? seccomp_load(filter) : rc;
}

enum myr_status myrd_filter(enum myrd_filter_owner owner, struct myr_error *error)
{
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (NULL == filter) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const int rc = load_filter(filter, owner);
    seccomp_release(filter);
    return rc < 0
               ? myr_fail(
                     error, MYR_ERR_SYSTEM, -rc,
                     "cannot install its filter of system calls (the kernel needs seccomp filters)")
               : MYR_OK;
}
