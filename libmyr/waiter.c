/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for a word, in three phases:
 *
 * 1. Poll, with a processor to oneself: what comes within microseconds is seen at once. With more
 *    processes than processors this phase is empty, as the process that we wait for cannot run
 *    meanwhile. 100 polls before the first yield made a barrier of 8 processes on 2 processors four
 *    times slower.
 * 2. Yield the processor between polls.
 * 3. Sleep on the word (a futex), in slices. A neighbour may compute for a second, and we must not
 *    burn a core for it.
 *
 * The host's progress function runs throughout. So, for example, a rendezvous send to a process
 * that waits here goes on. It does not run before the first few polls or yields: a barrier that
 * everybody enters at once is over by then.
 */
#include "libmyr/waiter.h"

#include "libmyr/segment.h"
#include "os/calls.h"
#include "os/clock.h"
#include "os/futex.h"

enum {
    SPIN = 1000,        /* polls with a processor to oneself, about 50 us */
    SPIN_PROGRESS = 64, /* polls between two calls of progress, about 3 us */
    QUIET_YIELDS = 3,   /* yields before the first call of progress */
    LOOK_EVERY = 256,   /* waits after which the node's load is looked up anew, a power of two */
    AFTERGLOW = 20,     /* microseconds of looking after other traffic at the end of each sleep */
    BUSY = 3000,        /* nanoseconds of processor time after which progress has moved something */
    SLICE_FIRST = 50,   /* microseconds of the first sleep; doubled each time, up to the longest */
};

void myr_wake_slow(myr_word *word)
{
    os_futex_wake((const void *)word);
}

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_patience *patience)
{
    waiter->segment = segment;
    waiter->progress = progress;
    waiter->patience = *patience;
    waiter->population = myr_observe(myr_segment_population(segment)) - 1; /* look at first use */
    waiter->oversubscribed = false;
}

/* Two threads that get here at once do the same work twice, with the same result. */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter)
{
    const uint32_t population = myr_observe(myr_segment_population(waiter->segment));
    if (population != atomic_load_explicit(&waiter->population, memory_order_relaxed)) {
        const bool oversubscribed = myr_segment_oversubscribed(waiter->segment);
        atomic_store_explicit(&waiter->oversubscribed, oversubscribed, memory_order_relaxed);
        atomic_store_explicit(&waiter->population, population, memory_order_relaxed);
    }
    return atomic_load_explicit(&waiter->oversubscribed, memory_order_relaxed);
}

static void look_up(struct myr_watch *watch)
{
    const int32_t spin = watch->waiter->patience.spin;
    watch->polls = spin >= 0 ? (uint32_t)spin : myr_waiter_oversubscribed(watch->waiter) ? 0 : SPIN;
}

void myr_watch_init(struct myr_watch *watch, struct myr_waiter *waiter, myr_word *sleepers)
{
    *watch = (struct myr_watch){.sleepers = sleepers, .waiter = waiter};
    look_up(watch);
}

MYR_HOT static bool poll_for(const struct myr_watch *watch, const myr_word *word, uint32_t epoch)
{
    for (uint32_t i = 1; i <= watch->polls; ++i) {
        myr_relax();
        if (myr_epoch_reached(myr_observe(word), epoch)) {
            return true;
        }
        if (0 == i % SPIN_PROGRESS) {
            watch->waiter->progress();
        }
    }
    return false;
}

MYR_HOT static bool yield_for(const myr_word *word, uint32_t epoch)
{
    for (int i = 0; i < QUIET_YIELDS; ++i) {
        os_give_way();
        if (myr_epoch_reached(myr_observe(word), epoch)) {
            return true;
        }
    }
    return false;
}

static int64_t processor_time_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/*
 * Has this call of progress moved anything? Open MPI does not say, so we judge by the processor
 * time it took. A process that sleeps while a neighbour sends large messages would let them pass at
 * one a slice.
 */
static bool progress_moves(const struct myr_waiter *waiter)
{
    const int64_t start = processor_time_ns();
    waiter->progress();
    return processor_time_ns() - start >= BUSY;
}

/* Until nothing has moved for `patience_us`; true if the word was reached meanwhile. */
static bool progress_for(const struct myr_waiter *waiter, const myr_word *word, uint32_t epoch,
                         int32_t patience_us)
{
    uint64_t start = os_now_us();
    do {
        if (progress_moves(waiter)) {
            start = os_now_us();
        }
        os_give_way();
        if (myr_epoch_reached(myr_observe(word), epoch)) {
            return true;
        }
    } while (patience_us < 0 || os_now_us() - start < (uint64_t)patience_us);
    return false;
}

/* The same at the end of a sleep, and only for a moment; true if anything has moved. On a slow
 * machine that may be so every time, so it looks at the word as well. */
static bool look_after_traffic(const struct myr_waiter *waiter, const myr_word *word,
                               uint32_t epoch)
{
    bool moved = false;
    waiter->progress(); /* the first call after a sleep takes its time in any case */
    for (uint64_t start = os_now_us();
         os_now_us() - start < AFTERGLOW && !myr_epoch_reached(myr_observe(word), epoch);) {
        if (progress_moves(waiter)) {
            moved = true;
            start = os_now_us();
        }
    }
    return moved;
}

static void sleep_for(const struct myr_watch *watch, myr_word *word, uint32_t epoch)
{
    const struct myr_waiter *waiter = watch->waiter;
    const uint32_t longest = (uint32_t)waiter->patience.slice;
    const uint32_t first = SLICE_FIRST < longest ? SLICE_FIRST : longest;
    uint32_t slice = first;
    /* Somebody may have bound us to other processors meanwhile: tell the others. */
    (void)myr_segment_oversubscribed(waiter->segment);
    for (;;) {
        atomic_fetch_add(watch->sleepers, 1);
        const uint32_t seen = myr_observe(word);
        const bool reached = myr_epoch_reached(seen, epoch);
        if (!reached) {
            os_futex_wait((const void *)word, seen, slice);
        }
        atomic_fetch_sub(watch->sleepers, 1);
        if (reached || myr_epoch_reached(myr_observe(word), epoch)) {
            return;
        }
        const bool moved = look_after_traffic(waiter, word, epoch);
        slice = moved ? first : 2 * slice < longest ? 2 * slice : longest;
    }
}

MYR_HOT __attribute__((noinline)) void myr_wait_slow(struct myr_watch *watch, myr_word *word,
                                                     uint32_t epoch)
{
    if (0 == ++watch->waits % LOOK_EVERY) {
        look_up(watch);
    }
    if (poll_for(watch, word, epoch) || yield_for(word, epoch)) {
        return;
    }
    look_up(watch);
    if (!progress_for(watch->waiter, word, epoch, watch->waiter->patience.sleep_after)) {
        sleep_for(watch, word, epoch);
    }
}
