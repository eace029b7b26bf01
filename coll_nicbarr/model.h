/*
 * What a barrier should cost on one node: a prediction from its schedule and two measured numbers.
 *
 * With a processor for each process, hearing of one other process costs one cache line from its
 * processor to mine; the prediction is the longest chain of those. With more processes than
 * processors all that counts is how often a processor changes its process, as a process that has to
 * wait gives it up: the prediction plays the schedules on processors that take turns.
 */
#ifndef NICBARR_MODEL_H
#define NICBARR_MODEL_H

#include "coll_nicbarr/schedule.h"

struct nicbarr_machine {
    double line_us;      /* a cache line from one processor to another, one way */
    double switch_us;    /* a processor from one process to the next */
    uint32_t processors; /* processes r and r + processors share one */
};

/* Microseconds of one of many consecutive barriers of `size` processes; 0 where there is no
 * prediction (Open MPI's own, more than 512 processes, out of memory). */
double nicbarr_model_us(struct nicbarr_choice choice, uint32_t size,
                        const struct nicbarr_machine *machine);

#endif
