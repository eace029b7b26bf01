/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a communicator do together while they measure. These go by Open MPI's own
 * functions, as they have to work whatever becomes of ours. Called by tune.c, trial.c,
 * data_across.c, candidate_groups.c, limits.c and round_trips.c. All ranks of `comm` call them at
 * the same places, with module->tuning set. They return Open MPI's codes.
 */
#ifndef NICBARR_MEASURING_H
#define NICBARR_MEASURING_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"

/* Microseconds of a clock that never goes back. */
double nicbarr_now_us(void);

/* What ranks agree on goes by the functions below this component: they are right whatever state
 * ours are in, and a component above counts no call that the program has not made. */

/* Nobody is done before all have come. */
int nicbarr_meet(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Each of `values` becomes the greatest that any rank has; nobody is done before all have come. */
enum { NICBARR_MOST_VALUES = 128 };
int nicbarr_maximum(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                    double *values, int count);

/*
 * A contest (contest.h) of ways to do a collective on `comm`. A turn is some calls in a row, after
 * one more by which all set off together.
 */
struct nicbarr_race {
    const mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    /* One call by `candidate`, the `number`-th of its turn, from 0 on. Open MPI's error. */
    int (*call)(void *context, int candidate, int number);
    void *context;
};

/* One portion of a contest that has begun: nicbarr_contest_go_on(). */
int nicbarr_race_go_on(struct nicbarr_contest *contest, const struct nicbarr_race *race,
                       double since_us, double budget_us);

#endif
