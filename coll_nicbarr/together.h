/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a communicator do together while they measure. These go by Open MPI's own
 * functions, as they have to work whatever becomes of ours. Called by tune.c, limits.c and
 * round_trips.c. All ranks of `comm` call them at the same places, with module->tuning set. They
 * return Open MPI's codes.
 */
#ifndef NICBARR_TOGETHER_H
#define NICBARR_TOGETHER_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Microseconds of a clock that never goes back. */
double nicbarr_now_us(void);

/* Nobody is done before all have come. */
int nicbarr_meet(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Each of `values` becomes the greatest that any rank has; nobody is done before all have come. */
enum { NICBARR_MOST_VALUES = 80 };
int nicbarr_maximum(ompi_communicator_t *comm, double *values, int count);

#endif
