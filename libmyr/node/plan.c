/* SPDX-License-Identifier: BSD-3-Clause */
/* Layouts of barriers in a node's memory; see plan.h. */
#include "libmyr/node/plan.h"

#include <stdlib.h>
#include <string.h>

static myr_word *word_at(void *slots, size_t offset)
{
    return (myr_word *)((uint8_t *)slots + offset);
}

static bool allocate_plan(struct myr_plan *plan, uint32_t nsteps, uint32_t nwords)
{
    *plan = (struct myr_plan){.nsteps = 0};
    plan->words = malloc(nwords * sizeof(*plan->words) + nsteps * sizeof(*plan->steps) + 1);
    if (NULL == plan->words) {
        return false;
    }
    plan->steps = (struct mcp_step *)(plan->words + nwords);
    return true;
}

void myr_plan_destroy(struct myr_plan *plan)
{
    free(plan->words);
    *plan = (struct myr_plan){.nsteps = 0};
}

size_t myr_plan_flags_bytes(uint32_t size, uint32_t stride)
{
    return myr_whole_lines((size_t)size * stride);
}

bool myr_plan_flags(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                    uint32_t stride)
{
    if (!allocate_plan(plan, 1, size)) {
        return false;
    }
    plan->nsteps = 1;
    plan->steps[0] = (struct mcp_step){1, size - 1};
    for (uint32_t i = 0; i < size; ++i) { /* own word first, then those of the ranks after it */
        plan->words[i] = word_at(slots, (size_t)((rank + i) % size) * stride);
    }
    return true;
}

/* Returns the stride of the mailboxes, one per receiver. */
static size_t mailbox_bytes(uint32_t most_waits)
{
    return myr_whole_lines((size_t)most_waits * sizeof(myr_word));
}

size_t myr_plan_messages_bytes(uint32_t size, uint32_t most_waits)
{
    /* the first cache line contains the release */
    return MYR_LINE + size * mailbox_bytes(most_waits);
}

bool myr_plan_messages(struct myr_plan *plan, void *slots, uint32_t rank, uint32_t most_waits,
                       bool release, myr_schedule_fn schedule_of, const void *context)
{
    struct myr_schedule schedule;
    if (!schedule_of(context, rank, &schedule)) {
        return false;
    }
    uint32_t *const slot_numbers = myr_schedule_slots(&schedule, rank, schedule_of, context);
    const bool done = allocate_plan(plan, schedule.nsteps, schedule.npeers) && NULL != slot_numbers;
    const size_t mailbox = mailbox_bytes(most_waits);
    myr_word **word = plan->words;
    const uint32_t *peer = schedule.peers, *slot_number = slot_numbers;
    for (uint32_t s = 0; done && s < schedule.nsteps; ++s) {
        struct mcp_step step = {0, 0};
        for (uint32_t i = 0; i < schedule.steps[s].sends; ++i, ++peer, ++slot_number) {
            if (release && rank < *peer) {
                if (0 == rank && 0 == step.sends) {
                    *word++ = word_at(slots, 0);
                    ++step.sends;
                }
                continue;
            }
            *word++ = word_at(slots, MYR_LINE + *peer * mailbox + *slot_number * sizeof(myr_word));
            ++step.sends;
        }
        for (uint32_t i = 0; i < schedule.steps[s].waits; ++i, ++peer, ++slot_number) {
            *word++ =
                release && *peer < rank
                    ? word_at(slots, 0)
                    : word_at(slots, MYR_LINE + rank * mailbox + *slot_number * sizeof(myr_word));
            ++step.waits;
        }
        if (0 != step.sends + step.waits) {
            plan->steps[plan->nsteps++] = step;
        }
    }
    free(slot_numbers);
    free(schedule.steps);
    if (!done) {
        myr_plan_destroy(plan);
    }
    return done;
}

size_t myr_plan_counter_bytes(uint32_t leaves)
{
    return (size_t)(2 + leaves) * MYR_LINE; /* the release, the root, the leaves */
}

bool myr_plan_counter(struct myr_plan *plan, void *slots, uint32_t size, uint32_t rank,
                      uint32_t leaves, const uint32_t *leaf_of)
{
    *plan = (struct myr_plan){.nsteps = 0};
    plan->release = word_at(slots, 0);
    plan->root = word_at(slots, MYR_LINE);
    plan->leaf = word_at(slots, (2 + (size_t)leaf_of[rank]) * MYR_LINE);
    uint32_t *members = calloc(leaves, sizeof(*members));
    if (NULL == members) {
        return false;
    }
    for (uint32_t r = 0; r < size; ++r) {
        ++members[leaf_of[r]];
    }
    for (uint32_t l = 0; l < leaves; ++l) {
        plan->leaves += 0 != members[l]; /* leaves without members would never be completed */
    }
    plan->leaf_members = members[leaf_of[rank]];
    free(members);
    return true;
}
