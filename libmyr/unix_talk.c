/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests and replies over a Unix socket; see unix_talk.h. */
#include "libmyr/unix_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libmyr/node/process.h"
#include "os/clock.h"

enum { CHECK_MS = 20 }; /* interval of the checks whether a silent daemon is running */

bool myr_talk_peer(int connection, struct ucred *peer)
{
    socklen_t bytes = sizeof(*peer);
    return 0 == getsockopt(connection, SOL_SOCKET, SO_PEERCRED, peer, &bytes);
}

/* ---- connecting ---- */

static bool is_trusted(uid_t uid, bool root_too)
{
    return geteuid() == uid || (root_too && 0 == uid);
}

/* Reports a failed connection. The status depends on `err`, that is, on whether the daemon is
 * absent, busy, or cannot be reached. */
static enum myr_status fail_unreachable(const char *path, const char *daemon, int err,
                                        struct myr_error *error)
{
    if (EAGAIN == err) {
        return myr_fail(error, MYR_ERR_NOT_YET, 0,
                        "the daemon %s at %s accepts no connection: too many are pending (it is "
                        "busy, or stopped)",
                        daemon, path);
    }
    const enum myr_status status =
        ENOENT == err || ECONNREFUSED == err ? MYR_ERR_NOT_THERE : MYR_ERR_SYSTEM;
    return myr_fail(error, status, err,
                    "cannot reach the daemon %s at %s (is it started on this host?)", daemon, path);
}

/* Opens the directory of `path` as `dir_fd`, through which names in this directory are resolved; -1
 * on failure. */
static enum myr_status open_dir(const char *path, const char *daemon, bool root_too, int *dir_fd,
                                struct myr_error *error)
{
    char dir[PATH_MAX];
    struct stat about;
    const char *slash = strrchr(path, '/');
    snprintf(dir, sizeof(dir), "%.*s", NULL == slash ? 1 : (int)(slash - path + 1),
             NULL == slash ? "." : path);
    /* With a trailing slash, open() would follow a symbolic link in spite of O_NOFOLLOW. */
    for (size_t end = strlen(dir); end > 1 && '/' == dir[end - 1]; --end) {
        dir[end - 1] = '\0';
    }
    *dir_fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*dir_fd < 0 && ENOTDIR == errno) { /* O_NOFOLLOW reports this for a symbolic link, too */
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "the daemon at %s is not used: %s is not a directory (remove it)", path,
                        dir);
    }
    if (*dir_fd < 0) {
        return fail_unreachable(path, daemon, errno, error);
    }
    if (fstat(*dir_fd, &about) < 0 || !is_trusted(about.st_uid, root_too) ||
        0 != (about.st_mode & 022)) {
        close(*dir_fd);
        *dir_fd = -1;
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "the daemon at %s is not used: its directory is writable for others, or "
                        "belongs to another user",
                        path);
    }
    return MYR_OK;
}

/* Connects through the descriptor of the directory, so that the directory cannot be replaced after
 * it was checked. */
static int connect_in(int dir_fd, const char *name, int connection)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length =
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir_fd, name);
    if (length >= (int)sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return connect(connection, (const struct sockaddr *)&address, sizeof(address));
}

static enum myr_status connect_to(int connection, const char *path, const char *daemon,
                                  bool root_too, struct myr_error *error)
{
    struct ucred peer;
    int dir_fd;
    const char *slash = strrchr(path, '/');
    enum myr_status status = open_dir(path, daemon, root_too, &dir_fd, error);
    if (MYR_OK != status) {
        return status;
    }
    if (connect_in(dir_fd, NULL == slash ? path : slash + 1, connection) < 0) {
        status = fail_unreachable(path, daemon, errno, error);
    }
    close(dir_fd);
    if (MYR_OK == status &&
        (!myr_talk_peer(connection, &peer) || !is_trusted(peer.uid, root_too))) {
        status =
            myr_fail(error, MYR_ERR_SYSTEM, 0, "the daemon at %s belongs to another user", path);
    }
    return status;
}

enum myr_status myr_talk_connect(const char *path, const char *daemon, bool root_too,
                                 int *connection, struct myr_error *error)
{
    *connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*connection < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open a socket to talk to %s", daemon);
    }
    const enum myr_status status = connect_to(*connection, path, daemon, root_too, error);
    if (MYR_OK != status) {
        close(*connection);
        *connection = -1;
    }
    return status;
}

