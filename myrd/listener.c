/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket on which a daemon listens; see listener.h. */
#include "myrd/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libmyr/unix_talk.h"

enum {
    PATH_BYTES = sizeof(((struct sockaddr_un *)0)->sun_path),
    AGAIN_MS = 100, /* interval of retries while there are no free descriptors */
};

enum myr_status myrd_listener_make_directory(const char *path, mode_t rights,
                                             struct myr_error *error)
{
    char dir[PATH_BYTES];
    struct stat about;
    snprintf(dir, sizeof(dir), "%s", path);
    *strrchr(dir, '/') = '\0';
    const mode_t before = umask(0777 & ~rights);
    const int made = mkdir(dir, rights);
    const int err = errno;
    umask(before);
    if (made < 0 && EEXIST != err) {
        return myr_fail(error, MYR_ERR_SYSTEM, err, "cannot create %s", dir);
    }
    if (lstat(dir, &about) < 0 || !S_ISDIR(about.st_mode) || geteuid() != about.st_uid ||
        0 != (about.st_mode & 077 & ~rights)) {
        return myr_fail(
            error, MYR_ERR_SYSTEM, 0,
            "%s is not a directory that only you can write to (remove it, or give --socket)", dir);
    }
    return MYR_OK;
}

/* Acquires the lock, which is released when its process ends. A socket file that exists although
 * the lock was free is therefore stale. */
static enum myr_status lock_socket(struct myrd_listener *listener, struct myr_error *error)
{
    char lock[PATH_BYTES + sizeof(".lock")];
    struct stat about;
    snprintf(lock, sizeof(lock), "%s.lock", listener->address.sun_path);
    listener->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (listener->lock < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open %s", lock);
    }
    if (flock(listener->lock, LOCK_EX | LOCK_NB) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd is already running, at %s",
                        listener->address.sun_path);
    }
    if (0 == lstat(listener->address.sun_path, &about) &&
        (!S_ISSOCK(about.st_mode) || unlink(listener->address.sun_path) < 0)) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "%s exists, and is not a socket (remove it, or give --socket)",
                        listener->address.sun_path);
    }
    return MYR_OK;
}

/* Returns the socket's name in its directory. */
static const char *name_of(const struct myrd_listener *listener)
{
    const char *slash = strrchr(listener->address.sun_path, '/');
    return NULL == slash ? listener->address.sun_path : slash + 1;
}

static enum myr_status hold_dir(struct myrd_listener *listener, struct myr_error *error)
{
    char dir[PATH_BYTES];
    const int length = (int)(name_of(listener) - listener->address.sun_path);
    snprintf(dir, sizeof(dir), "%.*s", length, listener->address.sun_path);
    listener->dir = open(0 == length ? "." : dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return listener->dir < 0 ? myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open %s", dir)
                             : MYR_OK;
}

/* Reserves a descriptor, so that visitors can be refused when all others are in use. */
static void keep_spare(struct myrd_listener *listener)
{
    if (listener->spare < 0) {
        listener->spare = eventfd(0, EFD_CLOEXEC);
    }
}

enum myr_status myrd_listener_open(struct myrd_listener *listener, const char *path, mode_t rights,
                                   struct myr_error *error)
{
    *listener = (struct myrd_listener){.lock = -1, .listening = -1, .dir = -1, .spare = -1};
    listener->address.sun_family = AF_UNIX;
    if (snprintf(listener->address.sun_path, PATH_BYTES, "%s", path) >= PATH_BYTES) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the socket's path");
    }
    enum myr_status status = lock_socket(listener, error);
    if (MYR_OK == status) {
        status = hold_dir(listener, error);
    }
    if (MYR_OK != status) {
        return status;
    }
    listener->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0777 & ~rights);
    listener->bound = listener->listening >= 0 &&
                      0 == bind(listener->listening, (struct sockaddr *)&listener->address,
                                sizeof(listener->address));
    const int err = errno;
    umask(before);
    if (!listener->bound || listen(listener->listening, SOMAXCONN) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, listener->bound ? errno : err, "cannot listen at %s",
                        listener->address.sun_path);
    }
    keep_spare(listener);
    return MYR_OK;
}

void myrd_listener_hide(struct myrd_listener *listener)
{
    if (listener->bound) {
        (void)unlinkat(listener->dir, name_of(listener), 0);
        listener->bound = false;
    }
    if (listener->listening >= 0) {
        close(listener->listening);
        listener->listening = -1;
    }
}

void myrd_listener_close(struct myrd_listener *listener)
{
    myrd_listener_hide(listener);
    if (listener->lock >= 0) {
        close(listener->lock); /* the file is kept, because another daemon may be waiting for the
                               lock */
        listener->lock = -1;
    }
    if (listener->dir >= 0) {
        close(listener->dir);
        listener->dir = -1;
    }
    if (listener->spare >= 0) {
        close(listener->spare);
        listener->spare = -1;
    }
}

/* ---- visitors ---- */

short myrd_listener_events(struct myrd_listener *listener)
{
    keep_spare(listener);
    return listener->spare < 0 ? 0 : POLLIN;
}

int myrd_listener_timeout(const struct myrd_listener *listener, int timeout_ms)
{
    const bool cut = listener->spare < 0 && (timeout_ms < 0 || timeout_ms > AGAIN_MS);
    return cut ? AGAIN_MS : timeout_ms;
}

static int accept_connection(const struct myrd_listener *listener)
{
    return accept4(listener->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static bool lacks_descriptors(void)
{
    return EMFILE == errno || ENFILE == errno;
}

/* Accepts a connection, by means of the spare descriptor if necessary. */
static int accept_with_spare(struct myrd_listener *listener)
{
    const int connection = accept_connection(listener);
    if (connection >= 0 || !lacks_descriptors() || listener->spare < 0) {
        return connection;
    }
    close(listener->spare);
    listener->spare = -1;
    return accept_connection(listener);
}

bool myrd_listener_accept(struct myrd_listener *listener, struct myrd_visitor *visitor,
                          const char **why)
{
    struct ucred peer = {.uid = (uid_t)-1};
    *why = NULL;
    visitor->connection = accept_with_spare(listener);
    if (visitor->connection < 0) {
        return false;
    }
    const bool known = myr_talk_peer(visitor->connection, &peer);
    visitor->process = known ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
    visitor->pid = peer.pid;
    visitor->uid = peer.uid;
    if (visitor->process < 0) {
        *why = known && lacks_descriptors()
                   ? "myrd refuses: it has no descriptors left (raise its limit, LimitNOFILE)"
                   : "myrd refuses: it cannot see the process (is it in another container?)";
    }
    return true;
}

void myrd_visitor_leave(const struct myrd_visitor *visitor)
{
    char word;
    /* Closing the socket with unread data would reset the connection, and the reply would be
     * lost. */
    (void)shutdown(visitor->connection, SHUT_RD);
    while (recv(visitor->connection, &word, sizeof(word), MSG_DONTWAIT) > 0) {
    }
    close(visitor->connection);
    if (visitor->process >= 0) {
        close(visitor->process);
    }
}
