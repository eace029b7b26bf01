/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of a communicator's MPI_Barrier: its states, the events that change them, and
 * which state follows from which. Pure; docs/design/barrier-states.md is the same as a table, and
 * tests/unit/barrier_transitions_test.c compares the two.
 *
 * All members of a communicator are in the same state in the same call of the program, as events
 * follow from what they have agreed on. The exception is NICBARR_EVENT_LOST.
 */
#ifndef NICBARR_BARRIER_TRANSITIONS_H
#define NICBARR_BARRIER_TRANSITIONS_H

#include <stdbool.h>

/* barrier.c has a function for each. */
enum nicbarr_barrier_state {
    NICBARR_BARRIER_FIRST,            /* on one node: nothing is set up */
    NICBARR_BARRIER_UNDECIDED,        /* ... by the default algorithm, until it is to be measured */
    NICBARR_BARRIER_ACROSS_FIRST,     /* on several: Open MPI's own, and nobody has looked around */
    NICBARR_BARRIER_ACROSS_UNDECIDED, /* ... until it is to be measured */
    NICBARR_BARRIER_ACROSS_KNOWN,     /* ... until joining what is better is worth its cost */
    NICBARR_BARRIER_PROVISIONAL,      /* a choice that nobody is sure of: its contest goes on */
    NICBARR_BARRIER_SLOTS,            /* what was chosen: on one node by slots, */
    NICBARR_BARRIER_COUNTER,          /* by counters, */
    NICBARR_BARRIER_NIC,              /* or across nodes by NICs; */
    NICBARR_BARRIER_WATCHED_SLOTS,    /* the same, and it is watched */
    NICBARR_BARRIER_WATCHED_COUNTER,
    NICBARR_BARRIER_WATCHED_NIC,
    NICBARR_BARRIER_WATCHED_OWN, /* Open MPI's own, watched */
    NICBARR_BARRIER_DUELING,     /* a duel is under way */
    NICBARR_BARRIER_FAILED,      /* a member is lost */
    NICBARR_BARRIER_OWN,         /* Open MPI's own, which costs nothing */
    NICBARR_BARRIER_STATES
};

enum nicbarr_barrier_event {
    NICBARR_EVENT_SHAPE_UNKNOWN, /* across nodes: NICs can play, and nobody has measured that */
    NICBARR_EVENT_SHAPE_KNOWN,   /* ... and the job or the cache knows what is best */
    NICBARR_EVENT_CHOSEN,        /* a choice is to be used from now on */
    NICBARR_EVENT_DUEL,          /* it is challenged */
    NICBARR_EVENT_LOST,          /* a NIC's group has failed: a member is dead or unreachable */
    NICBARR_EVENT_DECLINED,      /* all members go back to Open MPI's functions */
    NICBARR_BARRIER_EVENTS
};

/* What a choice is, as far as states differ by it. */
struct nicbarr_barrier_choice {
    enum nicbarr_barrier_means {
        NICBARR_BY_OWN, /* Open MPI's function */
        NICBARR_BY_SLOTS,
        NICBARR_BY_COUNTER,
        NICBARR_BY_NIC,
        NICBARR_BARRIER_MEANS
    } means;
    bool provisional, watched;
    bool unmeasured; /* the default of one node */
};

/* The state after an event; `choice` counts for NICBARR_EVENT_CHOSEN alone. NICBARR_BARRIER_STATES:
 * the event cannot come in this state. */
enum nicbarr_barrier_state nicbarr_barrier_next(enum nicbarr_barrier_state state,
                                                enum nicbarr_barrier_event event,
                                                const struct nicbarr_barrier_choice *choice);

#endif
