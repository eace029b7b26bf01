/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget of measurements: in each process, no more than a share of the time since MPI_Init. So
 * a job that is too short to recover the cost measures nothing, and a long one hardly notices.
 *
 * coll_nicbarr_tune_share is that share for unknown shapes; remeasuring may take 1 % in any case.
 * Called by tune.c, trial.c and data_watch.c. Any thread. */
#ifndef NICBARR_EXPENSE_H
#define NICBARR_EXPENSE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Start of the job. */
void nicbarr_expense_open(void);

/* Is measuring of unknown shapes limited? The same on all members. */
bool nicbarr_expense_limited(void);

/* May all members spend `us` microseconds on measuring now? With `anew` they remeasure a known
 * shape, which is always limited. If there is no limit the answer is true; otherwise the call is
 * collective, with module->tuning set. */
bool nicbarr_affordable(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        double us, bool anew);

/* Record that they were spent. Without a limit for unknown shapes, only remeasuring counts. */
void nicbarr_expense_note(double us, bool anew);

#endif
