/* SPDX-License-Identifier: BSD-3-Clause */
/* See measuring.h. */
#include "coll_nicbarr/choice/measuring.h"

#include <string.h>

#include "coll_nicbarr/failures.h"
#include "os/clock.h"

double nicbarr_now_us(void)
{
    return (double)os_now_ns() * 1e-3;
}

int nicbarr_synchronise(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const int failure = nicbarr_known_failure(comm);
    return OMPI_SUCCESS == failure ? nicbarr_openmpi_barrier(comm, &module->openmpi) : failure;
}

int nicbarr_maximum(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, double *values,
                    int count)
{
    double own[NICBARR_MOST_VALUES];
    const int failure = nicbarr_known_failure(comm);
    if (OMPI_SUCCESS != failure) {
        return failure;
    }
    memcpy(own, values, (size_t)count * sizeof(*own));
    return nicbarr_openmpi_allreduce(own, values, count, MPI_DOUBLE, MPI_MAX, comm,
                                     &module->openmpi);
}

/* ---- samplers ---- */

static int measure_sample(void *context, int candidate, int calls, double *us)
{
    const struct nicbarr_sampler *sampler = context;
    int rc = OMPI_SUCCESS;
    double start = 0;
    for (int n = 0; OMPI_SUCCESS == rc && n <= calls; ++n) {
        start = 1 == n ? nicbarr_now_us() : start;
        rc = nicbarr_known_failure(sampler->comm);
        rc = OMPI_SUCCESS == rc ? sampler->call(sampler->context, candidate, n) : rc;
    }
    *us = (nicbarr_now_us() - start) / calls;
    return rc;
}

static int agree_on_values(void *context, double *values, int count)
{
    const struct nicbarr_sampler *sampler = context;
    return nicbarr_maximum(sampler->module, sampler->comm, values, count);
}

static double now_us(void *context)
{
    (void)context;
    return nicbarr_now_us();
}

int nicbarr_sampler_run_batch(struct nicbarr_contest *contest,
                              const struct nicbarr_sampler *sampler, double since_us,
                              double budget_us)
{
    const struct nicbarr_contest_user user = {measure_sample, agree_on_values, now_us,
                                              (void *)sampler};
    return nicbarr_contest_run_batch(contest, &user, since_us, budget_us);
}
