/* SPDX-License-Identifier: BSD-3-Clause */
/* See barrier_transitions.h. */
#include "coll_nicbarr/barrier_transitions.h"

#include <stdint.h>

#define IN(state) (UINT32_C(1) << NICBARR_BARRIER_##state)

/* For each event, the states in which it can occur. */
static const uint32_t valid_states[NICBARR_BARRIER_EVENTS] = {
    [NICBARR_EVENT_SHAPE_UNKNOWN] = IN(ACROSS_FIRST),
    [NICBARR_EVENT_SHAPE_KNOWN] = IN(ACROSS_FIRST) | IN(ACROSS_UNDECIDED),
    [NICBARR_EVENT_CHOSEN] = IN(FIRST) | IN(UNDECIDED) | IN(ACROSS_FIRST) | IN(ACROSS_UNDECIDED) |
                             IN(ACROSS_KNOWN) | IN(PROVISIONAL) | IN(COMPARING),
    [NICBARR_EVENT_COMPARISON] =
        IN(WATCHED_SLOTS) | IN(WATCHED_COUNTER) | IN(WATCHED_NIC) | IN(WATCHED_OPENMPI),
    [NICBARR_EVENT_LOST] = UINT32_MAX,
    [NICBARR_EVENT_DECLINED] = UINT32_MAX,
};

/* The states after a final choice, for each means of executing barriers: the first one is for a
 * choice that is kept, the second one for a choice that is periodically re-evaluated. */
static const enum nicbarr_barrier_state chosen_state[NICBARR_BARRIER_MEANS][2] = {
    [NICBARR_BY_OPENMPI] = {NICBARR_BARRIER_OPENMPI, NICBARR_BARRIER_WATCHED_OPENMPI},
    [NICBARR_BY_SLOTS] = {NICBARR_BARRIER_SLOTS, NICBARR_BARRIER_WATCHED_SLOTS},
    [NICBARR_BY_COUNTER] = {NICBARR_BARRIER_COUNTER, NICBARR_BARRIER_WATCHED_COUNTER},
    [NICBARR_BY_NIC] = {NICBARR_BARRIER_NIC, NICBARR_BARRIER_WATCHED_NIC},
};

enum nicbarr_barrier_state nicbarr_barrier_next(enum nicbarr_barrier_state state,
                                                enum nicbarr_barrier_event event,
                                                const struct nicbarr_barrier_choice *choice)
{
    /* While this process measures barriers, Open MPI's progress engine may run a non-blocking
     * request that detects a failure. When the measurement ends, it still reports its event, which
     * must then not leave the failed state. */
    if (NICBARR_BARRIER_FAILED == state && NICBARR_EVENT_DECLINED != event) {
        return state;
    }
    if (0 == (valid_states[event] >> state & 1)) {
        return NICBARR_BARRIER_STATES;
    }
    switch (event) {
    case NICBARR_EVENT_SHAPE_UNKNOWN:
        return NICBARR_BARRIER_ACROSS_UNDECIDED;
    case NICBARR_EVENT_SHAPE_KNOWN:
        return NICBARR_BARRIER_ACROSS_KNOWN;
    case NICBARR_EVENT_CHOSEN:
        return choice->provisional  ? NICBARR_BARRIER_PROVISIONAL
               : choice->unmeasured ? NICBARR_BARRIER_UNDECIDED
                                    : chosen_state[choice->means][choice->watched];
    case NICBARR_EVENT_COMPARISON:
        return NICBARR_BARRIER_COMPARING;
    case NICBARR_EVENT_LOST:
        return NICBARR_BARRIER_FAILED;
    case NICBARR_EVENT_DECLINED:
        return NICBARR_BARRIER_OPENMPI;
    case NICBARR_BARRIER_EVENTS:
        break;
    }
    return NICBARR_BARRIER_STATES;
}
