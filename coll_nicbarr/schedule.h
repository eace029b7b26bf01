/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barrier algorithms and their schedules, as pure functions of (algorithm, parameter, P, rank).
 *
 * Called by the node's planner (plan.c), by the model (model.c), by the simulator (bench/nicsim)
 * and by the tests. Nothing here knows of Open MPI, of memory or of time. Invariants, tested for
 * every P up to 300: at the end every rank (of NICBARR_ROOTED: rank 0) has received word, directly
 * or not, of every rank; every send has its wait; nobody sends to itself.
 */
#ifndef NICBARR_SCHEDULE_H
#define NICBARR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum nicbarr_algorithm {
    NICBARR_OPENMPI, /* Open MPI's own function; it has no schedule here */
    NICBARR_COUNTER, /* all count into one place, the last one releases; parameter: leaves */
    NICBARR_FLAGS,   /* everybody raises a flag, everybody scans all; parameter: bytes apart */
    NICBARR_TREE,    /* gather-broadcast over a tree (Buntinas; Zhang); parameter: degree */
    NICBARR_DISSEMINATION, /* n-way dissemination (Hoefler); parameter: n */
    NICBARR_PAIRWISE,      /* pairwise exchange (Buntinas), recursive doubling; no parameter */
    NICBARR_ROOTED, /* no barrier: gather over a tree, for reductions (rooted.h); parameter: degree
                     */
    NICBARR_SCHEDULES, /* so many have one; those of data on one node have none: */
    NICBARR_EXCHANGE = NICBARR_SCHEDULES, /* everybody writes, everybody reads (exchange.h) */
    NICBARR_RING,                         /* one writes, everybody reads (ring.h) */
    NICBARR_ALGORITHMS
};

/* An algorithm with its parameter and who plays it, written "tree:4", "pairwise@NAME", ...
 * Schedules are the same whoever plays them. */
struct nicbarr_choice {
    enum nicbarr_algorithm algorithm;
    uint32_t parameter; /* 0 where the algorithm has none */
    uint32_t nic;       /* number of a NIC; 0: the processes themselves */
};

/* How NICs are called in choices, from number 1 on; NULL ends the list, which stays its owner's. To
 * be told once, before choices are named or read by several threads; there are none before. */
void nicbarr_choice_nics(const char *const *names);

#define NICBARR_CHOICE_TEXT 32 /* bytes that hold any choice's name */

bool nicbarr_choice_equal(struct nicbarr_choice a, struct nicbarr_choice b);

/* Write the name of `choice` into text[NICBARR_CHOICE_TEXT]; returns text. */
const char *nicbarr_choice_name(struct nicbarr_choice choice, char *text);

/* Read a name of a barrier; an omitted parameter gets its default. False where it is none or out of
 * range, or where a NIC is to play what is not made of messages. */
bool nicbarr_choice_parse(const char *text, struct nicbarr_choice *choice);

/* The same of what carries data: also of what is no barrier. */
bool nicbarr_choice_parse_data(const char *text, struct nicbarr_choice *choice);

/* Is it made of messages, so that any NIC can play it? */
bool nicbarr_algorithm_messages(enum nicbarr_algorithm algorithm);

/* Does the arrival of every rank reach every rank? */
bool nicbarr_algorithm_barrier(enum nicbarr_algorithm algorithm);

/* Greatest parameter that makes a difference for P processes; 0 where the algorithm has none. */
uint32_t nicbarr_parameter_max(enum nicbarr_algorithm algorithm, uint32_t size);

/* Write the names of nicbarr's own barriers into text[bytes], for help: with their parameters, or
 * of those that NICs can play the names alone. Returns text. */
const char *nicbarr_algorithm_list(bool by_nics, char *text, size_t bytes);

/* The most messages that any of P ranks waits for, or more; 0 where it is not made of messages. */
uint32_t nicbarr_most_waits(struct nicbarr_choice choice, uint32_t size);

/*
 * Compute the schedule of `rank` (0 <= rank < size). Parameters beyond what makes a difference are
 * the same as the greatest that does. Returns false when out of memory; else the caller owns
 * `schedule` and gives it back with nicbarr_schedule_destroy().
 */
bool nicbarr_schedule_create(struct nicbarr_choice choice, uint32_t size, uint32_t rank,
                             struct myr_schedule *schedule);
void nicbarr_schedule_destroy(struct myr_schedule *schedule);

/* An algorithm among so many ranks, for those who ask by a function (myr_schedule_fn). */
struct nicbarr_among {
    struct nicbarr_choice choice;
    uint32_t size;
};

/* nicbarr_schedule_create() for `among`, a struct nicbarr_among. */
bool nicbarr_schedule_of(const void *among, uint32_t rank, struct myr_schedule *schedule);

/*
 * No barrier but the 1:P P:1 ping-pong of Hoefler et al., section 2.1, for `peers` = P: rank 0
 * sends to ranks 1 to P and waits for them all; each of those waits for rank 0's message and sends
 * one back. Ranks beyond P have no steps. As nicbarr_schedule_create() otherwise.
 */
bool nicbarr_schedule_ping_pong(uint32_t peers, uint32_t rank, struct myr_schedule *schedule);

#endif
