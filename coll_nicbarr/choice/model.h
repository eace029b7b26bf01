/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicts the cost of a barrier from its schedule and a few measured values.
 *
 * On one node, the prediction uses two raw limits. If each process has a core, a message between
 * two processes costs the transfer of one cache line from one core to the other, and the prediction
 * is the longest chain of such transfers. If the node is oversubscribed, a process that has to wait
 * yields its core, and only the number of context switches matters. To count them, the model
 * simulates the schedules on cores that switch between their processes.
 *
 * Across nodes, the prediction uses RTT(P), the time of a 1:P P:1 ping-pong
 * (nicbarr_schedule_ping_pong()), after Hoefler et al., "Fast Barrier Synchronization for
 * InfiniBand", section 2.1. As in their LoP model (sections 2.2 and 2.3), the cost of a message
 * depends on how many are sent concurrently. Here a message arrives RTT(n) / 2 after it was sent,
 * where n is the number of messages that its sender sends in this step, or the number that its
 * receiver waits for, whichever is greater. The prediction is the longest chain of messages. (The
 * paper refers to its reference [13] for the formulas; the rule used here is our own.)
 *
 * The model assumes that every node has its own cores, NIC and path through the network. If nodes
 * share these, as on a test bed of namespaces on one machine, the prediction is too low, because
 * all nodes are active at the same time in a barrier, but only some of them in a ping-pong. The
 * model also ignores the synchronisation within a node. */
#ifndef NICBARR_MODEL_H
#define NICBARR_MODEL_H

#include "coll_nicbarr/schedule.h"

struct nicbarr_machine {
    double line_us;      /* transfer of a cache line from one core to another, one way */
    double switch_us;    /* a context switch */
    uint32_t processors; /* number of cores; processes r and r + processors share one */
};

/* Predict the time per barrier (microseconds) in a long sequence of barriers of `size` processes.
 * Returns 0 if there is no prediction: for Open MPI's own function, for more than 512 processes, or
 * if out of memory. */
double nicbarr_model_us(struct nicbarr_choice choice, uint32_t size,
                        const struct nicbarr_machine *machine);

/* The measured values of RTT(P), for some P. */
enum { NICBARR_ROUND_TRIPS = 4 };
struct nicbarr_round_trips {
    uint32_t count; /* 0: not measured */
    struct {
        uint32_t peers; /* P; ascending */
        double least_us, median_us;
    } of[NICBARR_ROUND_TRIPS];
};

/* Write the values of P that are worth measuring among `nodes` nodes to `trips`: a few small
 * numbers, and the number of all other nodes, but none above `most`. */
void nicbarr_model_peers(uint32_t nodes, uint32_t most, struct nicbarr_round_trips *trips);

/* Predict the time per barrier (microseconds) in a long sequence of barriers of `nodes` nodes.
 * Returns 0 if there is no prediction, for the same reasons as nicbarr_model_us(), or because
 * nothing was measured. RTT(P) is interpolated linearly between the measured values of P, and
 * extrapolated from the last two. */
double nicbarr_model_across_us(struct nicbarr_choice choice, uint32_t nodes,
                               const struct nicbarr_round_trips *trips);

#endif
