/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library makes the program's clock jump back and forth by an hour,
 * to test that jobs work while the time of day is being set. machine_faults.sh runs jobs with it.
 *
 * It changes only the time that the program itself reads; timeouts in the kernel use the true
 * clock. Therefore a wait until a time of day lasts an hour too long or ends at once, as it does
 * when an administrator sets the clock during the wait.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { HOUR = 3600, READS = 5 /* readings of the clock between two jumps */ };

static time_t jump(void)
{
    static _Atomic unsigned reads;
    return (time_t)HOUR * ((int)(atomic_fetch_add(&reads, 1) / READS % 3) - 1);
}

EXPORTED int clock_gettime(clockid_t which, struct timespec *now)
{
    const long rc = syscall(SYS_clock_gettime, which, now);
    if (0 == rc && (CLOCK_REALTIME == which || CLOCK_REALTIME_COARSE == which)) {
        now->tv_sec += jump();
    }
    return (int)rc;
}

EXPORTED int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec time;
    (void)zone;
    const int rc = clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return rc;
}

EXPORTED time_t time(time_t *now)
{
    struct timespec present;
    (void)clock_gettime(CLOCK_REALTIME, &present);
    if (NULL != now) {
        *now = present.tv_sec;
    }
    return present.tv_sec;
}
