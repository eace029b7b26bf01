/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the raw limits of a node, from which the model (model.h) predicts the cost of barriers
 * on this node. round_trips.c measures the corresponding limits across nodes. */
#ifndef NICBARR_LIMITS_H
#define NICBARR_LIMITS_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_limits {
    double line_us;   /* transfer of a cache line from rank 0 to rank 1, one way; 0: not measured,
                         because processes share cores */
    double switch_us; /* context switch from one process to the next on a core */
};

/* Measure the limits; each result is the value of the slowest rank. Collective over `comm`, on one
 * node. Uses the slots of the record of `module`; returns Open MPI's error. */
int nicbarr_limits(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                   struct nicbarr_limits *limits);

#endif
