/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replaces functions of the C library, so that tests can simulate network interfaces, the death of
 * a process, the sleep of a watch, and lack of memory. It also skips tests of features that this
 * machine lacks.
 */
#ifndef TESTS_UNIT_NIC_MACHINE_H
#define TESTS_UNIT_NIC_MACHINE_H

#include <semaphore.h>
#include <stdbool.h>

/* An address that getifaddrs() reports instead of the real ones, if `pretended` is not NULL. */
struct pretended {
    const char *name, *address, *mask;
    unsigned flags;
};
extern const struct pretended *pretended;

extern void (*before_kill)(void *context); /* called once, before the next kill() */
extern void *before_kill_context;

extern struct watch_time {
    bool held;        /* the watch sleeps until the test wakes it */
    sem_t asleep, go; /* the watch is about to sleep; the test wakes it up */
} watch_time;

/* Wake the watch, and wait until it sleeps again. */
void wake_watch_once(void);

extern int
    allocations_left; /* number of allocations after which malloc() and calloc() fail; -1: never */

/* Skip the test if this machine has no IPv6. */
void need_ipv6(void);

#endif