/* ---- waiting ---- */

const struct myr_talk_timeout *myr_talk_timeout_for_hello(bool hurry)
{
    static const struct myr_talk_timeout brief = {100, 100}, patient = {500, 10000};
    return hurry ? &brief : &patient;
}

/* Waits until the connection is readable (POLLIN) or writable (POLLOUT), or the peer has closed
 * it. */
static enum myr_status await_event(int connection, short events, const char *daemon,
                                   const struct myr_talk_timeout *timeout, struct myr_error *error)
{
    struct pollfd watched = {.fd = connection, .events = events};
    struct ucred peer = {.pid = 0};
    uint64_t last = os_now_ms();
    uint32_t waited = 0, idle = 0;
    (void)myr_talk_peer(connection, &peer);
    while (poll(&watched, 1, CHECK_MS) <= 0) {
        const uint64_t now = os_now_ms();
        /* A longer interval means that this process itself got no CPU time, and is not charged to
         * the daemon. */
        const uint32_t passed = now - last < CHECK_MS ? (uint32_t)(now - last) : CHECK_MS;
        last = now;
        waited += passed;
        idle += myr_process_runs((uint32_t)peer.pid) ? 0 : passed;
        if ((idle >= timeout->idle || waited >= timeout->most) && poll(&watched, 1, 0) <= 0) {
            return myr_fail(error, MYR_ERR_NOT_YET, 0,
                            "%s (process %d) does not answer: it is stopped (try kill -CONT), or "
                            "hangs",
                            daemon, (int)peer.pid);
        }
    }
    return MYR_OK;
}

enum myr_status myr_talk_send_to_daemon(int connection, const char *daemon, const void *words,
                                        size_t bytes, const struct myr_talk_timeout *timeout,
                                        struct myr_error *error)
{
    bool sent = myr_talk_send(connection, words, bytes, NULL, 0, 0);
    while (!sent && EAGAIN == errno) {
        const enum myr_status status = await_event(connection, POLLOUT, daemon, timeout, error);
        if (MYR_OK != status) {
            return status;
        }
        sent = myr_talk_send(connection, words, bytes, NULL, 0, 0);
    }
    return sent || EPIPE == errno
               ? MYR_OK
               : myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot send a request to %s", daemon);
}

enum myr_status myr_talk_await(int connection, const char *daemon,
                               const struct myr_talk_timeout *timeout, struct myr_error *error)
{
    return await_event(connection, POLLIN, daemon, timeout, error);
}

/* ---- messages with descriptors ---- */

bool myr_talk_send(int connection, const void *words, size_t bytes, const int *descriptors,
                   uint32_t count, int flags)
{
    struct iovec part = {(void *)words, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * MYR_TALK_DESCRIPTORS)] = {0};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(cmsg), descriptors, sizeof(int) * count);
    }
    return (ssize_t)bytes == sendmsg(connection, &message, flags | MSG_NOSIGNAL);
}

/* Gets the descriptors that arrived with a message. If their number is not `count`, they are
 * closed. */
static void take_descriptors(struct msghdr *message, int *descriptors, uint32_t count)
{
    uint32_t came = 0;
    int all[MYR_TALK_DESCRIPTORS + 1]; /* control messages are padded, so one more may fit */
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); NULL != cmsg;
         cmsg = CMSG_NXTHDR(message, cmsg)) {
        if (SOL_SOCKET == cmsg->cmsg_level && SCM_RIGHTS == cmsg->cmsg_type) {
            came = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(all, CMSG_DATA(cmsg), came * sizeof(int));
        }
    }
    for (uint32_t d = 0; d < came; ++d) {
        if (came == count) {
            descriptors[d] = all[d];
        } else {
            close(all[d]);
        }
    }
}

ssize_t myr_talk_receive(int connection, void *words, size_t bytes, int *descriptors,
                         uint32_t count)
{
    struct iovec part = {words, bytes};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * MYR_TALK_DESCRIPTORS)];
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    for (uint32_t d = 0; d < count; ++d) {
        descriptors[d] = -1;
    }
    const ssize_t length = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (length >= 0) {
        take_descriptors(&message, descriptors, count);
    }
    return length;
}
