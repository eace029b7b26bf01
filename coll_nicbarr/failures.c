/* SPDX-License-Identifier: BSD-3-Clause */
/* Process failures; see failures.h. */
#include "coll_nicbarr/failures.h"

#include "os/calls.h"

int (*nicbarr_failure)(ompi_communicator_t *comm);

bool nicbarr_abandons(const struct myr_watch *watch)
{
    if (OMPI_SUCCESS == nicbarr_failure(watch->owner)) {
        return false;
    }
    atomic_store(&myr_record_of(watch->sleepers)->abandoned, 1);
    return true;
}

static bool is_abandoned(const struct myr_record *record)
{
    return NULL != record && 0 != myr_load_relaxed(&record->abandoned);
}

static bool is_reduction_abandoned(const mca_coll_nicbarr_module_t *module)
{
    bool abandoned = false;
    for (int slots = 0; slots < MYR_SLOTS_KINDS; ++slots) {
        abandoned = abandoned || is_abandoned(module->reducers[slots].exchange.record);
    }
    return abandoned;
}

int nicbarr_failure_of(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const int failure = nicbarr_failure(comm);
    atomic_thread_fence(memory_order_acquire); /* values must be read before the flags */
    return OMPI_SUCCESS != failure ? failure
           : is_abandoned(module->group.record) || is_reduction_abandoned(module) ||
                   is_abandoned(module->streamer.ring.record)
               ? NICBARR_FAILURE_UNKNOWN
               : OMPI_SUCCESS;
}

int nicbarr_survive(const mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm, int rc)
{
    int failure;
    while (NICBARR_FAILURE_UNKNOWN == (failure = nicbarr_failure_of(module, comm))) {
        nicbarr_progress();
        os_yield();
    }
    return OMPI_SUCCESS == failure ? rc : failure;
}
