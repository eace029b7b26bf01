/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file's or folder's lock (flock), with an end to the wait: whoever may open it can lock it, so
 * somebody else can keep it for ever. Any thread may call this.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/file.h>

/* Lock what `fd` has open, until that is closed. False, with errno: it cannot be locked, or, with
 * EWOULDBLOCK, `most_ms` milliseconds were in vain. (Waits are counted, not timed: who has no
 * processor does not give up sooner. Over NFS, `fd` must be open for writing.) */
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
