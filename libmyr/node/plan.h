/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans: a process's part in a barrier on one node, as stores to and waits on words of a record.
 *
 * A plan is a schedule whose messages are assigned to words in memory. There are two kinds:
 * - slots: step by step, the process writes some words, then waits for others. A word has one
 *   writer, and holds the epoch that its writer has reached. It is therefore never cleared, and may
 *   be written before its reader waits for it (Hoefler's array).
 * - counters: each process adds to a leaf counter. The process that completes a leaf adds to the
 *   root, and the process that completes the root releases all.
 *
 * Plans of slots may use the same memory one after the other, because the slots then contain only
 * epochs that have passed. However, all members must have returned from their last barrier with one
 * plan before the first of them enters a barrier with the next plan. Counters must be 0 initially
 * and are left at 0. A plan of counters may follow another one in the same memory, but counters
 * must not share memory with slots. */
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
    myr_word **words; /* in the order of steps: in each, first the words to write, then those to
                         wait for */
    /* counters; NULL in plans of slots */
    myr_word *leaf, *root, *release;
    uint32_t leaf_members, leaves;
};

/* Each layout has two functions. The first returns the bytes of slots that the layout needs (a
 * multiple of MYR_LINE). The second creates the plan of `rank` over such memory, aligned to
 * MYR_LINE. It returns false if out of memory; otherwise free the plan with myr_plan_destroy(). */

/* Flags: one word per process, `stride` bytes apart (4 to 128, a power of two). All processes scan
 * all words. */
size_t myr_plan_flags_bytes(uint32_t size, uint32_t stride);
bool myr_plan_flags(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                    uint32_t stride);

/* Messages: one word per message; the words of one receiver are adjacent, in cache lines of their
 * own. With `release`, one common word, which rank 0 writes, replaces all messages from lower to
 * higher ranks (a tree's way down). */
size_t myr_plan_messages_bytes(uint32_t size, uint32_t most_waits);
bool myr_plan_messages(struct myr_plan *plan, void *slots, uint32_t rank, uint32_t most_waits,
                       bool release, myr_schedule_fn schedule_of, const void *context);

/* Counters: rank r adds to the counter `leaf_of[r]` < leaves. */
size_t myr_plan_counter_bytes(uint32_t leaves);
bool myr_plan_counter(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                      uint32_t leaves, const uint32_t *leaf_of);

void myr_plan_destroy(struct myr_plan *plan);

#endif
