/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits the time that each process spends on measurements to a share of the time since MPI_Init. A
 * job that is too short to benefit from measurements therefore performs none, and a long job spends
 * a negligible part of its time on them.
 *
 * For unknown shapes, the parameter coll_nicbarr_tune_share defines the share. Remeasuring a known
 * shape may always take 1 %. Called by tune.c, trial.c and data_watch.c, from any thread. */
#ifndef NICBARR_EXPENSE_H
#define NICBARR_EXPENSE_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Record the start of the job; called when the component opens. */
void nicbarr_expense_open(void);

/* Returns whether measuring unknown shapes is limited. The result is the same on all members. */
bool nicbarr_expense_limited(void);

/* Returns whether all members may spend `us` microseconds on measuring now. `remeasured` states
 * that the shape was measured before; measuring such a shape again is always limited. If there is
 * no limit, the function returns true without communication; otherwise the call is collective. */
bool nicbarr_affordable(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, double us,
                        bool remeasured);

/* Record that `us` microseconds were spent on measuring. If measuring unknown shapes is not
 * limited, only the time for remeasuring is recorded. */
void nicbarr_expense_record(double us, bool remeasured);

#endif
