/* SPDX-License-Identifier: BSD-3-Clause */
/* The state machine of a communicator's MPI_Barrier: states, events and transitions. Pure;
 * docs/design/barrier-states.md shows it as a table, and tests/unit/barrier_transitions_test.c
 * compares the two.
 *
 * The members of a communicator agree on every event, so in any given call of the program they are
 * all in the same state. The only exception is NICBARR_EVENT_LOST, which each member detects on its
 * own. */
#ifndef NICBARR_BARRIER_TRANSITIONS_H
#define NICBARR_BARRIER_TRANSITIONS_H

#include <stdbool.h>

/* barrier.c has a function for each. */
enum nicbarr_barrier_state {
    NICBARR_BARRIER_FIRST,            /* on one node: not set up yet */
    NICBARR_BARRIER_UNDECIDED,        /* on one node: the default, until candidates are measured */
    NICBARR_BARRIER_ACROSS_FIRST,     /* across nodes: Open MPI's own function, before the NICs are
                                         determined */
    NICBARR_BARRIER_ACROSS_UNDECIDED, /* across nodes: Open MPI's own function, until candidates are
                                         measured */
    NICBARR_BARRIER_ACROSS_KNOWN, /* across nodes: Open MPI's own function, until joining the groups
                                     of the known choice is worth its cost */
    NICBARR_BARRIER_PROVISIONAL,  /* a preliminary choice, whose contest continues */
    NICBARR_BARRIER_SLOTS,        /* a final choice: on one node with slots */
    NICBARR_BARRIER_COUNTER,      /* a final choice: on one node with counters */
    NICBARR_BARRIER_NIC,          /* a final choice: across nodes by NICs */
    NICBARR_BARRIER_WATCHED_SLOTS, /* these three choices, periodically re-evaluated */
    NICBARR_BARRIER_WATCHED_COUNTER,
    NICBARR_BARRIER_WATCHED_NIC,
    NICBARR_BARRIER_WATCHED_OPENMPI, /* Open MPI's own function, periodically re-evaluated */
    NICBARR_BARRIER_COMPARING,       /* during a comparison */
    NICBARR_BARRIER_FAILED,          /* a member is dead or unreachable */
    NICBARR_BARRIER_OPENMPI,         /* Open MPI's own function, without overhead */
    NICBARR_BARRIER_STATES
};

enum nicbarr_barrier_event {
    NICBARR_EVENT_SHAPE_UNKNOWN, /* across nodes: NICs can execute barriers, and this shape has not
                                    been measured */
    NICBARR_EVENT_SHAPE_KNOWN, /* across nodes: NICs can execute barriers, and the job or the cache
                                  has the best choice for this shape */
    NICBARR_EVENT_CHOSEN,      /* there is a choice to be used from now on */
    NICBARR_EVENT_COMPARISON,  /* a comparison of the choice begins */
    NICBARR_EVENT_LOST,        /* a NIC's group has failed: a member is dead or unreachable */
    NICBARR_EVENT_DECLINED,    /* all members fall back to Open MPI's functions */
    NICBARR_BARRIER_EVENTS
};

/* The properties of a choice by which states differ. */
struct nicbarr_barrier_choice {
    enum nicbarr_barrier_means {
        NICBARR_BY_OPENMPI, /* Open MPI's function */
        NICBARR_BY_SLOTS,
        NICBARR_BY_COUNTER,
        NICBARR_BY_NIC,
        NICBARR_BARRIER_MEANS
    } means;
    bool provisional, watched;
    bool unmeasured; /* the default choice on one node */
};

/* Returns the state after an event, or NICBARR_BARRIER_STATES if the event cannot occur in this
 * state. `choice` is used for NICBARR_EVENT_CHOSEN only. */
enum nicbarr_barrier_state nicbarr_barrier_next(enum nicbarr_barrier_state state,
                                                enum nicbarr_barrier_event event,
                                                const struct nicbarr_barrier_choice *choice);

#endif
