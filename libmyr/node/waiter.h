/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for a word of the node's memory: look, then yield, then sleep, by the rule of waiting.h.
 *
 * A waiter belongs to a process and may be used by several of its threads at once.
 */
#ifndef MYR_WAITER_H
#define MYR_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "libmyr/waiting.h"

struct myr_segment;

struct myr_waiter {
    struct myr_segment *segment;
    void (*progress)(void); /* keeps the host's other traffic going; called while waiting. It
                             * must not yield: its processor time tells whether it had work. */
    struct myr_patience patience;
    myr_word population; /* the node's, when `oversubscribed` was found out */
    _Atomic bool oversubscribed;
    _Atomic int64_t idle_ns; /* the least processor time that a call of progress has taken */
};

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_patience *patience);

/* Does this process share its processors with others? As of now. */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter);

/*
 * How a group waits on the words of its record. The few things that every wait needs are together.
 * A process that shares its processor finds its caches and page tables cold whenever it gets to
 * run: each page that a barrier touches costs it time.
 */
struct myr_watch {
    uint32_t polls;     /* before the processor is given up; looked up anew now and then */
    uint32_t waits;     /* how often a wait was not over at the first look */
    myr_word *sleepers; /* shared: how many processes sleep on a word of the record */
    struct myr_waiter *waiter;
};

void myr_watch_init(struct myr_watch *watch, struct myr_waiter *waiter, myr_word *sleepers);

/* Return when `word` has reached `epoch`. The process that publishes it calls myr_wake()
 * afterwards. */
void myr_wait_slow(struct myr_watch *watch, myr_word *word, uint32_t epoch);

static inline void myr_wait(struct myr_watch *watch, myr_word *word, uint32_t epoch)
{
    if (!myr_epoch_reached(myr_load_acquire(word), epoch)) {
        myr_wait_slow(watch, word, epoch);
    }
}

void myr_wake_slow(myr_word *word);

/*
 * Wake those who sleep on `word`, which was just published. There is no fence between the two. At
 * worst the look at `sleepers` comes too early; the sleeper then finds out at the end of its slice.
 */
static inline void myr_wake(const struct myr_watch *watch, myr_word *word)
{
    if (__builtin_expect(0 != atomic_load_explicit(watch->sleepers, memory_order_relaxed), 0)) {
        myr_wake_slow(word);
    }
}

#endif
