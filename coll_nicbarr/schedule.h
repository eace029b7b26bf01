/* SPDX-License-Identifier: BSD-3-Clause */
/* Barrier algorithms and their schedules, which are pure functions of the algorithm, its parameter,
 * the number of processes P, and the rank.
 *
 * The schedules are used by plans (layout.c), groups of NICs (groups.c, myr/barrier.c), the model
 * (model.c), the simulator (bench/nicsim) and the tests. The functions use neither Open MPI nor
 * shared memory nor a clock.
 *
 * Invariants, tested for every P up to 300:
 * - The arrival of every rank reaches every rank, directly or through others. (With NICBARR_ROOTED
 *   it reaches rank 0.)
 * - Every send has a matching wait.
 * - No rank sends to itself. */
#ifndef NICBARR_SCHEDULE_H
#define NICBARR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libmyr/schedule.h"

enum nicbarr_algorithm {
    NICBARR_OPENMPI, /* Open MPI's own function; it has no schedule here */
    NICBARR_COUNTER, /* all ranks increment a counter, and the last one releases all; parameter:
                        leaves */
    NICBARR_FLAGS,   /* each rank sets a flag and scans all flags; parameter: distance in bytes */
    NICBARR_TREE,    /* gather-broadcast over a tree (Buntinas; Zhang); parameter: degree */
    NICBARR_DISSEMINATION, /* n-way dissemination (Hoefler); parameter: n */
    NICBARR_PAIRWISE,      /* pairwise exchange (Buntinas), recursive doubling; no parameter */
    NICBARR_ROOTED,    /* not a barrier: gather over a tree, for reductions (rooted.h); parameter:
                          degree */
    NICBARR_SCHEDULES, /* number of algorithms with a schedule; the following, for data on one node,
                          have none: */
    NICBARR_EXCHANGE = NICBARR_SCHEDULES, /* every process writes and reads (exchange.h) */
    NICBARR_RING,                         /* one process writes, all others read (ring.h) */
    NICBARR_ALGORITHMS
};

/* An algorithm with its parameter and its executor, which is either the NIC that executes the
 * algorithm or the processes themselves. Its name is "tree:4", "pairwise@NAME", and so on.
 * Schedules do not depend on the executor. */
struct nicbarr_choice {
    enum nicbarr_algorithm algorithm;
    uint32_t parameter; /* 0 if the algorithm has none */
    uint32_t nic;       /* number of a NIC; 0: the processes themselves */
};

/* Set the names by which choices refer to NICs, beginning with NIC number 1. The list is terminated
 * by NULL and must remain valid. NICs have no names until this function is called, once, before
 * several threads name or parse choices. */
void nicbarr_choice_nics(const char *const *names);

#define NICBARR_CHOICE_TEXT 32 /* bytes for the name of any choice */

bool nicbarr_choice_equal(struct nicbarr_choice a, struct nicbarr_choice b);

/* Write the name of `choice` into text[NICBARR_CHOICE_TEXT]; returns text. */
const char *nicbarr_choice_name(struct nicbarr_choice choice, char *text);

/* Parse the name of a barrier; an omitted parameter gets its default. Returns false if the name is
 * unknown, if the parameter is out of range, or if the name specifies a NIC but the algorithm does
 * not consist of messages. */
bool nicbarr_choice_parse(const char *text, struct nicbarr_choice *choice);

/* Parse the name of an algorithm for collectives that carry data, like nicbarr_choice_parse(), but
 * including algorithms that are not barriers. */
bool nicbarr_choice_parse_data(const char *text, struct nicbarr_choice *choice);

/* Returns whether the algorithm consists of messages, so that any NIC can execute it. */
bool nicbarr_algorithm_messages(enum nicbarr_algorithm algorithm);

/* Returns whether the algorithm is a barrier: the arrival of every rank reaches every rank. */
bool nicbarr_algorithm_barrier(enum nicbarr_algorithm algorithm);

/* Returns the greatest parameter that makes a difference for `size` processes, or 0 if the
 * algorithm has no parameter. */
uint32_t nicbarr_parameter_max(enum nicbarr_algorithm algorithm, uint32_t size);

/* Write the names of nicbarr's own barriers into text[bytes], for help texts: all of them with
 * their parameters, or with `by_nics` only the names of those that NICs can execute. Returns
 * text. */
const char *nicbarr_algorithm_list(bool by_nics, char *text, size_t bytes);

/* Returns an upper bound on the messages that any of `size` ranks waits for, or 0 if the algorithm
 * does not consist of messages. */
uint32_t nicbarr_most_waits(struct nicbarr_choice choice, uint32_t size);

/* Compute the schedule of `rank` (0 <= rank < size). The parameter of `choice` is clamped to the
 * greatest value that changes the schedule. Returns false if out of memory; otherwise the caller
 * owns `schedule` and frees it with nicbarr_schedule_destroy(). */
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

/* Compute the schedule of `rank` in the 1:P P:1 ping-pong of Hoefler et al., section 2.1, for
 * `peers` = P: rank 0 sends a message to each of the ranks 1 to P and waits for their replies, and
 * each of these ranks waits for the message of rank 0 and replies. Ranks above P have no steps.
 * This is not a barrier. Memory and errors are as in nicbarr_schedule_create(). */
bool nicbarr_schedule_ping_pong(uint32_t peers, uint32_t rank, struct myr_schedule *schedule);

#endif
