/* SPDX-License-Identifier: BSD-3-Clause */
/* See regular_file.h. */
#include "coll_nicbarr/files/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/lock.h"

int nicbarr_open_regular(const char *path, int flags, unsigned mode, struct myr_error *error)
{
    struct stat about;
    const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    if (fd < 0) {
        /* ENXIO: it is a FIFO without a reader, or a socket. */
        myr_write_error(
            error, ENOENT == errno || ENOTDIR == errno ? MYR_ERR_NOT_THERE : MYR_ERR_SYSTEM,
            ENXIO == errno || EISDIR == errno ? 0 : errno, "%s",
            ENXIO == errno || EISDIR == errno ? "it is not a regular file" : "it cannot be opened");
        return -1;
    }
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "it is not a regular file");
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

/* ---- content ---- */

/* Read up to `most` bytes from the beginning of the file. Returns -1 with errno on failure. */
static ssize_t read_up_to(int fd, char *text, size_t most)
{
    size_t done = 0;
    while (done < most) {
        const ssize_t more = pread(fd, text + done, most - done, (off_t)done);
        if (more < 0 && EINTR != errno) {
            return -1;
        }
        if (0 == more) {
            break; /* truncated since fstat() */
        }
        done += more < 0 ? 0 : (size_t)more;
    }
    return (ssize_t)done;
}

char *nicbarr_read_whole(int fd, size_t most, size_t *bytes, struct myr_error *error)
{
    struct stat about;
    if (fstat(fd, &about) < 0) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be read");
        return NULL;
    }
    if ((uint64_t)about.st_size > most) {
        myr_write_error(error, MYR_ERR_FOREIGN, 0, "it has %llu bytes, more than the limit of %zu",
                        (unsigned long long)about.st_size, most);
        return NULL;
    }
    char *text = malloc((size_t)about.st_size + 1);
    const ssize_t done = NULL == text ? -1 : read_up_to(fd, text, (size_t)about.st_size);
    if (done < 0) {
        myr_write_error(error, MYR_ERR_SYSTEM, errno, "it cannot be read");
        free(text);
        return NULL;
    }
    *bytes = (size_t)done;
    return text;
}

bool nicbarr_write_whole(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t done = write(fd, text, bytes);
        if (done < 0 && EINTR != errno) {
            return false;
        }
        text += done < 0 ? 0 : done;
        bytes -= done < 0 ? 0 : (size_t)done;
    }
    return true;
}
