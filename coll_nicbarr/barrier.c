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

int nicbarr_barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    nicbarr_set_up((mca_coll_nicbarr_module_t *)module, comm);
    return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
}
