/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a word in the three phases of waiting.h. A process sleeps on the awaited word itself,
 * by a futex. Since it is not woken by other messages that arrive for it, it calls the progress
 * function after each slice of sleep. */
#include "libmyr/node/waiter.h"

#include "libmyr/node/segment.h"
#include "libmyr/node/waits.h"
#include "os/calls.h"
#include "os/clock.h"
#include "os/futex.h"

enum {
    CHECK_EVERY = 256,   /* waits between two checks for oversubscription, a power of two */
    AFTER_SLEEP_US = 20, /* how long progress runs after each slice of sleep */
    /* A call of the progress function is assumed to have moved data if it takes at least BUSY_NS of
     * CPU time, and at least BUSY_TIMES as much as the fastest call. */
    BUSY_NS = 3000,
    BUSY_TIMES = 2,
};

void myr_wake_slow(myr_word *word)
{
    os_futex_wake((const void *)word);
}

void myr_waiter_init(struct myr_waiter *waiter, struct myr_segment *segment, void (*progress)(void),
                     const struct myr_wait_policy *policy)
{
    waiter->segment = segment;
    waiter->progress = progress;
    waiter->policy = *policy;
    waiter->long_wait = NULL;
    waiter->abandons = NULL;
    waiter->idle_ns = INT64_MAX;
    waiter->population =
        myr_load_acquire(myr_segment_population(segment)) - 1; /* forces a check at first use */
    waiter->oversubscribed = false;
}

/* Two threads may do this concurrently, with the same result. */
bool myr_waiter_oversubscribed(struct myr_waiter *waiter)
{
    const uint32_t population = myr_load_acquire(myr_segment_population(waiter->segment));
    if (population != atomic_load_explicit(&waiter->population, memory_order_relaxed)) {
        const bool oversubscribed = myr_segment_oversubscribed(waiter->segment);
        atomic_store_explicit(&waiter->oversubscribed, oversubscribed, memory_order_relaxed);
        atomic_store_explicit(&waiter->population, population, memory_order_relaxed);
    }
    return atomic_load_explicit(&waiter->oversubscribed, memory_order_relaxed);
}

static void update_oversubscription(struct myr_watch *watch)
{
    const int32_t spin = watch->waiter->policy.spin;
    const bool alone = spin < 0 && !myr_waiter_oversubscribed(watch->waiter);
    watch->polls = spin >= 0 ? (uint32_t)spin : alone ? MYR_WORD_POLLS : 0;
    watch->yields = !alone;
}

void myr_watch_init(struct myr_watch *watch, struct myr_waiter *waiter, myr_word *sleepers)
{
    *watch = (struct myr_watch){.sleepers = sleepers, .waiter = waiter};
    update_oversubscription(watch);
}

static bool is_abandoned(struct myr_watch *watch)
{
    const struct myr_waiter *waiter = watch->waiter;
    watch->abandoned = NULL != waiter->abandons && NULL != watch->owner && waiter->abandons(watch);
    return watch->abandoned;
}

/* The functions for this phase and the two later phases of a wait return true if the word has
 * reached the epoch or the wait is abandoned. */
MYR_HOT static bool poll_word(struct myr_watch *watch, const myr_word *word, uint32_t epoch)
{
    for (uint32_t i = 1; i <= watch->polls; ++i) {
        myr_cpu_relax();
        if (myr_epoch_reached(myr_load_acquire(word), epoch)) {
            return true;
        }
        if (0 == i % MYR_WORD_PROGRESS) {
            watch->waiter->progress();
            if (is_abandoned(watch)) {
                return true;
            }
        }
    }
    return false;
}

