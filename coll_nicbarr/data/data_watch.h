/* SPDX-License-Identifier: BSD-3-Clause */
/* Re-evaluates the choices of collectives that carry data from time to time, because a choice may
 * have been made while the machine was busy or on another machine, or the machine may have changed.
 * A watched class is remeasured after some calls, by a trial (trial.h) of a few milliseconds. All
 * members switch in the same call, and only if the trial finds another choice with sufficient
 * confidence.
 *
 * All members count the same calls of a class, because these calls block. When the count is
 * reached, the members agree on whether remeasuring is affordable (expense.h). If it is not, the
 * next count is twice as high. Therefore a short job only pays for some counting, and a long one
 * never more than its share of time, however many communicators it has.
 *
 * Once this job has measured, with sufficient confidence, that Open MPI's own function is best, the
 * re-evaluation ends, and with it its cost.
 *
 * Called by data.c and trial.c. Threads: any, for different communicators. */
#ifndef NICBARR_DATA_WATCH_H
#define NICBARR_DATA_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Install `way` (nicbarr's, or Open MPI's own) for a decided class, and start its re-evaluation if
 * there is a reason for it. `proven`: this job has measured the choice with sufficient confidence.
 * Local; all members must make the same call. */
void nicbarr_data_watch(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, enum nicbarr_way way, bool proven);

/* Record a remeasurement, and whether it switched the implementation, which the caller then passes
 * to nicbarr_data_watch(). Local; all members must make the same call. */
void nicbarr_data_watch_record(mca_coll_nicbarr_module_t *module,
                               enum nicbarr_collective collective, uint32_t size_class,
                               bool switched, bool proven);

/* Called when the count of calls is reached. Returns whether the class must be remeasured now; if
 * not, counting continues. Collective. */
bool nicbarr_data_watch_due(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class);

/* Returns the number of remeasurements so far, in all communicators of this process, and how many
 * of them switched the implementation. Any thread. */
struct nicbarr_remeasure_counters {
    unsigned long long remeasured, switches;
};
struct nicbarr_remeasure_counters nicbarr_data_watch_count(void);

#endif
