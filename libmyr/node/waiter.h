/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a word of the node's memory: spin, then yield, then sleep, by the policy of
 * waiting.h.
 *
 * A waiter belongs to a process; several of its threads may use it at once. */
#ifndef MYR_WAITER_H
#define MYR_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "libmyr/waiting.h"

struct myr_segment;
struct myr_shown_wait;
struct myr_watch;

struct myr_waiter {
    struct myr_segment *segment;
    void (*progress)(void); /* advances the host's other traffic; called while waiting. It must not
                             * yield, because its processor time shows whether it had work. */
    struct myr_wait_policy policy;
    /* Called each time a wait has lasted for another MYR_LONG_WAIT_US; `times` is the number of
     * these so far. The first call publishes the wait (waits.h) and returns its entry, which is
     * hidden when the wait ends. The results of later calls are ignored. NULL: not called. */
    struct myr_shown_wait *(*long_wait)(const struct myr_watch *watch, uint32_t times);
    /* Called after each call of progress in a longer wait. If it returns true, the wait will not
     * end by itself, and is abandoned, as are all later waits of its watch. NULL: not called. */
    bool (*abandons)(const struct myr_watch *watch);
    myr_word population; /* the node's when `oversubscribed` was determined */
    _Atomic bool oversubscribed;
    _Atomic int64_t idle_ns; /* the shortest processor time of a call of progress */
};

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_wait_policy *policy);

/* Does this process share its processors with others at present? */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter);

/* How a group waits on the words of its record. The few fields that every wait needs are together:
 * a process that shares its processor finds cold caches and TLBs whenever it is scheduled, so each
 * page that a barrier touches costs time. */
struct myr_watch {
    uint32_t polls;     /* before progress is called throughout; updated now and then */
    uint32_t waits;     /* waits that were not over at the first poll */
    myr_word *sleepers; /* shared: number of processes that sleep on a word of the record */
    struct myr_waiter *waiter;
    void *owner; /* for long_wait() and abandons(): whose wait it is; NULL: they are not called */
    bool yields; /* the processor, between polls after the first */
    bool abandoned; /* see abandons() */
};

void myr_watch_init(struct myr_watch *watch, struct myr_waiter *waiter, myr_word *sleepers);

/* Return when `word` has reached `epoch`, or when the watch is abandoned. The process that stores
 * it calls myr_wake() afterwards. */
void myr_wait_slow(struct myr_watch *watch, myr_word *word, uint32_t epoch);

static inline void myr_wait(struct myr_watch *watch, myr_word *word, uint32_t epoch)
{
    if (!myr_epoch_reached(myr_load_acquire(word), epoch)) {
        myr_wait_slow(watch, word, epoch);
    }
}

void myr_wake_slow(myr_word *word);

/* Wake the processes that sleep on `word`, which was just stored. There is no fence between the
 * two: at worst `sleepers` is read too early, and the sleeper finds the new value at the end of its
 * slice. */
static inline void myr_wake(const struct myr_watch *watch, myr_word *word)
{
    if (__builtin_expect(0 != atomic_load_explicit(watch->sleepers, memory_order_relaxed), 0)) {
        myr_wake_slow(word);
    }
}

#endif
