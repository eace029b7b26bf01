/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of future events in the simulation, ordered by time. Events at the same time are
 * executed in the order of their insertion, so that a run depends only on its parameters and
 * seed. */
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

/* A binary heap with the next event first. It is empty if all 0. */
struct sim_events {
    struct sim_event *heap;
    uint32_t count, room;
    uint64_t next_order;
};

/* Inserts an event. Returns false if out of memory. */
bool sim_events_put(struct sim_events *events, uint64_t at_ps, uint32_t kind, uint32_t node,
                    void *what);

/* Removes the next event; returns false if there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

void sim_events_free(struct sim_events *events);

#endif
