/* SPDX-License-Identifier: BSD-3-Clause */
/* Tunes MPI_Barrier: measures its candidates and installs the fastest; see tune.c. All members
 * call these functions, within a blocking collective. */
#ifndef NICBARR_TUNE_H
#define NICBARR_TUNE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Decide how barriers of `comm` are executed. If a choice for its shape is stored, it is adopted;
 * otherwise all candidates are measured, and the fastest is installed. While the cache is still
 * being read, or if the job cannot afford measuring yet, the decision is postponed. Collective over
 * `comm`, and a barrier of it. Returns Open MPI's error code. */
int nicbarr_tune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* These functions continue the contest of a module whose choice is provisional (module->tuner).
 * nicbarr_tune_due() counts a barrier, and returns whether the next batch is due; the result is the
 * same on all members. If so, nicbarr_tune_continue() runs this batch within the barrier, provided
 * that the job can afford it. */
bool nicbarr_tune_due(const mca_coll_nicbarr_module_t *module);
int nicbarr_tune_continue(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Measure all candidates on this communicator, although a choice from elsewhere is in use.
 * Collective over `comm`, and a barrier of it; returns Open MPI's error. */
int nicbarr_retune(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Store the measurements of the batches so far, because the communicator is freed or declined.
 * Local. */
void nicbarr_tune_end(mca_coll_nicbarr_module_t *module);

#endif
