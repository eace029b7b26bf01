/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective steps of measurements. They use Open MPI's own functions, as they must work whatever
 * the state of ours. Called by tune.c, trial.c, data_across.c, candidate_groups.c, limits.c and
 * round_trips.c. All ranks of `comm` call them at the same places, with module->tuning set. They
 * return Open MPI's codes. */
#ifndef NICBARR_MEASURING_H
#define NICBARR_MEASURING_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"

/* A monotonic clock in microseconds. */
double nicbarr_now_us(void);

/* Agreements use the functions below this component: they are right whatever the state of ours, and
 * a component above counts no call that the program has not made. */

/* A barrier. */
int nicbarr_meet(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Each of `values` becomes the maximum over all ranks; no rank returns before all have entered. */
enum { NICBARR_MOST_VALUES = 128 };
int nicbarr_maximum(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                    double *values, int count);

/* A contest (contest.h) of implementations of a collective on `comm`. A turn is some calls in a
 * row, after one more that synchronises the ranks. */
struct nicbarr_race {
    const mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    /* One call of `candidate`, the `number`-th of its turn, from 0. Open MPI's error. */
    int (*call)(void *context, int candidate, int number);
    void *context;
};

/* One portion of a contest that has begun: nicbarr_contest_go_on(). */
int nicbarr_race_go_on(struct nicbarr_contest *contest, const struct nicbarr_race *race,
                       double since_us, double budget_us);

#endif
