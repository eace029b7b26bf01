/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulation's queue of future events, in order of time. Events of one time happen in the order
 * of their insertion. So a run depends on its parameters and seed alone. */
#ifndef SIM_EVENTS_H
#define SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

struct sim_event {
    uint64_t at_ps; /* simulated time (picoseconds) */
    uint64_t order;
    uint32_t kind, node;
    void *what;
};

/* A heap with the next event first. All 0: empty. */
struct sim_events {
    struct sim_event *heap;
    uint32_t count, room;
    uint64_t next_order;
};

/* False if out of memory. */
bool sim_events_put(struct sim_events *events, uint64_t at_ps, uint32_t kind, uint32_t node,
                    void *what);

/* Remove the next one; false if there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

void sim_events_free(struct sim_events *events);

#endif
