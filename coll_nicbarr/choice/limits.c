/* SPDX-License-Identifier: BSD-3-Clause */
/* See limits.h. */
#include "coll_nicbarr/choice/limits.h"

#include <sched.h>

#include "coll_nicbarr/choice/measuring.h"
#include "coll_nicbarr/layout.h"

/* Each limit is the minimum of several measurements, because disturbances only ever make a
 * measurement slower. */
enum { PROBES = 100, REPETITIONS = 5 };

/* Ping-pong a cache line between the plan's two words. Returns the time of one way in
 * microseconds. */
static double ping_pong(struct myr_group *group, const struct myr_plan *plan, uint32_t first_epoch)
{
    const double start = nicbarr_now_us();
    for (uint32_t epoch = first_epoch; epoch != first_epoch + PROBES; ++epoch) {
        for (uint32_t leg = 0; leg < 2; ++leg) { /* rank 0 stores first */
            if (leg == group->rank) {
                myr_store_release(plan->words[0], epoch);
            } else {
                myr_wait(&group->watch, plan->words[1], epoch);
            }
        }
    }
    return (nicbarr_now_us() - start) / (2 * PROBES);
}

/* Measure the transfer of a cache line from rank 0 to rank 1, while the other ranks wait in Open
 * MPI's barrier. */
static int probe_line(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, double *us)
{
    struct myr_group *group = &module->group;
    struct myr_plan plan;
    *us = 0;
    if (group->rank < 2) {
        if (!myr_plan_flags(&plan, nicbarr_layout_slots(module), 2, group->rank, MYR_LINE)) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        for (uint32_t r = 0; r < REPETITIONS; ++r) {
            const double once = ping_pong(group, &plan, group->epoch + 1 + r * PROBES);
            *us = 0 == r || once < *us ? once : *us;
        }
        myr_plan_destroy(&plan);
    }
    /* The words now contain the epochs of the probes. All ranks skip these epochs, so that later
     * barriers do not use them again. */
    group->epoch += REPETITIONS * PROBES;
    return nicbarr_synchronise(module, comm);
}

/* Measure a context switch: all processes of a core yield it in turn. */
static double probe_switch(const mca_coll_nicbarr_module_t *module)
{
    const uint32_t processors = module->shape.processors;
    const uint32_t residents = (module->group.size + processors - 1) / processors;
    double fastest = 0;
    for (int r = 0; r < REPETITIONS; ++r) {
        const double start = nicbarr_now_us();
        for (int p = 0; p < PROBES / REPETITIONS; ++p) {
            sched_yield();
        }
        const double once = (nicbarr_now_us() - start) / (PROBES / REPETITIONS) / residents;
        fastest = 0 == r || once < fastest ? once : fastest;
    }
    return fastest;
}

int nicbarr_limits(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                   struct nicbarr_limits *limits)
{
    double shared = module->shape.oversubscribed, raw[2] = {0, 0};
    int rc = nicbarr_maximum(module, comm, &shared, 1);
    if (OMPI_SUCCESS == rc && 0 == shared) { /* otherwise context switches would be measured */
        rc = probe_line(module, comm, &raw[0]);
    }
    rc = OMPI_SUCCESS == rc ? nicbarr_synchronise(module, comm) : rc;
    raw[1] = probe_switch(module);
    rc = OMPI_SUCCESS == rc ? nicbarr_maximum(module, comm, raw, 2) : rc;
    *limits = (struct nicbarr_limits){raw[0], raw[1]};
    return rc;
}
