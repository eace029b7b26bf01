/* SPDX-License-Identifier: BSD-3-Clause */
/* Locking of a file or directory (flock) with a timeout, because any process that is permitted to
 * open it could keep it locked forever. Any thread may call this. */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>

/* Locks the file behind `fd`; closing `fd` releases the lock. Over NFS, `fd` must be open for
 * writing. Returns false with errno on failure, which is EWOULDBLOCK if another process has held
 * the lock for `most_ms` milliseconds. This timeout is the number of sleeps of a millisecond and
 * not a time, so that a process that gets no CPU does not give up early. */
static inline bool os_lock(int fd, unsigned most_ms)
{
    unsigned waited = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (EINTR != errno && (EWOULDBLOCK != errno || waited++ >= most_ms)) {
            return false;
        }
        (void)poll(NULL, 0, 1);
    }
    return true;
}

#endif
