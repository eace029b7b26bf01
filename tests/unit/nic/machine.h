/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine other than this one, as far as the C library tells: its interfaces, the moment before
 * somebody is asked whether it lives, the time that a watch sleeps, and memory that runs out. And
 * what this machine may lack.
 */
#ifndef TESTS_UNIT_NIC_MACHINE_H
#define TESTS_UNIT_NIC_MACHINE_H

#include <semaphore.h>
#include <stdbool.h>

/* Addresses that getifaddrs() is to tell of instead of the real ones; NULL: the real ones. */
struct pretended {
    const char *name, *address, *mask;
    unsigned flags;
};
extern const struct pretended *pretended;

extern void (*before_kill)(void *context); /* called once */
extern void *before_kill_context;

extern struct watch_time {
    bool held;        /* the watch sleeps until it may go on, whatever the time */
    sem_t asleep, go; /* it is about to sleep; it may wake up */
} watch_time;

/* Have it wake up, do what it does, and go to sleep again. */
void one_watch_turn(void);

extern int allocations_left; /* of malloc() and calloc(); -1: any number */

/* Skip the test where this machine has no IPv6. */
void need_ipv6(void);

#endif