MYR_HOT static bool yield_for_word(const myr_word *word, uint32_t epoch)
{
    for (int i = 0; i < MYR_WORD_YIELDS; ++i) {
        os_yield();
        if (myr_epoch_reached(myr_load_acquire(word), epoch)) {
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

/* Calls the progress function, and returns whether this call moved data. The answer matters because
 * a process that sleeps while its neighbour sends large messages would receive only one of them per
 * slice. Open MPI does not report whether data were moved, so this is inferred from the CPU time of
 * the call. Since on some machines (sandboxes, emulators) reading the clock alone exceeds the
 * threshold, the fastest call so far serves as the baseline. */
static bool progress_moves(struct myr_waiter *waiter)
{
    const int64_t start = processor_time_ns();
    waiter->progress();
    const int64_t took = processor_time_ns() - start;
    const int64_t idle = atomic_load_explicit(&waiter->idle_ns, memory_order_relaxed);
    if (took < idle) {
        atomic_store_explicit(&waiter->idle_ns, took, memory_order_relaxed);
    }
    return took >= BUSY_NS && took / BUSY_TIMES >= idle;
}

/* Calls the progress function until it is time to sleep. Sleeping is postponed whenever data have
 * moved. */
static bool progress_until_sleep(struct myr_watch *watch, const myr_word *word, uint32_t epoch)
{
    struct myr_waiter *waiter = watch->waiter;
    uint64_t end_us = myr_wait_policy_sleep_at(&waiter->policy, os_now_us());
    do {
        if (progress_moves(waiter)) {
            end_us = myr_wait_policy_sleep_at(&waiter->policy, os_now_us());
        }
        if (watch->yields) {
            os_yield();
        }
        if (myr_epoch_reached(myr_load_acquire(word), epoch) || is_abandoned(watch)) {
            return true;
        }
    } while (UINT64_MAX == end_us || os_now_us() < end_us);
    return false;
}

/* Calls the progress function for a moment after each slice of sleep. Returns true if data have
 * moved. The loop also ends when the word has reached the epoch, because on slow machines every
 * call may appear to have moved data. */
static bool progress_traffic(struct myr_waiter *waiter, const myr_word *word, uint32_t epoch)
{
    bool moved = false;
    waiter->progress(); /* the first call after a sleep is always slow */
    for (uint64_t start = os_now_us(); os_now_us() - start < AFTER_SLEEP_US &&
                                       !myr_epoch_reached(myr_load_acquire(word), epoch);) {
        if (progress_moves(waiter)) {
            moved = true;
            start = os_now_us();
        }
    }
    return moved;
}

/* What has been reported about a wait. The first report is due when the process has slept for a
 * long time. */
struct long_wait {
    uint64_t next_us;
    uint32_t times;
    struct myr_shown_wait *shown;
};

static void report_long_wait(const struct myr_watch *watch, struct long_wait *wait)
{
    if (NULL != watch->owner && NULL != watch->waiter->long_wait && os_now_us() >= wait->next_us) {
        struct myr_shown_wait *shown = watch->waiter->long_wait(watch, ++wait->times);
        wait->shown = 1 == wait->times ? shown : wait->shown;
        wait->next_us = os_now_us() + MYR_LONG_WAIT_US;
    }
}

static void sleep_on_word(struct myr_watch *watch, myr_word *word, uint32_t epoch)
{
    struct myr_waiter *waiter = watch->waiter;
    struct long_wait wait = {.next_us = os_now_us() + MYR_LONG_WAIT_US};
    struct myr_slices slices = myr_slices_begin(&waiter->policy);
    /* The binding of the process may have changed, so publish it. */
    (void)myr_segment_oversubscribed(waiter->segment);
    for (;;) {
        atomic_fetch_add(watch->sleepers, 1);
        const uint32_t seen = myr_load_acquire(word);
        const bool reached = myr_epoch_reached(seen, epoch);
        if (!reached) {
            os_futex_wait((const void *)word, seen, myr_slices_take(&slices));
        }
        atomic_fetch_sub(watch->sleepers, 1);
        if (reached || myr_epoch_reached(myr_load_acquire(word), epoch)) {
            break;
        }
        report_long_wait(watch, &wait);
        if (progress_traffic(waiter, word, epoch)) {
            slices = myr_slices_begin(&waiter->policy);
        }
        if (is_abandoned(watch)) {
            break;
        }
    }
    myr_wait_hide(wait.shown);
}

MYR_HOT __attribute__((noinline)) void myr_wait_slow(struct myr_watch *watch, myr_word *word,
                                                     uint32_t epoch)
{
    if (watch->abandoned) {
        return;
    }
    if (0 == ++watch->waits % CHECK_EVERY) {
        update_oversubscription(watch);
    }
    if (poll_word(watch, word, epoch) || (watch->yields && yield_for_word(word, epoch))) {
        return;
    }
    update_oversubscription(watch);
    if (!progress_until_sleep(watch, word, epoch)) {
        sleep_on_word(watch, word, epoch);
    }
}
