/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier algorithms and their schedules, as pure functions of (algorithm, parameter, P, rank).
 *
 * Called by the node's planner (plan.c), by the model (model.c), by the simulator (bench/nicsim)
 * and by the tests. Independent of Open MPI, memory and time. Invariants, tested for every P up to
 * 300: the arrival of every rank reaches every rank (of NICBARR_ROOTED: rank 0), directly or not;
 * every send has its wait; no rank sends to itself. */
#ifndef NICBARR_SCHEDULE_H
#define NICBARR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum nicbarr_algorithm {
    NICBARR_OPENMPI,       /* Open MPI's own function; it has no schedule here */
    NICBARR_COUNTER,       /* all increment a counter, the last one releases; parameter: leaves */
    NICBARR_FLAGS,         /* each sets a flag and scans all; parameter: distance in bytes */
    NICBARR_TREE,          /* gather-broadcast over a tree (Buntinas; Zhang); parameter: degree */
    NICBARR_DISSEMINATION, /* n-way dissemination (Hoefler); parameter: n */
    NICBARR_PAIRWISE,      /* pairwise exchange (Buntinas), recursive doubling; no parameter */
    NICBARR_ROOTED, /* no barrier: gather over a tree, for reductions (rooted.h); parameter: degree
                     */
    NICBARR_SCHEDULES, /* number of those with a schedule; data on one node have none: */
    NICBARR_EXCHANGE = NICBARR_SCHEDULES, /* each writes, each reads (exchange.h) */
    NICBARR_RING,                         /* one writes, all read (ring.h) */
    NICBARR_ALGORITHMS
};

/* An algorithm with its parameter and player, written "tree:4", "pairwise@NAME", ... Schedules are
 * independent of the player. */
struct nicbarr_choice {
    enum nicbarr_algorithm algorithm;
    uint32_t parameter; /* 0 if the algorithm has none */
    uint32_t nic;       /* number of a NIC; 0: the processes themselves */
};

/* Set the names of NICs in choices, from number 1 on; NULL ends the list, which the caller keeps.
 * To be called once, before several threads name or parse choices; there are no names before. */
void nicbarr_choice_nics(const char *const *names);

#define NICBARR_CHOICE_TEXT 32 /* bytes for the name of any choice */

bool nicbarr_choice_equal(struct nicbarr_choice a, struct nicbarr_choice b);

/* Write the name of `choice` into text[NICBARR_CHOICE_TEXT]; returns text. */
const char *nicbarr_choice_name(struct nicbarr_choice choice, char *text);

/* Parse the name of a barrier; an omitted parameter gets its default. False if it is unknown or out
 * of range, or if a NIC cannot play it because it does not consist of messages. */
bool nicbarr_choice_parse(const char *text, struct nicbarr_choice *choice);

/* The same for collectives that carry data: also accepts algorithms that are no barriers. */
bool nicbarr_choice_parse_data(const char *text, struct nicbarr_choice *choice);

/* Does it consist of messages, so that any NIC can play it? */
bool nicbarr_algorithm_messages(enum nicbarr_algorithm algorithm);

/* Does the arrival of every rank reach every rank? */
bool nicbarr_algorithm_barrier(enum nicbarr_algorithm algorithm);

/* The greatest parameter that makes a difference for P processes; 0 if the algorithm has none. */
uint32_t nicbarr_parameter_max(enum nicbarr_algorithm algorithm, uint32_t size);

/* Write the names of nicbarr's own barriers into text[bytes], for help texts: all of them with
 * their parameters, or with `by_nics` only the names of those that NICs can play. Returns text. */
const char *nicbarr_algorithm_list(bool by_nics, char *text, size_t bytes);

/* An upper bound on the messages that any of P ranks waits for; 0 if the algorithm does not consist
 * of messages. */
uint32_t nicbarr_most_waits(struct nicbarr_choice choice, uint32_t size);

/* Compute the schedule of `rank` (0 <= rank < size). Greater parameters are clamped to the greatest
 * that makes a difference. False if out of memory; else the caller owns `schedule` and frees it
 * with nicbarr_schedule_destroy(). */
bool nicbarr_schedule_create(struct nicbarr_choice choice, uint32_t size, uint32_t rank,
                             struct myr_schedule *schedule);
void nicbarr_schedule_destroy(struct myr_schedule *schedule);

/* An algorithm and the number of ranks, as the context of a myr_schedule_fn. */
struct nicbarr_among {
    struct nicbarr_choice choice;
    uint32_t size;
};

/* nicbarr_schedule_create() for `among`, a struct nicbarr_among. */
bool nicbarr_schedule_of(const void *among, uint32_t rank, struct myr_schedule *schedule);

/* Not a barrier, but the 1:P P:1 ping-pong of Hoefler et al., section 2.1, for `peers` = P: rank 0
 * sends to ranks 1 to P and waits for them all; each of those waits for rank 0's message and sends
 * one back. Ranks beyond P have no steps. Otherwise like nicbarr_schedule_create(). */
bool nicbarr_schedule_ping_pong(uint32_t peers, uint32_t rank, struct myr_schedule *schedule);

#endif
