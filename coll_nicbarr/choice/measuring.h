/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective functions by which the ranks of `comm` measure candidates, and agree on values while
 * they tune or set up groups. All ranks call them in the same order. The functions return Open
 * MPI's error codes.
 *
 * To agree on values, the ranks call the collectives of the components with lower priorities, whose
 * functions this component has saved. These calls work in any state of this component. They also
 * bypass components with higher priorities, such as coll/monitoring, which would otherwise count
 * calls that the program has not made. */
#ifndef NICBARR_MEASURING_H
#define NICBARR_MEASURING_H

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/coll_nicbarr.h"

/* Returns the time of a monotonic clock in microseconds. */
double nicbarr_now_us(void);

/* Execute Open MPI's own barrier. */
int nicbarr_synchronise(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm);

/* Replace each of `values` by its maximum over all ranks. No rank returns before all have
 * entered. */
enum { NICBARR_MOST_VALUES = 128 };
int nicbarr_maximum(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, double *values,
                    int count);

/* A sampler measures the candidates of a contest (contest.h), which are implementations of a
 * collective on `comm`. A sample is a number of consecutive calls, preceded by one that
 * synchronises the ranks and is not measured. */
struct nicbarr_sampler {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    /* Execute call number `number` (from 0) of a sample of `candidate`. Returns Open MPI's
     * error. */
    int (*call)(void *context, int candidate, int number);
    void *context;
};

/* Run one batch of a contest that has begun, by nicbarr_contest_run_batch(). */
int nicbarr_sampler_run_batch(struct nicbarr_contest *contest,
                              const struct nicbarr_sampler *sampler, double since_us,
                              double budget_us);

#endif
