/* A client of myrd; see nic_daemon.h. */
#include "libmyr/nic_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libmyr/daemon_words.h"

/* How long the daemon may take to answer (seconds): a stopped one must not hold up a job for long.
 */
enum { PATIENCE = 5 };

bool myr_nic_daemon_path(char *path, size_t bytes)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    int length;
    if (NULL != runtime && '/' == *runtime) {
        length = snprintf(path, bytes, "%s/nicbarr/myrd.sock", runtime);
    } else {
        length = snprintf(path, bytes, "%s/nicbarr-%u/myrd.sock",
                          NULL != temporary && '/' == *temporary ? temporary : "/tmp",
                          (unsigned)geteuid());
    }
    return length < (int)bytes;
}

/* Connect to a daemon of this user. */
static enum myr_status call(const char *path, int *connection, struct myr_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the daemon's socket %s", path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    *connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (*connection < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "no socket to talk to myrd with");
    }
    const struct timeval patience = {.tv_sec = PATIENCE};
    (void)setsockopt(*connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)setsockopt(*connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(*connection, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        const bool none = ENOENT == errno || ECONNREFUSED == errno;
        return myr_fail(error, none ? MYR_ERR_NOT_THERE : MYR_ERR_SYSTEM, errno,
                        "cannot reach the daemon myrd at %s (is it started on this host?)", path);
    }
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (getsockopt(*connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0 ||
        geteuid() != peer.uid) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "the daemon at %s is another user's", path);
    }
    return MYR_OK;
}

/* The descriptors that came with a message; true if there are as many as there should be, else they
 * are closed. */
static bool take_descriptors(struct msghdr *message, int descriptors[MYR_DAEMON_DESCRIPTORS])
{
    int count = 0, all[8 * MYR_DAEMON_DESCRIPTORS];
    for (struct cmsghdr *note = CMSG_FIRSTHDR(message); NULL != note;
         note = CMSG_NXTHDR(message, note)) {
        if (SOL_SOCKET == note->cmsg_level && SCM_RIGHTS == note->cmsg_type) {
            count = (int)((note->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(all, CMSG_DATA(note), (size_t)count * sizeof(int));
        }
    }
    if (MYR_DAEMON_DESCRIPTORS == count) {
        memcpy(descriptors, all, sizeof(int) * MYR_DAEMON_DESCRIPTORS);
        return true;
    }
    while (count > 0) {
        close(all[--count]);
    }
    return false;
}

static enum myr_status introduce(int connection, int descriptors[MYR_DAEMON_DESCRIPTORS],
                                 struct myr_error *error)
{
    const struct myr_daemon_hello hello = {MYR_DAEMON_MAGIC, myr_daemon_layout(), getpid(), 0};
    struct myr_daemon_welcome welcome = {.magic = 0};
    struct iovec part = {&welcome, sizeof(welcome)};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(int) * MYR_DAEMON_DESCRIPTORS)];
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control),
    };
    if (sizeof(hello) != send(connection, &hello, sizeof(hello), MSG_NOSIGNAL) && EPIPE != errno) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "myrd does not listen");
    }
    const ssize_t bytes = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "myrd does not answer");
    }
    const bool complete = take_descriptors(&message, descriptors);
    if (sizeof(welcome) != bytes || MYR_DAEMON_MAGIC != welcome.magic) {
        if (complete) {
            close(descriptors[MYR_DAEMON_MEMORY]);
            close(descriptors[MYR_DAEMON_SOCKET]);
        }
        return myr_fail(error, MYR_ERR_FOREIGN, 0, "myrd is of another version of nicbarr");
    }
    welcome.why[sizeof(welcome.why) - 1] = '\0';
    if (MYR_OK != welcome.status) {
        return myr_fail(error, (enum myr_status)welcome.status, 0, "%s", welcome.why);
    }
    return complete ? MYR_OK
                    : myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd's descriptors did not come through");
}

enum myr_status myr_nic_daemon_open(const char *path, struct myr_nic_daemon *daemon,
                                    struct myr_error *error)
{
    char usual[200];
    int descriptors[MYR_DAEMON_DESCRIPTORS] = {-1, -1};
    *daemon = (struct myr_nic_daemon){.connection = -1};
    if (NULL == path && !myr_nic_daemon_path(usual, sizeof(usual))) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the daemon's socket");
    }
    enum myr_status status = call(NULL == path ? usual : path, &daemon->connection, error);
    if (MYR_OK == status) {
        status = introduce(daemon->connection, descriptors, error);
    }
    if (MYR_OK == status) {
        status = myr_segment_join_fd(descriptors[MYR_DAEMON_MEMORY], &daemon->segment, error);
        if (MYR_OK == status) {
            status = myr_nic_open_given(daemon->segment, descriptors[MYR_DAEMON_SOCKET],
                                        &daemon->nic, error);
        }
        if (MYR_OK != status) {
            close(descriptors[MYR_DAEMON_SOCKET]);
        }
    }
    if (MYR_OK != status) {
        myr_nic_daemon_close(daemon);
    }
    return status;
}

void myr_nic_daemon_close(struct myr_nic_daemon *daemon)
{
    if (NULL != daemon->nic) {
        myr_nic_close(daemon->nic);
        daemon->nic = NULL;
    }
    if (NULL != daemon->segment) {
        myr_segment_leave(daemon->segment);
        daemon->segment = NULL;
    }
    if (daemon->connection >= 0) {
        const struct myr_daemon_hello goodbye = {MYR_DAEMON_MAGIC, 0, getpid(), 1};
        (void)!send(daemon->connection, &goodbye, sizeof(goodbye), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(daemon->connection);
        daemon->connection = -1;
    }
}
