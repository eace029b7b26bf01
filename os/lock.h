/* SPDX-License-Identifier: BSD-3-Clause */
/* A lock of a file or folder (flock) with a timeout: any process that may open it can lock it, and
 * keep it locked forever. Any thread may call this. */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>

/* Lock the file behind `fd`, until that is closed. False, with errno: it cannot be locked, or, with
 * EWOULDBLOCK, `most_ms` milliseconds have passed. (Waits are counted, not timed, so a process
 * without a processor does not give up early. Over NFS, `fd` must be open for writing.) */
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
