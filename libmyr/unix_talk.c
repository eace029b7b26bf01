/* SPDX-License-Identifier: BSD-3-Clause */
/* Talking over a Unix socket; see unix_talk.h. */
#include "libmyr/unix_talk.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * How long the daemon may take to listen or to answer (seconds). The daemon itself may wait 2.5 for
 * a host that is not there. Where more processes poll than there are processors, Linux 6.18 has
 * been seen to let those of other sessions wait for 10 and more (docs/cluster-on-a-laptop.md).
 */
enum { PATIENCE = 30 };

bool myr_talk_peer(int connection, struct ucred *peer)
{
    socklen_t bytes = sizeof(*peer);
    return 0 == getsockopt(connection, SOL_SOCKET, SO_PEERCRED, peer, &bytes);
}

static enum myr_status connect_to(int connection, const char *path, const char *daemon,
                                  bool root_too, struct myr_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer;
    if (strlen(path) >= sizeof(address.sun_path)) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the daemon's socket %s", path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    const struct timeval patience = {.tv_sec = PATIENCE};
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(connection, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        const bool none = ENOENT == errno || ECONNREFUSED == errno;
        return myr_fail(error, none ? MYR_ERR_NOT_THERE : MYR_ERR_SYSTEM, errno,
                        "cannot reach the daemon %s at %s (is it started on this host?)", daemon,
                        path);
    }
    if (!myr_talk_peer(connection, &peer) ||
        (geteuid() != peer.uid && !(root_too && 0 == peer.uid))) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "the daemon at %s is another user's", path);
    }
    return MYR_OK;
}

enum myr_status myr_talk_connect(const char *path, const char *daemon, bool root_too,
                                 int *connection, struct myr_error *error)
{
    *connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (*connection < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "no socket to talk to %s with", daemon);
    }
    const enum myr_status status = connect_to(*connection, path, daemon, root_too, error);
    if (MYR_OK != status) {
        close(*connection);
        *connection = -1;
    }
    return status;
}

bool myr_talk_send(int connection, const void *words, size_t bytes, const int *descriptors,
                   uint32_t count, int flags)
{
    struct iovec part = {(void *)words, bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * MYR_TALK_DESCRIPTORS)] = {0};
    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *note = CMSG_FIRSTHDR(&message);
        note->cmsg_level = SOL_SOCKET;
        note->cmsg_type = SCM_RIGHTS;
        note->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(note), descriptors, sizeof(int) * count);
    }
    return (ssize_t)bytes == sendmsg(connection, &message, flags | MSG_NOSIGNAL);
}

/* Take the descriptors that came with a message: into `descriptors` if just as many came as should,
 * else close them. */
static void take_descriptors(struct msghdr *message, int *descriptors, uint32_t count)
{
    uint32_t came = 0;
    int all[MYR_TALK_DESCRIPTORS + 1]; /* alignment leaves room for one more */
    for (struct cmsghdr *note = CMSG_FIRSTHDR(message); NULL != note;
         note = CMSG_NXTHDR(message, note)) {
        if (SOL_SOCKET == note->cmsg_level && SCM_RIGHTS == note->cmsg_type) {
            came = (uint32_t)((note->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(all, CMSG_DATA(note), came * sizeof(int));
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
