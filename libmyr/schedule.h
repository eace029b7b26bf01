/* SPDX-License-Identifier: BSD-3-Clause */
/* A schedule describes the part of one process in a collective, as data.
 *
 * A schedule is a list of steps, each of which means *send to these peers, then wait for those
 * peers* (Buntinas et al., "Fast NIC-based barrier over Myrinet/GM", section 4: the host computes
 * the list, and the NIC executes it). NICs execute schedules, and the processes of a node do the
 * same in shared memory. Neither needs any other description of the collective.
 *
 * The k-th message that p sends to q is the k-th message from p that q waits for. */
#ifndef MYR_SCHEDULE_H
#define MYR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/step.h"

struct myr_schedule {
    uint32_t nsteps;
    struct mcp_step *steps;
    uint32_t npeers;
    uint32_t *peers; /* ranks, in the order of steps; for each step, first the peers to send to,
                        then the peers to wait for */
};

/* The length of a schedule. */
struct myr_lengths {
    uint32_t steps, sends, waits;
};
struct myr_lengths myr_schedule_lengths(const struct myr_schedule *schedule);

/* Computes another rank's schedule; returns false if out of memory. */
typedef bool (*myr_schedule_fn)(const void *context, uint32_t rank, struct myr_schedule *schedule);

/* A receiver finds each message in one of its arrival records. The index of this record, called the
 * slot of the message, is the index of the message among all messages that the receiver waits for.
 * This function returns the slots of the messages that `rank` sends or waits for, as an array with
 * an entry for each peer in its schedule.
 *
 * The schedule of each receiver is computed once. The caller frees the array. The function returns
 * NULL if memory is exhausted, or if the schedule sends a message for which its receiver does not
 * wait. */
uint32_t *myr_schedule_slots(const struct myr_schedule *schedule, uint32_t rank,
                             myr_schedule_fn schedule_of, const void *context);

#endif
