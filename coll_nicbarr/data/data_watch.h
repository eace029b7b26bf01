/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching the choices of collectives that carry data: a choice may have been made while the
 * machine was busy or on another machine, or the machine may have changed. Therefore a class is
 * remeasured after some calls, by a trial (trial.h) of a few milliseconds. All members switch in
 * the same call, and only if the trial is sure of another choice.
 *
 * All members count the same calls of a class, because these block. When the count is reached, they
 * agree on whether remeasuring is affordable (expense.h). If not, the next count is twice as high.
 * So a short job only pays for some counting, and a long one never more than that share, however
 * many communicators it has.
 *
 * Once this job has measured, with sufficient confidence, that Open MPI's own is best, the watch
 * ends, and with it its cost.
 *
 * Called by data.c and trial.c. Threads: any, for different communicators. */
#ifndef NICBARR_DATA_WATCH_H
#define NICBARR_DATA_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* Install `way` (nicbarr's, or Open MPI's own) for a decided class; it is watched, if there is a
 * reason. `proven`: this job has measured that with sufficient confidence. Local, and the same on
 * all members. */
void nicbarr_data_watch(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, enum nicbarr_way way, bool proven);

/* Record a remeasurement and whether it switched the implementation, which is passed to
 * nicbarr_data_watch() next. Local, and the same on all members. */
void nicbarr_data_watch_note(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                             uint32_t size_class, bool switched, bool proven);

/* The count was reached: must the class be remeasured now? If not, counting continues.
 * Collective. */
bool nicbarr_data_watch_due(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class);

/* Remeasurements and switches of classes of this process's communicators so far; any thread. */
struct nicbarr_remeasure_counters {
    unsigned long long anew, switches;
};
struct nicbarr_remeasure_counters nicbarr_data_watch_count(void);

#endif
