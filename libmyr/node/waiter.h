/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for a word in the memory of the node: first spins, then yields, then sleeps, according to
 * the policy of waiting.h.
 *
 * A waiter belongs to a process; several threads of the process may use it concurrently. */
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
     * time indicates whether it had work to do. */
    void (*progress)(void);
    struct myr_wait_policy policy;
    /* Called whenever a wait has lasted for another MYR_LONG_WAIT_US; `times` is the number of
     * calls so far. The first call publishes the wait (waits.h) and returns its entry, which is
     * hidden when the wait ends. The results of later calls are ignored. May be NULL. */
    struct myr_shown_wait *(*long_wait)(const struct myr_watch *watch, uint32_t times);
    /* Called in longer waits after each call of progress(). If it returns true, the wait cannot end
     * by itself and is abandoned, as are all later waits of the same watch. May be NULL. */
    bool (*abandons)(const struct myr_watch *watch);
    myr_word population; /* the node's population word when `oversubscribed` was determined */
    _Atomic bool oversubscribed;
    _Atomic int64_t idle_ns; /* the shortest CPU time of a call of progress */
};

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_wait_policy *policy);

/* Returns whether this process shares its CPUs with other processes at present. */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter);

/* A watch contains all that a group needs in order to wait for words of its record. The few fields
 * that every wait needs are adjacent, because whenever a process that shares its CPU with others is
 * scheduled, its caches and TLBs are cold, and each page that a barrier touches costs time. */
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

/* Wakes the processes that sleep on `word`, which was just stored. There is no fence between this
 * store and the load of `sleepers`. In the worst case the load is executed too early and misses a
 * process that falls asleep, which then finds the new value at the end of its slice. */
static inline void myr_wake(const struct myr_watch *watch, myr_word *word)
{
    if (__builtin_expect(0 != atomic_load_explicit(watch->sleepers, memory_order_relaxed), 0)) {
        myr_wake_slow(word);
    }
}

#endif
