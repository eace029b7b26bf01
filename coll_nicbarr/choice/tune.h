/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning: see tune.c. Called within MPI_Barrier, by all members.
 */
#ifndef NICBARR_TUNE_H
#define NICBARR_TUNE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Measure, choose and install; collective over `comm`, and a barrier of it. Open MPI's error. */
int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Continuation of a provisional choice, for which the module has a tuner. Is a portion due at this
 * barrier? The same on all members. */
bool nicbarr_tune_due(const mca_coll_nicbarr_module_t *module);
int nicbarr_tune_on(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Measure what has not been measured on this communicator; another choice is in use. */
int nicbarr_tune_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The communicator ends, or is declined: conclude from the portions so far. Local. */
void nicbarr_tune_end(mca_coll_nicbarr_module_t *module);

#endif
