/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule: one process's part in a collective, as data.
 *
 * A schedule is a list of steps; a step is *send to these peers, then wait for those peers*
 * (Buntinas et al., "Fast NIC-based barrier over Myrinet/GM", section 4: the host computes the
 * list, the NIC executes it). The processes of a node, which communicate through shared memory, and
 * NICs execute the same schedules, and need no other description of the collective.
 *
 * The k-th message that p sends to q is the k-th that q waits for from p. */
#ifndef MYR_SCHEDULE_H
#define MYR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/step.h"

struct myr_schedule {
    uint32_t nsteps;
    struct mcp_step *steps;
    uint32_t npeers;
    uint32_t *peers; /* ranks, in the order of steps: in each, first the peers to send to, then
                        those to wait for */
};

/* The length of a schedule. */
struct myr_lengths {
    uint32_t steps, sends, waits;
};
struct myr_lengths myr_schedule_lengths(const struct myr_schedule *schedule);

/* Computes another rank's schedule; returns false if out of memory. */
typedef bool (*myr_schedule_fn)(const void *context, uint32_t rank, struct myr_schedule *schedule);

/* Computes the arrival slots of the messages of `rank`'s schedule: an array with an entry for each
 * of its peers, which selects the arrival record. For a peer that `rank` sends to, the slot is the
 * message's index among all that this peer waits for, from 0. For a peer that `rank` waits for, it
 * is the index among all that `rank` waits for.
 *
 * The function computes the schedule of each rank that is sent to once. The caller frees the array.
 * Returns NULL if out of memory, or if a message is sent that its receiver does not wait for. */
uint32_t *myr_schedule_slots(const struct myr_schedule *schedule, uint32_t rank,
                             myr_schedule_fn schedule_of, const void *context);

#endif
