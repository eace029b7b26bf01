/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys a communicator's module, and determines the collectives that it offers.
 *
 * Creating a module is cheap: it only determines whether the communicator is on one node, and saves
 * the previous functions. Everything else is set up on first use, by setup.c on one node, by
 * across.c across nodes, and as data/data.h describes for collectives that carry data. */
#include "coll_nicbarr/module.h"

#include <stdlib.h>
#include <string.h>

#include "coll_nicbarr/barrier.h"
#include "coll_nicbarr/checking.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/choice/watch.h"
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/memory.h"
#include "coll_nicbarr/data/trial.h"
#include "coll_nicbarr/failures.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/surviving.h"

/* Install the module's functions. If there are no functions to fall back to, the module does not
 * serve the communicator. */
static int module_enable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    return nicbarr_fallback_save((mca_coll_nicbarr_module_t *)base, comm) ? OMPI_SUCCESS
                                                                          : OMPI_ERR_NOT_FOUND;
}

/* Components above have restored our functions before Open MPI calls this. */
static int module_disable(mca_coll_base_module_t *base, ompi_communicator_t *comm)
{
    (void)comm;
    nicbarr_fallback_restore((mca_coll_nicbarr_module_t *)base);
    return OMPI_SUCCESS;
}

static void module_construct(mca_coll_nicbarr_module_t *module)
{
    memset((uint8_t *)module + sizeof(module->super), 0, sizeof(*module) - sizeof(module->super));
}

static void module_destruct(mca_coll_nicbarr_module_t *module)
{
    nicbarr_trials_end(module);
    if (NULL != module->group.record) {
        myr_plan_destroy(&module->group.plan);
        myr_record_leave(mca_coll_nicbarr_component.segment, module->group.record);
    }
    nicbarr_tune_end(module);
    nicbarr_watch_end(module);
    nicbarr_data_leave(module);
    nicbarr_carriers_free(module);
    nicbarr_group_leave(&module->nic);
    nicbarr_group_leave(&module->split);
    nicbarr_nodes_free(&module->nodes);
    free(module->homes);
    for (int c = 0; c < NICBARR_COLLECTIVES; ++c) {
        free(module->ways[c]);
    }
    nicbarr_fallback_release(module);
}

OBJ_CLASS_INSTANCE(mca_coll_nicbarr_module_t, mca_coll_base_module_t, module_construct,
                   module_destruct);

/* Returns the reason why the communicator is left to Open MPI entirely, or NULL if it is not. */
static const char *why_left(const ompi_communicator_t *comm, bool across, int priority)
{
    return priority < 0                        ? "coll_nicbarr_priority is negative"
           : OMPI_COMM_IS_INTER(comm)          ? "it is an intercommunicator"
           : across && NULL != nicbarr_failure ? "its processes are on several nodes, which is not "
                                                 "supported with mpirun --with-ft ulfm"
           : across && !mca_coll_nicbarr_component.parameters.check &&
                   !nicbarr_nics_wanted(&mca_coll_nicbarr_component.nics)
               ? "its processes are on several nodes, and coll_nicbarr_nic is none"
               : NULL;
}

static void offer_barriers(mca_coll_base_module_t *super, int size)
{
    if (size > 1) { /* a barrier of one process cannot become faster */
        super->coll_barrier = nicbarr_barrier;
    }
    if (mca_coll_nicbarr_component.parameters.nonblocking) {
        super->coll_ibarrier = nicbarr_ibarrier;
        super->coll_barrier_init = nicbarr_barrier_init;
    }
}

static void offer_reductions(mca_coll_base_module_t *super, bool across, int size)
{
    if (nicbarr_data_wanted(NICBARR_ALLREDUCE, across, size)) {
        super->coll_allreduce = across ? nicbarr_allreduce_across : nicbarr_allreduce;
        super->coll_iallreduce = across ? nicbarr_iallreduce_across : nicbarr_iallreduce;
        super->coll_allreduce_init =
            across ? nicbarr_allreduce_init_across : nicbarr_allreduce_init;
    }
    if (nicbarr_data_wanted(NICBARR_REDUCE, across, size)) {
        super->coll_reduce = across ? nicbarr_reduce_across : nicbarr_reduce;
        super->coll_ireduce = across ? NULL : nicbarr_ireduce;
        super->coll_reduce_init = across ? NULL : nicbarr_reduce_init;
    }
}

static void offer_broadcasts(mca_coll_base_module_t *super, bool across, int size)
{
    if (nicbarr_data_wanted(NICBARR_BCAST, across, size)) {
        super->coll_bcast = across ? nicbarr_bcast_across : nicbarr_bcast;
        super->coll_ibcast = across ? nicbarr_ibcast_across : nicbarr_ibcast;
        super->coll_bcast_init = !across                              ? nicbarr_bcast_init
                                 : nicbarr_data_forced(NICBARR_BCAST) ? nicbarr_bcast_init_across
                                                                      : NULL;
    }
}

static void offer_gathers(mca_coll_base_module_t *super, bool across, int size)
{
    if (nicbarr_data_wanted(NICBARR_ALLGATHER, across, size)) {
        super->coll_allgather = nicbarr_allgather;
        super->coll_iallgather = across ? NULL : nicbarr_iallgather;
        super->coll_allgather_init = across ? NULL : nicbarr_allgather_init;
    }
    if (nicbarr_data_wanted(NICBARR_GATHER, across, size)) {
        super->coll_gather = nicbarr_gather;
        super->coll_igather = across ? NULL : nicbarr_igather;
        super->coll_gather_init =
            !across && nicbarr_data_forced(NICBARR_GATHER) ? nicbarr_gather_init : NULL;
    }
    if (nicbarr_data_wanted(NICBARR_SCATTER, across, size)) {
        super->coll_scatter = nicbarr_scatter;
        super->coll_iscatter = across ? NULL : nicbarr_iscatter;
        super->coll_scatter_init = across ? NULL : nicbarr_scatter_init;
    }
}

mca_coll_base_module_t *nicbarr_comm_query(ompi_communicator_t *comm, int *priority)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const bool across = nicbarr_is_across(comm);
    const int size = ompi_comm_size(comm);
    *priority = component->parameters.priority < 100 ? component->parameters.priority : 100;
    const char *why = why_left(comm, across, *priority);
    if (NULL != why) {
        char name[NICBARR_COMM_TEXT];
        if (0 == ompi_comm_rank(comm)) {
            opal_output_verbose(2, component->output, "nicbarr: %s is left to Open MPI: %s",
                                nicbarr_comm_name(comm, name), why);
        }
        return NULL;
    }
    if (component->parameters.check) {
        return nicbarr_checker_new(comm);
    }
    mca_coll_nicbarr_module_t *module = OBJ_NEW(mca_coll_nicbarr_module_t);
    if (NULL == module) {
        nicbarr_end_without_memory(comm);
    }
    module->super.coll_module_enable = module_enable;
    module->super.coll_module_disable = module_disable;
    module->across = across;
    module->tune_at = (uint32_t)component->parameters.tune_after;
    module->barrier_state = across ? NICBARR_BARRIER_ACROSS_FIRST : NICBARR_BARRIER_FIRST;
    offer_barriers(&module->super, size);
    offer_reductions(&module->super, across, size);
    offer_broadcasts(&module->super, across, size);
    offer_gathers(&module->super, across, size);
    if (NULL != nicbarr_failure) {
        nicbarr_wrap_to_survive(&module->super);
    }
    return &module->super;
}
