/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a process's part in a barrier on one node, as stores and waits on words of a record.
 *
 * A plan is what a schedule becomes once its messages have places in memory. Two ways of playing:
 * - slots: step by step, write these words, then wait for those. A word has one writer, and holds
 *   the epoch its writer has reached: nothing is ever cleared, a word may be written before anybody
 *   waits for it (Hoefler's array).
 * - counters: add to a counter; who completes it goes on to the root; who completes that releases.
 *
 * Plans of slots may use the same memory one after the other, as long as all members have returned
 * from their last barrier with the one before the first enters with the next: what is left in a
 * slot is an epoch that has passed. Counters are left at 0, and need 0 to begin with: they may be
 * followed by other counters, but not share memory with slots.
 */
#ifndef MYR_PLAN_H
#define MYR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "libmyr/schedule.h"

struct myr_plan {
    /* slots */
    uint32_t nsteps; /* 0 for a process alone */
    struct mcp_step *steps;
    myr_word **words; /* step after step: first those written, then those waited for */
    /* counters; NULL in plans of slots */
    myr_word *leaf, *root, *release;
    uint32_t leaf_members, leaves;
};

/*
 * Each layout has a function that says how many bytes of slots it needs (a multiple of MYR_LINE)
 * and one that makes the plan of `rank` over such memory, MYR_LINE aligned. The latter returns
 * false when out of memory; else the plan is given back with myr_plan_destroy().
 */

/* One word a process, `stride` bytes apart (4 to 128, a power of two); everybody scans all. */
size_t myr_plan_flags_bytes(uint32_t size, uint32_t stride);
bool myr_plan_flags(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                    uint32_t stride);

/*
 * One word for each message, those for one receiver side by side on its own line(s). With
 * `release`, messages from lower to higher ranks (a tree's way down) are one common word instead,
 * which rank 0 writes.
 */
size_t myr_plan_messages_bytes(uint32_t size, uint32_t most_waits);
bool myr_plan_messages(struct myr_plan *plan, void *slots, uint32_t rank, uint32_t most_waits,
                       bool release, myr_schedule_fn schedule_of, const void *context);

/* `leaf_of[r]` < leaves is the counter that rank r adds to. */
size_t myr_plan_counter_bytes(uint32_t leaves);
bool myr_plan_counter(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                      uint32_t leaves, const uint32_t *leaf_of);

void myr_plan_destroy(struct myr_plan *plan);

#endif
