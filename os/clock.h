/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock, and the system's representations of time.
 *
 * The clock is CLOCK_MONOTONIC, so only differences are meaningful. It is the same for all
 * processes of a machine. Any thread may call these functions. */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t os_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t os_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t os_now_ms(void)
{
    return os_now_us() / 1000;
}

/* Returns the CPU time of the calling thread. */
static inline uint64_t os_thread_ns(void)
{
    struct timespec ran;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (uint64_t)ran.tv_sec * UINT64_C(1000000000) + (uint64_t)ran.tv_nsec;
}

/* Returns UINT32_MAX if the milliseconds do not fit into 32 bits. */
static inline uint32_t os_ms_of_s(uint32_t seconds)
{
    return seconds < UINT32_MAX / 1000 ? seconds * 1000 : UINT32_MAX;
}

static inline struct timespec os_timespec_of_ns(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    return time;
}

static inline struct timespec os_timespec_of_us(uint64_t us)
{
    const struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    return time;
}

#endif
