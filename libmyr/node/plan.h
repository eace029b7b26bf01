/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan describes what a process does in a barrier on one node, as stores to and waits on words of
 * a record.
 *
 * A plan is a schedule whose messages are assigned to words in memory. There are two kinds:
 * - slots: in each step the process writes some words, then waits for others. A word has one
 *   writer, and contains the epoch that its writer has reached. It is therefore never cleared, and
 *   may be written before its reader waits for it (Hoefler's array).
 * - counters: each process adds to a leaf counter. The process that completes a leaf adds to the
 *   root, and the process that completes the root releases all.
 *
 * Several plans of slots may use the same memory one after the other, because all that a later plan
 * finds in the slots are past epochs. However, all members must have returned from their last
 * barrier with one plan before any member enters a barrier with the next plan. Counters must
 * initially be 0, and are 0 again after each barrier. Therefore a plan of counters may follow
 * another plan of counters in the same memory, but counters must not share memory with slots. */
#ifndef MYR_PLAN_H
#define MYR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "firmware/atomics.h"
#include "libmyr/schedule.h"

struct myr_plan {
    /* slots */
    uint32_t nsteps; /* 0 if the process is alone */
    struct mcp_step *steps;
    myr_word **words; /* in the order of steps; for each step, first the words to write, then the
                         words to wait for */
    /* counters; NULL in plans of slots */
    myr_word *leaf, *root, *release;
    uint32_t leaf_members, leaves;
};

/* Each layout has two functions. The first returns the number of bytes of slots that the layout
 * needs, a multiple of MYR_LINE. The second creates the plan of `rank` for `slots` of this size,
 * which must be aligned to MYR_LINE. It returns false if memory is exhausted. A plan is freed with
 * myr_plan_destroy(). */

/* Flags: one word per process, `stride` bytes apart (4 to 128, a power of two). All processes scan
 * all words. */
size_t myr_plan_flags_bytes(uint32_t size, uint32_t stride);
bool myr_plan_flags(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                    uint32_t stride);

/* Layout with one word for each message. The words of one receiver are adjacent, and do not share
 * cache lines with those of other receivers. If `release`, all messages from lower to higher ranks
 * (the way down a tree) are replaced by a single common word, which rank 0 writes. */
size_t myr_plan_messages_bytes(uint32_t size, uint32_t most_waits);
bool myr_plan_messages(struct myr_plan *plan, void *slots, uint32_t rank, uint32_t most_waits,
                       bool release, myr_schedule_fn schedule_of, const void *context);

/* Counters: rank r adds to the counter `leaf_of[r]` < leaves. */
size_t myr_plan_counter_bytes(uint32_t leaves);
bool myr_plan_counter(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                      uint32_t leaves, const uint32_t *leaf_of);

void myr_plan_destroy(struct myr_plan *plan);

#endif
