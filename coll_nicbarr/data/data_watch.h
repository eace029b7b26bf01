/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watching the choices of collectives that carry data: a choice may have been made in a bad minute,
 * or on another machine, or the machine has changed since. So after some calls of its class it is
 * measured anew, by a trial (trial.h) of a few milliseconds. Only where that is sure of another way
 * do all members switch, in the same call. Else what is in use stays.
 *
 * All members count the same calls of a class, as they block. When it is time by count, they agree
 * on whether it is affordable (expense.h). If it is not, they count twice as many calls. So a short
 * job pays for some counting, and a long one never more than that share, however many communicators
 * it has.
 *
 * Where this job has measured, and is sure, that Open MPI's own is best, nobody watches any more.
 * So it costs nothing.
 *
 * Called by data.c and trial.c. Threads: any, for different communicators.
 */
#ifndef NICBARR_DATA_WATCH_H
#define NICBARR_DATA_WATCH_H

#include "coll_nicbarr/coll_nicbarr.h"

/* A class is decided, and goes by `way` (nicbarr's, or Open MPI's own) from now on; it is watched,
 * if there is a reason. `proven`: that was measured in this job, which was sure of it. Local, and
 * the same on all members. */
void nicbarr_data_watch(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                        uint32_t size_class, enum nicbarr_way way, bool proven);

/* It was measured anew, and another way was taken or not, which is passed to nicbarr_data_watch()
 * next. Likewise. */
void nicbarr_data_watch_note(mca_coll_nicbarr_module_t *module, enum nicbarr_collective collective,
                             uint32_t size_class, bool switched, bool proven);

/* Enough calls were counted: is the class to be measured anew now? If not, more are counted.
 * Collective. */
bool nicbarr_data_watch_due(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            enum nicbarr_collective collective, uint32_t size_class);

/* How often classes of this process's communicators were measured anew so far, and switched; any
 * thread. */
struct nicbarr_remeasure_counters {
    unsigned long long anew, switches;
};
struct nicbarr_remeasure_counters nicbarr_data_watch_count(void);

#endif
