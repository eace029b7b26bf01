/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans: a process's part in a barrier on one node, as stores and waits on words of a record.
 *
 * A plan is a schedule whose messages have places in memory. There are two kinds:
 * - slots: step by step, write some words, then wait for others. A word has one writer, and holds
 *   the epoch that its writer has reached. So nothing is ever cleared, and a word may be written
 *   before its reader waits for it (Hoefler's array).
 * - counters: add to a counter. The process that completes it continues at the root. The process
 *   that completes the root releases all.
 *
 * Plans of slots may use the same memory one after the other, because slots then hold epochs that
 * have passed. But all members must have returned from their last barrier with one plan before the
 * first enters with the next. Counters must be 0 initially and are left at 0. Other counters may
 * follow them, but they must not share memory with slots. */
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
    myr_word *
        *words; /* in the order of steps: in each, first the words written, then those waited for */
    /* counters; NULL in plans of slots */
    myr_word *leaf, *root, *release;
    uint32_t leaf_members, leaves;
};

/* Each layout has two functions. The first returns the bytes of slots that it needs (a multiple of
 * MYR_LINE). The second makes the plan of `rank` over such memory, aligned to MYR_LINE. It returns
 * false if out of memory; otherwise free the plan with myr_plan_destroy(). */

/* One word a process, `stride` bytes apart (4 to 128, a power of two); all processes scan all
 * words. */
size_t myr_plan_flags_bytes(uint32_t size, uint32_t stride);
bool myr_plan_flags(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                    uint32_t stride);

/* One word for each message; those for one receiver are adjacent on lines of its own. With
 * `release`, one common word replaces all messages from lower to higher ranks (a tree's way down).
 * Rank 0 writes it. */
size_t myr_plan_messages_bytes(uint32_t size, uint32_t most_waits);
bool myr_plan_messages(struct myr_plan *plan, void *slots, uint32_t rank, uint32_t most_waits,
                       bool release, myr_schedule_fn schedule_of, const void *context);

/* `leaf_of[r]` < leaves is the counter that rank r adds to. */
size_t myr_plan_counter_bytes(uint32_t leaves);
bool myr_plan_counter(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                      uint32_t leaves, const uint32_t *leaf_of);

void myr_plan_destroy(struct myr_plan *plan);

#endif
