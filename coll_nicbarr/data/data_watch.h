/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choices of collectives that carry data from time to time. A choice may be wrong,
 * because it was made while the machine was busy or on another machine, or because the machine has
 * changed since then. A watched class is therefore remeasured after some calls by a trial (trial.h)
 * of a few milliseconds. If the trial finds a better choice with sufficient confidence, all members
 * switch to it in the same call.
 *
 * All members count the same calls of a class, because these calls block. When the count is
 * reached, the members agree on whether remeasuring is affordable (expense.h). If it is not, the
 * next count is twice as high. A short job therefore does no more than count calls, and a long job
 * never exceeds its share of time, regardless of the number of communicators.
 *
 * The re-evaluation ends, and costs nothing from then on, once this job has measured with
 * sufficient confidence that Open MPI's own function is the best.
 *
 * Called by data.c, trial.c, data_tune.c and data_across.c. Threads: any, for different
 * communicators. */
#ifndef NICBARR_DATA_WATCH_H
#define NICBARR_DATA_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Install `way` (nicbarr's implementation, or Open MPI's own) for a decided class. `proven` states
 * whether this job has measured the choice with sufficient confidence. Re-evaluation of the class
 * begins, unless the user has disabled it, or Open MPI's own function is proven to be the best.
 * Local; all members must make the same call. */
void nicbarr_data_watch(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, enum nicbarr_way way, bool proven);

/* Record that a class was remeasured, and whether this has switched its implementation. The caller
 * then installs the implementation by nicbarr_data_watch(). Local; all members must make the same
 * call. */
void nicbarr_data_watch_record(mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool switched, bool proven);

/* Called when the count of calls is reached. Returns whether the class must be remeasured now; if
 * not, counting continues. Collective. */
bool nicbarr_data_watch_due(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class);

/* Returns the number of remeasurements so far, in all communicators of this process, and how many
 * of them switched the implementation. Any thread may call this. */
struct nicbarr_remeasure_counters {
    unsigned long long remeasured, switches;
};
struct nicbarr_remeasure_counters nicbarr_data_watch_count(void);

#endif
