/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw limits of one node, from which the model predicts what barriers should cost there
 * (model.h). round_trips.c measures their counterpart across nodes.
 */
#ifndef NICBARR_LIMITS_H
#define NICBARR_LIMITS_H

#include "coll_nicbarr/coll_nicbarr.h"

struct nicbarr_limits {
    double line_us;   /* a cache line from rank 0 to rank 1, one way; 0: they share processors */
    double switch_us; /* from one process to the next on a processor */
};

/* Measure them, as the slowest rank sees them. Collective over `comm`, on one node, by the record
 * of `module`, whose slots it uses; Open MPI's error otherwise. */
int nicbarr_limits(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                   struct nicbarr_limits *limits);

#endif
