/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a command for which some system calls fail with EPERM, as under the seccomp filter of a
 * container:
 *
 *   without CALL[,CALL...] COMMAND...
 *
 * The scripts of tests/component call it. If no filter can be installed, it prints a message and
 * exits with status 77.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIP = 77, USAGE = 64 };

static const struct {
    const char *name;
    unsigned number;
} calls[] = {
    {"bpf", SYS_bpf},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"pidfd_open", SYS_pidfd_open},
};

static int forbid(const char *name)
{
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); ++c) {
        struct sock_filter steps[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[c].number, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
        if (0 == strcmp(name, calls[c].name)) {
            return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        }
    }
    errno = EINVAL;
    return -1;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: without CALL[,CALL...] COMMAND...\n", stderr);
        return USAGE;
    }
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (const char *name = strtok(argv[1], ","); NULL != name; name = strtok(NULL, ",")) {
        if (forbid(name) < 0) {
            perror(name);
            return SKIP;
        }
    }
    execvp(argv[2], &argv[2]);
    perror(argv[2]);
    return USAGE;
}
