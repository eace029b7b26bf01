/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines which messages a step `messages` sends. They depend only on the step and on the
 * processes' numbers, so that the receiver knows what must arrive. messages.c and its parts use it;
 * nothing here communicates.
 */
#ifndef NICBARR_TESTS_MESSAGES_PLAN_H
#define NICBARR_TESTS_MESSAGES_PLAN_H

#include "data_types.h"
#include "places.h"

/* Bits that exclude a message from matching further receives: a receive was posted for it, or it
 * was received. */
enum { POSTED = 1, RECEIVED = 2 };

struct message {
    int peer; /* rank of the destination or source */
    int tag;
    size_t n;
    uint64_t key, order; /* the key of its data, and its position among all sends of the process */
    bool ready;          /* the destination posts its receives before it sends */
    bool late;           /* sent after all messages to the same receiver that are not late */
    unsigned passed;     /* POSTED, RECEIVED */
};

struct messages_plan {
    const struct step *step;
    const struct place *place;
    const struct data_type *type;
    uint64_t lot; /* random number of this process */
    struct message *in, *out;
    int n_in, n_out;
};

/* The purposes of a process's random numbers. */
enum { SENDS = 1, RECEIVES, ORDER_OF_SENDS, ORDER_OF_RECEIVES, COMPLETION };
uint64_t plan_lot(const struct messages_plan *plan, int purpose, int i);

/* Lists the messages from this process in the order of the sends, and those to this process with
 * the late ones at the end. */
void plan_open(struct messages_plan *plan, const struct step *step, const struct place *place,
               const struct data_type *type);
void plan_close(struct messages_plan *plan);

/* Returns one of the step's tags. */
enum { TAGS = 4, NEVER_SENT = 7 };
int plan_tag(const struct messages_plan *plan, unsigned number);
/* Returns whether a process is `early`, or stays away (messages.h). */
bool plan_early(const struct step *step, int process);
bool plan_away(const struct step *step, int process);

/* Returns the first incoming message that matches and has none of the bits `passed`, or NULL if
 * there is none. */
struct message *plan_first_fitting(const struct messages_plan *plan, int source, int tag,
                                   unsigned passed);
/* Returns the number of elements of the largest message that a receive with this tag may get. */
size_t plan_largest(const struct messages_plan *plan, int tag);

#endif
