/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What measuring may cost a job: in each process, no more than a share of the time since MPI_Init.
 * So a job that is too short to gain it back measures nothing, and a long one hardly notices.
 *
 * coll_nicbarr_tune_share is that share where nothing is known; what is measured anew may take 1 %
 * in any case. Called by tune.c, trial.c and data_watch.c. Any thread.
 */
#ifndef NICBARR_EXPENSE_H
#define NICBARR_EXPENSE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* The job begins. */
void nicbarr_expense_open(void);

/* Is there a limit for what is not known? The same on all members. */
bool nicbarr_expense_limited(void);

/* May `us` microseconds be spent now, by all members? Always, where there is no limit; else it is
 * collective, with module->tuning set. */
bool nicbarr_affordable(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        double us, bool anew);

/* They were. (Where there is no limit for what is not known, that does not count.) */
void nicbarr_expense_note(double us, bool anew);

#endif
