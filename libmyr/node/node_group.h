/* SPDX-License-Identifier: BSD-3-Clause */
/* A group on one node: the processes of a communicator that share a record.
 *
 * A group has two kinds of barriers, which are independent and have separate epochs.
 * myr_group_barrier() is a blocking barrier. The other kind is the split barrier, called fuzzy
 * barrier in the papers: myr_group_arrive() announces the arrival of this process, and
 * myr_arrival_test() tests whether all processes have arrived.
 *
 * Only one thread at a time may use a group, as MPI requires for collectives of a communicator.
 * However, any thread may call myr_arrival_test(). */
#ifndef MYR_GROUP_H
#define MYR_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/node/plan.h"
#include "libmyr/node/sram.h"
#include "libmyr/node/waiter.h"

/* A process's side of a group. The fields that a barrier reads come first, together. */
struct myr_group {
    struct myr_plan plan;
    uint32_t epoch; /* number of barriers that this process has entered */
    struct myr_watch watch;
    /* Not used by the blocking barrier. */
    uint32_t arrived;   /* number of split barriers that this process has arrived in */
    myr_word *arrivals; /* of each member, by rank */
    uint32_t size, rank;
    struct myr_record *record;
};

/* Returns the size of the part of a record for the members' arrivals (bytes). The rest is for
 * plans. */
size_t myr_group_arrival_bytes(uint32_t size);

/* Initialises a group from a joined record, without a plan: the caller creates the plan over
 * myr_group_slots() and owns it. */
void myr_group_init(struct myr_group *group, struct myr_record *record, struct myr_waiter *waiter,
                    uint32_t size, uint32_t rank);
void *myr_group_slots(const struct myr_group *group);

/* Executes a plan of slots (plan.h). */
static inline void myr_group_barrier_slots(struct myr_group *group)
{
    const uint32_t epoch = ++group->epoch;
    const struct mcp_step *step = group->plan.steps;
    const struct mcp_step *end = step + group->plan.nsteps;
    myr_word **word = group->plan.words;
    for (; step < end; ++step) {
        for (uint32_t i = step->sends; i > 0; --i, ++word) {
            myr_store_release(*word, epoch);
            myr_wake(&group->watch, *word);
        }
        for (uint32_t i = step->waits; i > 0; --i, ++word) {
            myr_wait(&group->watch, *word, epoch);
        }
    }
}

/* Adds the arrival of this process to a counter, and returns whether it is the last of the
 * `members` arrivals. The last arrival also resets the counter, so that it is ready for the next
 * epoch before any process is released from this one. */
static inline bool myr_counter_complete(myr_word *counter, uint32_t members)
{
    if (myr_fetch_add(counter) + 1 != members) {
        return false;
    }
    atomic_store_explicit(counter, 0, memory_order_relaxed);
    return true;
}

static inline void myr_group_barrier_counter(struct myr_group *group)
{
    const uint32_t epoch = ++group->epoch;
    const struct myr_plan *plan = &group->plan;
    if (myr_counter_complete(plan->leaf, plan->leaf_members) &&
        (1 == plan->leaves || myr_counter_complete(plan->root, plan->leaves))) {
        myr_store_release(plan->release, epoch);
        myr_wake(&group->watch, plan->release);
    } else {
        myr_wait(&group->watch, plan->release, epoch);
    }
}

static inline void myr_group_barrier(struct myr_group *group)
{
    if (NULL != group->plan.leaf) {
        myr_group_barrier_counter(group);
    } else {
        myr_group_barrier_slots(group);
    }
}

/* A split barrier in progress, from the point of view of one process. */
struct myr_arrival {
    const myr_word *arrivals;
    uint32_t size;
    uint32_t epoch; /* the barrier is complete when the arrivals of all members have reached this
                       epoch */
    uint32_t seen;  /* all ranks below this one have arrived */
};

/* Arrives in the next split barrier. Any number of split barriers may be outstanding, and they
 * complete in order. A member need not make any calls between its arrival and its test, because the
 * other members only read the word that this call writes. */
void myr_group_arrive(struct myr_group *group, struct myr_arrival *arrival);

static inline bool myr_arrival_test(struct myr_arrival *arrival)
{
    while (arrival->seen < arrival->size) {
        if (!myr_epoch_reached(myr_load_acquire(&arrival->arrivals[arrival->seen]),
                               arrival->epoch)) {
            return false;
        }
        ++arrival->seen;
    }
    return true;
}

#endif
