/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks a file or directory (flock(2)). A timeout is necessary, because any process that is
 * permitted to open the file could keep it locked forever. Any thread may call this function. */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>

/* Locks the file with the descriptor `fd`; closing the descriptor releases the lock. Over NFS, the
 * file must be open for writing. Returns false, with errno, on failure; EWOULDBLOCK means that
 * another process has held the lock for `most_ms` milliseconds. The timeout is measured by counting
 * sleeps of one millisecond, so that a process that gets no CPU does not give up early. */
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
