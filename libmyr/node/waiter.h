/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a word of the node's memory: spins, then yields, then sleeps, by the policy of
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
    /* advances the host's other traffic; called while waiting. It must not yield, because its CPU
     * time is taken as the sign of whether it had work. */
    void (*progress)(void);
    struct myr_wait_policy policy;
    /* Called each time a wait has lasted for another MYR_LONG_WAIT_US; `times` is the number of
     * these so far. The first call publishes the wait (waits.h) and returns its entry, which is
     * hidden when the wait ends. The results of later calls are ignored. If NULL, it is not
     * called. */
    struct myr_shown_wait *(*long_wait)(const struct myr_watch *watch, uint32_t times);
    /* Called after each call of progress in a longer wait. If it returns true, the wait cannot end
     * by itself and is abandoned, as are all later waits of its watch. If NULL, it is not
     * called. */
    bool (*abandons)(const struct myr_watch *watch);
    myr_word population; /* the node's population word when `oversubscribed` was determined */
    _Atomic bool oversubscribed;
    _Atomic int64_t idle_ns; /* the shortest CPU time of a call of progress */
};

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_wait_policy *policy);

/* Returns whether this process shares its CPUs with other processes at present. */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter);

/* A watch: the state with which a group waits on the words of its record. The few fields that every
 * wait needs are together, because a process that shares its CPU finds cold caches and TLBs
 * whenever it is scheduled, so each page that a barrier touches costs time. */
struct myr_watch {
    uint32_t polls;     /* polls before progress is called; updated from time to time */
    uint32_t waits;     /* number of waits that were not over at the first poll */
    myr_word *sleepers; /* shared: number of processes that sleep on a word of the record */
    struct myr_waiter *waiter;
    void *owner; /* whose wait it is, for long_wait() and abandons(), which are not called if this
                    is NULL */
    bool yields; /* whether to yield the CPU between polls after the first */
    bool abandoned; /* whether its waits are abandoned, see abandons() */
};

void myr_watch_init(struct myr_watch *watch, struct myr_waiter *waiter, myr_word *sleepers);

/* Waits until `word` has reached `epoch`, or the watch is abandoned. The process that stores the
 * epoch calls myr_wake() afterwards. */
void myr_wait_slow(struct myr_watch *watch, myr_word *word, uint32_t epoch);

static inline void myr_wait(struct myr_watch *watch, myr_word *word, uint32_t epoch)
{
    if (!myr_epoch_reached(myr_load_acquire(word), epoch)) {
        myr_wait_slow(watch, word, epoch);
    }
}

void myr_wake_slow(myr_word *word);

/* Wakes the processes that sleep on `word`, which was just stored. There is no fence between the
 * two accesses: in the worst case `sleepers` is read too early, and the sleeper finds the new value
 * at the end of its slice. */
static inline void myr_wake(const struct myr_watch *watch, myr_word *word)
{
    if (__builtin_expect(0 != atomic_load_explicit(watch->sleepers, memory_order_relaxed), 0)) {
        myr_wake_slow(word);
    }
}

#endif
