/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tuning: see tune.c. Called within MPI_Barrier, by all members.
 */
#ifndef NICBARR_TUNE_H
#define NICBARR_TUNE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Measure, choose and install; collective over `comm`, and a barrier of it. Open MPI's error. */
int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The same once more, where the choice is provisional: the module has a tuner. Is that due, now
 * that there is one more barrier? The same on all members. */
bool nicbarr_tune_due(const mca_coll_nicbarr_module_t *module);
int nicbarr_tune_on(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Measure what nobody has measured on this communicator before; another choice is in use. */
int nicbarr_tune_anew(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* The communicator ends, or is declined: what is known by now is all. Local. */
void nicbarr_tune_end(mca_coll_nicbarr_module_t *module);

#endif
