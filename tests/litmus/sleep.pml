/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that sleeps on a word must be woken by the store for which it waits: the model of
 * sleep_on_word() and myr_wake() in libmyr/node/waiter.c and waiter.h, of myr_soft_sleep() in
 * libmyr/soft/nic_sleep.c, and of wake_sleepers() in nic_board.c.
 *
 * The sleeper increments the number of sleepers, reads the word, and calls futex. The process that
 * stores the word then reads the number of sleepers, and calls futex if there are any. There is no
 * fence between its store and its load, because each barrier would incur the cost. Therefore the
 * load may be performed before the store is visible, in which case the wake-up is lost (an invalid
 * end state).
 *   -DSLICE         as in the code: a sleep has a timeout, after which the word is visible
 *   -DFENCE         with a fence between the store and the load
 *
 * The model assumes that futex reads the word after a full fence and under a lock that the waking
 * process takes as well.
 */
#define PROCESSORS 2
#define WORDS 3
#define STORES 6
#include "memory.pml"

#define WORD 0
#define SLEEPERS 1
#define BUCKET 2 /* futex's lock */

bool queued, woken;

proctype sleeper()
{
    byte seen, value;
    add(0, SLEEPERS, STRICT, 1, value);
    load(0, WORD, ACQUIRE, seen);
    if
    :: seen == 0 ->
        await(0, BUCKET, ACQUIRE, 0, 1);
        fence(0);
        load(0, WORD, RELAXED, value);
        queued = value == seen;
        store(0, BUCKET, RELEASE, 0);
        if
        :: !queued || woken
#ifdef SLICE
        :: timeout -> assert(LAST(WORD) == 1)
#endif
        fi
    :: else
    fi
}

proctype waker()
{
    byte sleepers;
    store(1, WORD, RELEASE, 1);
#ifdef FENCE
    fence(1);
#endif
    load(1, SLEEPERS, RELAXED, sleepers);
    if
    :: sleepers > 0 ->
        fence(1);
        await(1, BUCKET, ACQUIRE, 0, 1);
        woken = queued;
        store(1, BUCKET, RELEASE, 0)
    :: else
    fi
}

init {
    atomic { power_on(); run sleeper(); run waker() }
}
