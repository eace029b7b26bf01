/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is to happen in the simulation, in order of time; what is due at one time happens in the
 * order in which it was put in, so a run follows from its parameters and seed alone.
 */
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

/* A heap, the next one first. All 0 is an empty one. */
struct sim_events {
    struct sim_event *heap;
    uint32_t count, room;
    uint64_t next_order;
};

/* False when out of memory. */
bool sim_events_put(struct sim_events *events, uint64_t at_ps, uint32_t kind, uint32_t node,
                    void *what);

/* The next one; false if there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

void sim_events_free(struct sim_events *events);

#endif
