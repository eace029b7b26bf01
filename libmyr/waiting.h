/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule of waiting: how much of what, and when. All processes that wait follow it: for a word of
 * the node's memory (waiter.c), and for a NIC (nic_group.c; kernel_group.c looks at its page). How
 * to look, and what to sleep on, is theirs.
 *
 * 1. Look, with a processor to oneself: what comes within microseconds is seen at once. With more
 *    processes than processors this phase is empty, as the process that we wait for cannot run
 *    meanwhile. 100 looks before the first yield made a barrier of 8 processes on 2 processors four
 *    times slower. For a NIC it is short: the process that we wait for may be one that plays it.
 * 2. Yield the processor between looks, until patience ends.
 * 3. Sleep, in slices. A neighbour may compute for a second, and we must not burn a core for it.
 *    The first slice is short; each is twice as long as the one before, up to the longest.
 *
 * The host's progress function runs throughout. So, for example, a rendezvous send to a process
 * that waits here goes on. It does not run before the first few looks or yields: a barrier that
 * everybody enters at once is over by then.
 */
#ifndef MYR_WAITING_H
#define MYR_WAITING_H

#include <stdint.h>

/* What the user may set. */
struct myr_patience {
    int32_t spin;        /* looks before the processor is given up; -1 = as the node's load asks */
    int32_t sleep_after; /* microseconds of waiting after which to sleep; -1 = never */
    int32_t slice;       /* microseconds of the longest sleep between two calls of `progress` */
};

enum {
    /* For a word. */
    MYR_WORD_LOOKS = 1000,  /* with a processor to oneself, about 50 us */
    MYR_WORD_PROGRESS = 64, /* looks between two calls of progress, about 3 us */
    MYR_WORD_YIELDS = 3,    /* before the first call of progress */
    /* For a NIC. A look is a poll, which may play packets; if there were none, a yield follows. */
    MYR_NIC_PROGRESS = 32, /* looks between two calls of progress, and before the first */
    MYR_NIC_GLANCES = 20,  /* at the page of a NIC that plays alone, 40 ns each: these are a poll */
    /* Asleep. */
    MYR_SLICE_FIRST = 50 /* microseconds */
};

/* When to sleep, if it is not over by then: microseconds of the clock of `now_us`. Never:
 * UINT64_MAX. */
static inline uint64_t myr_patience_end(const struct myr_patience *patience, uint64_t now_us)
{
    return patience->sleep_after < 0 ? UINT64_MAX : now_us + (uint32_t)patience->sleep_after;
}

/* The slices of one sleep. Begin again when there was something to do. */
struct myr_slices {
    uint32_t next, longest; /* microseconds */
};

static inline struct myr_slices myr_slices_begin(const struct myr_patience *patience)
{
    const uint32_t longest = (uint32_t)patience->slice;
    return (struct myr_slices){MYR_SLICE_FIRST < longest ? MYR_SLICE_FIRST : longest, longest};
}

/* How long to sleep now (microseconds). */
static inline uint32_t myr_slices_take(struct myr_slices *slices)
{
    const uint32_t slice = slices->next;
    slices->next = 2 * slice < slices->longest ? 2 * slice : slices->longest;
    return slice;
}

#endif
