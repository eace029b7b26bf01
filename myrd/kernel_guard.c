/* SPDX-License-Identifier: BSD-3-Clause */
/* A child process that removes the filters after the daemon; see kernel_guard.h. */
#include "myrd/kernel_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "myrd/filter.h"
#include "myrd/rights.h"

enum { DAEMON, CONTROL, KEPT }; /* the descriptors of the guard */

static bool keep_two_descriptors(int daemon, int control)
{
    const int daemon_apart = fcntl(daemon, F_DUPFD, KEPT);
    const int control_apart = fcntl(control, F_DUPFD, KEPT);
    if (dup2(daemon_apart, DAEMON) < 0 || dup2(control_apart, CONTROL) < 0) {
        return false;
    }
    return 0 == syscall(SYS_close_range, KEPT, ~0U, 0U);
}

/* Waits until the daemon requests the removal of the filters, or closes its end of the socket. Then
 * removes the filters, unless `kept` is set and the daemon has not requested it. */
static _Noreturn void guard_filters(const struct mcp_hooks *hooks, bool kept, int daemon)
{
    struct mcp_hooks own = *hooks;
    struct myr_error error;
    sigset_t all;
    char word = 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    (void)prctl(PR_SET_NAME, "myrd-guard", 0, 0, 0);
    if (keep_two_descriptors(daemon, hooks->socket) &&
        MYR_OK == myrd_rights_keep(UINT64_C(1) << CAP_NET_ADMIN, &error) &&
        MYR_OK == myrd_filter(MYRD_FILTER_GUARD, &error) &&
        sizeof(word) == write(DAEMON, &word, sizeof(word))) {
        own.socket = CONTROL;
        if (read(DAEMON, &word, sizeof(word)) > 0 || !kept) {
            mcp_hooks_remove(&own);
        }
    }
    _exit(EXIT_SUCCESS);
}

enum myr_status myrd_guard_start(struct mcp_hooks *hooks, bool kept, int *guard,
                                 struct myr_error *error)
{
    int pair[2];
    char word;
    *guard = -1;
    if (!mcp_hooks_have_filters(hooks)) {
        return MYR_OK;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot open sockets for the process that guards the NIC's filters");
    }
    const pid_t child = fork();
    if (0 == child) {
        guard_filters(hooks, kept, pair[1]);
    }
    const int err = errno;
    close(pair[1]);
    if (child < 0 || sizeof(word) != read(pair[0], &word, sizeof(word))) {
        close(pair[0]);
        return myr_fail(error, MYR_ERR_SYSTEM, child < 0 ? err : 0,
                        "cannot start the process that guards the NIC's filters");
    }
    mcp_hooks_forget(hooks);
    *guard = pair[0];
    return MYR_OK;
}

void myrd_guard_end(int guard)
{
    char word = 0;
    if (guard >= 0) {
        (void)!write(guard, &word, sizeof(word));
        (void)shutdown(guard, SHUT_WR);
        (void)!read(guard, &word, sizeof(word));
        close(guard);
    }
}
