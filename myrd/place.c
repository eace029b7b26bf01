/* SPDX-License-Identifier: BSD-3-Clause */
/* The socket on which a daemon listens; see place.h. */
#include "myrd/place.h"

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

enum myr_status myrd_place_make_folder(const char *path, mode_t rights, struct myr_error *error)
{
    char folder[PATH_BYTES];
    struct stat about;
    snprintf(folder, sizeof(folder), "%s", path);
    *strrchr(folder, '/') = '\0';
    const mode_t before = umask(0777 & ~rights);
    const int made = mkdir(folder, rights);
    const int err = errno;
    umask(before);
    if (made < 0 && EEXIST != err) {
        return myr_fail(error, MYR_ERR_SYSTEM, err, "cannot create %s", folder);
    }
    if (lstat(folder, &about) < 0 || !S_ISDIR(about.st_mode) || geteuid() != about.st_uid ||
        0 != (about.st_mode & 077 & ~rights)) {
        return myr_fail(
            error, MYR_ERR_SYSTEM, 0,
            "%s is not a directory that only you can write to (remove it, or give --socket)",
            folder);
    }
    return MYR_OK;
}

/* Acquires the lock, which is released when its process ends. So a socket file that exists after
 * that is stale. */
static enum myr_status lock_place(struct myrd_place *place, struct myr_error *error)
{
    char lock[PATH_BYTES + sizeof(".lock")];
    struct stat about;
    snprintf(lock, sizeof(lock), "%s.lock", place->address.sun_path);
    place->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (place->lock < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open %s", lock);
    }
    if (flock(place->lock, LOCK_EX | LOCK_NB) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0, "myrd is already running, at %s",
                        place->address.sun_path);
    }
    if (0 == lstat(place->address.sun_path, &about) &&
        (!S_ISSOCK(about.st_mode) || unlink(place->address.sun_path) < 0)) {
        return myr_fail(error, MYR_ERR_SYSTEM, 0,
                        "%s exists, and is not a socket (remove it, or give --socket)",
                        place->address.sun_path);
    }
    return MYR_OK;
}

/* Returns the socket's name in its directory. */
static const char *name_of(const struct myrd_place *place)
{
    const char *slash = strrchr(place->address.sun_path, '/');
    return NULL == slash ? place->address.sun_path : slash + 1;
}

static enum myr_status hold_folder(struct myrd_place *place, struct myr_error *error)
{
    char folder[PATH_BYTES];
    const int length = (int)(name_of(place) - place->address.sun_path);
    snprintf(folder, sizeof(folder), "%.*s", length, place->address.sun_path);
    place->folder = open(0 == length ? "." : folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return place->folder < 0 ? myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot open %s", folder)
                             : MYR_OK;
}

/* Reserves a descriptor, so that visitors can be refused when all others are in use. */
static void keep_spare(struct myrd_place *place)
{
    if (place->spare < 0) {
        place->spare = eventfd(0, EFD_CLOEXEC);
    }
}

enum myr_status myrd_place_open(struct myrd_place *place, const char *path, mode_t rights,
                                struct myr_error *error)
{
    *place = (struct myrd_place){.lock = -1, .listening = -1, .folder = -1, .spare = -1};
    place->address.sun_family = AF_UNIX;
    if (snprintf(place->address.sun_path, PATH_BYTES, "%s", path) >= PATH_BYTES) {
        return myr_fail(error, MYR_ERR_SYSTEM, ENAMETOOLONG, "the socket's path");
    }
    enum myr_status status = lock_place(place, error);
    if (MYR_OK == status) {
        status = hold_folder(place, error);
    }
    if (MYR_OK != status) {
        return status;
    }
    place->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0777 & ~rights);
    place->bound =
        place->listening >= 0 &&
        0 == bind(place->listening, (struct sockaddr *)&place->address, sizeof(place->address));
    const int err = errno;
    umask(before);
    if (!place->bound || listen(place->listening, SOMAXCONN) < 0) {
        return myr_fail(error, MYR_ERR_SYSTEM, place->bound ? errno : err, "cannot listen at %s",
                        place->address.sun_path);
    }
    keep_spare(place);
    return MYR_OK;
}

void myrd_place_hide(struct myrd_place *place)
{
    if (place->bound) {
        (void)unlinkat(place->folder, name_of(place), 0);
        place->bound = false;
    }
    if (place->listening >= 0) {
        close(place->listening);
        place->listening = -1;
    }
}

void myrd_place_close(struct myrd_place *place)
{
    myrd_place_hide(place);
    if (place->lock >= 0) {
        close(place->lock); /* the file is kept, because another daemon may be waiting for the
                               lock */
        place->lock = -1;
    }
    if (place->folder >= 0) {
        close(place->folder);
        place->folder = -1;
    }
    if (place->spare >= 0) {
        close(place->spare);
        place->spare = -1;
    }
}

/* ---- visitors ---- */

short myrd_place_events(struct myrd_place *place)
{
    keep_spare(place);
    return place->spare < 0 ? 0 : POLLIN;
}

int myrd_place_timeout(const struct myrd_place *place, int timeout_ms)
{
    const bool cut = place->spare < 0 && (timeout_ms < 0 || timeout_ms > AGAIN_MS);
    return cut ? AGAIN_MS : timeout_ms;
}

static int accept_one(const struct myrd_place *place)
{
    return accept4(place->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static bool lacks_descriptors(void)
{
    return EMFILE == errno || ENFILE == errno;
}

/* Accepts a connection, by means of the spare descriptor if necessary. */
static int take_connection(struct myrd_place *place)
{
    const int connection = accept_one(place);
    if (connection >= 0 || !lacks_descriptors() || place->spare < 0) {
        return connection;
    }
    close(place->spare);
    place->spare = -1;
    return accept_one(place);
}

bool myrd_place_accept(struct myrd_place *place, struct myrd_visitor *visitor, const char **why)
{
    struct ucred peer = {.uid = (uid_t)-1};
    *why = NULL;
    visitor->connection = take_connection(place);
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
