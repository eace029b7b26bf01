/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning: see tune.c. Called within MPI_Barrier, by all members.
 */
#ifndef NICBARR_TUNE_H
#define NICBARR_TUNE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Measure all candidates and install the fastest. Collective over `comm`, and a barrier of it.
 * Returns Open MPI's error code. */
int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* While the module has a tuner, because its choice is provisional: is the next portion due at this
 * barrier? The answer is the same on all members. */
bool nicbarr_tune_due(const mca_coll_nicbarr_module_t *module);
int nicbarr_tune_on(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Measure all candidates on this communicator, although a choice from elsewhere is in use.
 * Collective over `comm`, and a barrier of it; Open MPI's error. */
int nicbarr_tune_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The communicator is freed or declined: store the measurement of the portions so far. Local. */
void nicbarr_tune_end(mca_coll_nicbarr_module_t *module);

#endif
