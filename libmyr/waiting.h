/* SPDX-License-Identifier: BSD-3-Clause */
/* The waiting policy defines how long a process spins, yields and sleeps while it waits for a word
 * in the memory of the node (waiter.c), for a NIC (nic_group.c) or for the page of the kernel NIC
 * (kernel_group.c). These files implement the polling and the sleeping. A wait has three phases:
 * 1. Spin, to detect immediately what happens within microseconds. If the CPUs are oversubscribed,
 *    this phase is skipped, because the awaited process might need the CPU that this one occupies:
 *    100 polls before the first yield made a barrier of 8 processes on 2 CPUs four times slower. A
 *    process that waits for a NIC spins only briefly, because the awaited process may be the one
 *    that runs the NIC.
 * 2. Poll until it is time to sleep, and yield between polls. A process that waits for a word
 *    yields only if the CPUs are oversubscribed, or if the user has set `spin`. If a process with a
 *    CPU to itself yielded, processes of other users would run there, and it might get the CPU back
 *    only long after the word was written. (With 2 processes beside 12 busy loops on 2 CPUs, a
 *    barrier took 1.7 to 6.6 ms with yields, and takes 1 us without.)
 * 3. Sleep, in slices, because a peer may compute for seconds and the wait must not occupy a core.
 *    The first slice is short, and each further slice is twice as long as the previous one, up to a
 *    maximum.
 *
 * The progress function of the host is called in all phases, so that, for example, a rendezvous
 * send to a waiting process advances. The first few polls or yields omit this call, because a
 * barrier that all processes enter at the same time completes before it would be useful. */
#ifndef MYR_WAITING_H
#define MYR_WAITING_H

#include <stdint.h>

/* The parameters of the policy, which the user sets. */
struct myr_wait_policy {
    int32_t spin;        /* polls before the CPU is yielded; -1 = by the node's load */
    int32_t sleep_after; /* microseconds of waiting after which to sleep; -1 = never */
    int32_t slice;       /* microseconds of the longest sleep between two calls of `progress` */
};

enum {
    /* For a word. */
    MYR_WORD_POLLS = 1000,  /* polls if each process has its own CPU, about 50 us */
    MYR_WORD_PROGRESS = 64, /* polls between two calls of progress, about 3 us */
    MYR_WORD_YIELDS = 3,    /* yields before the first call of progress */
    /* For a NIC. A poll may process packets; if there were none, a yield follows. */
    MYR_NIC_PROGRESS = 32, /* polls between two calls of progress, and before the first */
    MYR_NIC_GLANCES = 20,  /* reads of the page of a NIC that makes progress by itself, 40 ns each,
                              which count as one poll */
    /* While asleep. */
    MYR_SLICE_FIRST = 50 /* microseconds */
};

/* Returns the time at which a wait that begins at `now_us` starts to sleep, on the same clock
 * (microseconds), or UINT64_MAX if it never does. */
static inline uint64_t myr_wait_policy_sleep_at(const struct myr_wait_policy *policy,
                                                uint64_t now_us)
{
    return policy->sleep_after < 0 ? UINT64_MAX : now_us + (uint32_t)policy->sleep_after;
}

/* The slices of one sleep. They begin again after there was work. */
struct myr_slices {
    uint32_t next, longest; /* microseconds */
};

static inline struct myr_slices myr_slices_begin(const struct myr_wait_policy *policy)
{
    const uint32_t longest = (uint32_t)policy->slice;
    return (struct myr_slices){MYR_SLICE_FIRST < longest ? MYR_SLICE_FIRST : longest, longest};
}

/* Returns the next slice (microseconds). */
static inline uint32_t myr_slices_take(struct myr_slices *slices)
{
    const uint32_t slice = slices->next;
    slices->next = 2 * slice < slices->longest ? 2 * slice : slices->longest;
    return slice;
}

#endif
