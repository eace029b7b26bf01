/* SPDX-License-Identifier: BSD-3-Clause */
/* Files whose names the person gives; see regular_file.h. */
#include "coll_nicbarr/files/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/lock.h"

int nicbarr_open_regular(const char *path, int flags, unsigned mode, struct myr_error *error)
{
    struct stat about;
    const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    if (fd < 0) {
        /* ENXIO: a pipe that nobody reads, or a socket. */
        myr_write_error(
            error, ENOENT == errno || ENOTDIR == errno ? MYR_ERR_NOT_THERE : MYR_ERR_SYSTEM,
            ENXIO == errno || EISDIR == errno ? 0 : errno, "%s",
            ENXIO == errno || EISDIR == errno ? "it is no regular file" : "it cannot be opened");
        return -1;
    }
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "it is no regular file");
        close(fd);
        return -1;
    }
    return fd;
}

bool nicbarr_lock(int fd, unsigned most_ms, struct myr_error *error)
{
    if (os_lock(fd, most_ms)) {
        return true;
    }
    if (EWOULDBLOCK == errno) {
        myr_write_error(error, MYR_ERR_FULL, 0, "another process keeps it locked");
    } else {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be locked");
    }
    return false;
}
