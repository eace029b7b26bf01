/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A schedule: what one process does in a collective, as data.
 *
 * A schedule is a list of steps; a step is *send to these peers, then wait for those peers*
 * (Buntinas et al., "Fast NIC-based barrier over Myrinet/GM", section 4: the host computes the
 * list, the NIC plays it). Whoever plays it (a node record in shared memory, a NIC) needs nothing
 * else.
 *
 * The k-th message that p sends to q is the k-th that q waits for from p.
 */
#ifndef MYR_SCHEDULE_H
#define MYR_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct myr_step {
    uint32_t sends; /* how many of the schedule's peers this step sends to, ... */
    uint32_t waits; /* ... and how many it then waits for */
};

struct myr_schedule {
    uint32_t nsteps;
    struct myr_step *steps;
    uint32_t npeers;
    uint32_t *peers; /* ranks, step after step: first those sent to, then those waited for */
};

/* Who asks for other ranks' schedules; false when out of memory. */
typedef bool (*myr_schedule_fn)(const void *context, uint32_t rank, struct myr_schedule *schedule);

/*
 * Where does the message from `sender` arrive? Its place among all that `receiver` waits for,
 * counted from 0: what lies there is an arrival record. False when out of memory, or if there is no
 * such message.
 */
bool myr_schedule_slot(uint32_t sender, uint32_t receiver, myr_schedule_fn schedule_of,
                       const void *context, uint32_t *slot);

#endif
