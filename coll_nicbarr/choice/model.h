/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a barrier should cost: a prediction from its schedule and a few measured numbers.
 *
 * On one node, from two raw limits. With a processor for each process, hearing of one other process
 * costs one cache line from its processor to mine. The prediction is the longest chain of those.
 * With more processes than processors, a process that has to wait gives its processor up. All that
 * counts is how often a processor changes its process. So the prediction plays the schedules on
 * processors that take turns.
 *
 * Across nodes, from RTT(P), what a 1:P P:1 ping-pong takes (nicbarr_schedule_ping_pong()): Hoefler
 * et al., "Fast Barrier Synchronization for InfiniBand", section 2.1. As in their LoP model
 * (sections 2.2 and 2.3), the cost of a message depends on how many go at once. Here a message
 * arrives RTT(n) / 2 after it was sent. Its sender sends some number of messages in that step, and
 * its receiver waits for some number; n is the greater one. The prediction is the longest chain of
 * messages. (The paper leaves its formulas to its reference [13]; the rule is ours.)
 *
 * The model assumes that every node has a processor, a network card and a way through the network
 * of its own. Where nodes share these (a test bed of namespaces on one machine), all of them work
 * at the same time in a barrier, but only some in a ping-pong. Then the prediction is too low. The
 * model does not know how the processes of a node meet.
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

/* RTT(P), as measured for some P. */
enum { NICBARR_ROUND_TRIPS = 4 };
struct nicbarr_round_trips {
    uint32_t count; /* 0: not measured */
    struct {
        uint32_t peers; /* P; ascending */
        double least_us, median_us;
    } of[NICBARR_ROUND_TRIPS];
};

/* The values of P that are worth measuring among `nodes`: small ones and all others, none above
 * `most`. Writes them to trips. */
void nicbarr_model_peers(uint32_t nodes, uint32_t most, struct nicbarr_round_trips *trips);

/* Microseconds of one of many consecutive barriers of `nodes` nodes; 0 where there is no prediction
 * (as above, or nothing was measured). Other P than those measured are on a straight line between
 * their neighbours, or beyond the last two. */
double nicbarr_model_across_us(struct nicbarr_choice choice, uint32_t nodes,
                               const struct nicbarr_round_trips *trips);

#endif
