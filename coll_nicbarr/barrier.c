/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Barrier.
 *
 * One function for each state a communicator's barrier may be in; whoever changes the state
 * installs the next function in the communicator, so that the path of a decided barrier has no
 * question left to ask but the algorithm's own.
 */
#include "coll_nicbarr/coll_nicbarr.h"

MYR_HOT int nicbarr_barrier_slots(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    myr_group_barrier_slots(&((mca_coll_nicbarr_module_t *)module)->group);
    return OMPI_SUCCESS;
}

MYR_HOT int nicbarr_barrier_counter(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    myr_group_barrier_counter(&((mca_coll_nicbarr_module_t *)module)->group);
    return OMPI_SUCCESS;
}

/* The default algorithm, until there were enough barriers to be worth tuning. All members count the
 * same barriers, so all begin to tune in the same one. */
int nicbarr_barrier_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (module->tuning) { /* a collective that tuning uses is made of barriers */
        return module->barrier.function(comm, module->barrier.module);
    }
    if (0 != parameters->tune_budget && module->group.epoch >= (uint32_t)parameters->tune_after) {
        return nicbarr_tune(module, comm);
    }
    myr_group_barrier(&module->group);
    return OMPI_SUCCESS;
}

/* Across nodes: a NIC that fails takes the job with it, as a connection that fails does. */
MYR_HOT int nicbarr_barrier_nic(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct myr_nic_group *group = &module->nic;
    if (!myr_nic_group_wait(group, myr_nic_group_arrive(group), 0)) {
        opal_output(
            0,
            "nicbarr: the NIC of this node has failed in the middle of a barrier on %s: %sa "
            "process of the job has died",
            comm->c_name, NICBARR_KERNEL == module->choice.player ? "myrd --kernel or " : "");
        return OMPI_ERROR;
    }
    return OMPI_SUCCESS;
}

/* Open MPI's own, until there were enough barriers to be worth tuning. */
int nicbarr_barrier_across_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const struct nicbarr_parameters *parameters = &mca_coll_nicbarr_component.parameters;
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (!module->tuning && 0 != parameters->tune_budget &&
        module->barriers++ >= (uint32_t)parameters->tune_after) {
        return nicbarr_tune(module, comm);
    }
    return module->barrier.function(comm, module->barrier.module);
}

int nicbarr_barrier_across_first(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (module->tuning) { /* a collective that setting up uses is made of barriers */
        return module->barrier.function(comm, module->barrier.module);
    }
    const int rc = nicbarr_across_set_up(module, comm);
    return OMPI_SUCCESS == rc ? comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module)
                              : rc;
}

int nicbarr_barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    nicbarr_set_up((mca_coll_nicbarr_module_t *)module, comm);
    return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
}
