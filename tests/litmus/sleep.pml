/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping on a word that somebody else stores: sleep_for() and myr_wake() in libmyr/node/waiter.c and
 * waiter.h, myr_soft_sleep() in libmyr/soft/nic_sleep.c and wake() in nic_board.c.
 *
 * The sleeper counts itself, looks at the word and calls futex. Who stores the word then looks
 * whether anybody is counted, and calls futex if so. There is no fence between that store and that
 * look, as every barrier would pay for it. So the look may come before the store has been seen, and a
 * wake-up is lost (an invalid end).
 *   -DSLICE  as it is: a sleep has an end, and after that the word has been seen
 *   -DFENCE  with a fence in between
 *
 * The model assumes of futex that it looks at the word behind a full fence and under a lock. Whoever
 * wakes takes the same lock.
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
