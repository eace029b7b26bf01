/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping on a word of 32 bits, and waking its sleepers (futex(2)).
 *
 * The word may be in memory that several processes share, so FUTEX_PRIVATE_FLAG is not set. Any
 * thread may call these functions. */
#ifndef OS_FUTEX_H
#define OS_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/clock.h"

/* The system call that takes this C library's timespec, whose seconds may have more bits than
 * `long`. */
#ifdef SYS_futex_time64
enum { OS_FUTEX = sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex };
#else
enum { OS_FUTEX = SYS_futex };
#endif

enum { OS_FUTEX_NAP_US = 200 };

/* Sleeps until os_futex_wake() is called for this word, but at most for `timeout_us`. Returns
 * immediately if the word does not have the value `seen`. Wakeups may be spurious, so the caller
 * must check the word again. If the system rejects futex(2), for example because of a seccomp
 * filter, the function sleeps for a short time, and wakeups have no effect. */
static inline void os_futex_wait(const void *word, uint32_t seen, uint32_t timeout_us)
{
    const struct timespec timeout = os_timespec_of_us(timeout_us);
    if (syscall(OS_FUTEX, word, FUTEX_WAIT, seen, &timeout, NULL, 0) < 0 && EAGAIN != errno &&
        EINTR != errno && ETIMEDOUT != errno) {
        const struct timespec nap =
            os_timespec_of_us(timeout_us < OS_FUTEX_NAP_US ? timeout_us : OS_FUTEX_NAP_US);
        (void)nanosleep(&nap, NULL);
    }
}

/* Wakes all sleepers on `word`. */
static inline void os_futex_wake(const void *word)
{
    syscall(OS_FUTEX, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#endif
