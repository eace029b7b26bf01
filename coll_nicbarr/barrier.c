/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Barrier.
 *
 * There is one function for each state of a communicator's barrier, and nicbarr_set_barrier()
 * installs the function of the current state in the communicator's table. Therefore a barrier whose
 * algorithm is decided executes no branches besides those of the algorithm. (Across nodes it also
 * tests `pending`.)
 *
 * No code of this component calls MPI_Barrier through the table. Such a call would recurse into the
 * function of the current state, and a component with a higher priority that has wrapped this
 * function would count the call as one of the program's. */
#include "coll_nicbarr/barrier.h"

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/choice/tune.h"
#include "coll_nicbarr/choice/watch.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/files/cache.h"
#include "coll_nicbarr/files/report.h"
#include "coll_nicbarr/fallback.h"
#include "coll_nicbarr/overdue.h"
#include "coll_nicbarr/setup.h"
#include "coll_nicbarr/split.h"

static int openmpi_barrier(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    return nicbarr_openmpi_barrier(comm, &module->openmpi);
}

/* Across nodes, set up the groups of NICs for those non-blocking collectives that have been called
 * often enough. This may also advance the setup of MPI_Barrier, or decline the communicator.
 * Returns true if the state of MPI_Barrier has changed; the caller then executes this barrier by
 * the function of the new state. */
static inline bool handle_pending(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const enum nicbarr_barrier_state state = module->barrier_state;
    nicbarr_data_check_pending(module, comm);
    return __builtin_expect(state != module->barrier_state, 0);
}

static int barrier_openmpi(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return openmpi_barrier((mca_coll_nicbarr_module_t *)module, comm);
}

int nicbarr_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    return nicbarr_barrier_functions[module->barrier_state](comm, base);
}

MYR_HOT static int barrier_slots(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    myr_group_barrier_slots(&((mca_coll_nicbarr_module_t *)module)->group);
    return OMPI_SUCCESS;
}

MYR_HOT static int barrier_counter(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    myr_group_barrier_counter(&((mca_coll_nicbarr_module_t *)module)->group);
    return OMPI_SUCCESS;
}

/* MPI_Barrier on one node before tuning. Uses the default algorithm until the number of barriers
 * justifies tuning. All members count the same barriers, so they start tuning in the same one. */
static int barrier_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (myr_epoch_reached(module->group.epoch, module->tune_at)) {
        return nicbarr_tune(module, comm);
    }
    myr_group_barrier(&module->group);
    return OMPI_SUCCESS;
}

/* MPI_Barrier with a provisional choice, whose contest continues after some barriers. All members
 * count the same barriers, so they continue in the same one. */
static int barrier_provisional(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (module->across && handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    if (nicbarr_tune_due(module)) {
        return nicbarr_tune_continue(module, comm);
    }
    if (NICBARR_OPENMPI == module->choice.algorithm) {
        return openmpi_barrier(module, comm);
    }
    if (module->across) {
        return nicbarr_nic_barrier(module, comm, &module->nic);
    }
    myr_group_barrier(&module->group);
    return OMPI_SUCCESS;
}

/* ---- periodically re-evaluated choices: barriers are counted ---- */

/* Count a barrier. Returns whether the next comparison is due. */
static inline bool is_comparison_due(mca_coll_nicbarr_module_t *module)
{
    return __builtin_expect(0 == --module->watch.until, 0);
}

MYR_HOT static int barrier_watched_slots(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (is_comparison_due(module)) {
        return nicbarr_watch_compare(module, comm);
    }
    myr_group_barrier_slots(&module->group);
    return OMPI_SUCCESS;
}

MYR_HOT static int barrier_watched_counter(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (is_comparison_due(module)) {
        return nicbarr_watch_compare(module, comm);
    }
    myr_group_barrier_counter(&module->group);
    return OMPI_SUCCESS;
}

static int barrier_watched_openmpi(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (module->across && handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    return is_comparison_due(module) ? nicbarr_watch_compare(module, comm)
                                     : openmpi_barrier(module, comm);
}

static int barrier_comparing(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (module->across && handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    return nicbarr_watch_barrier(module, comm);
}

static int barrier_first(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    nicbarr_set_up((mca_coll_nicbarr_module_t *)module, comm);
    return nicbarr_barrier(comm, module);
}

/* ---- across nodes ---- */

MYR_HOT static int barrier_nic(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    return handle_pending(module, comm) ? nicbarr_barrier(comm, base)
                                        : nicbarr_nic_barrier(module, comm, &module->nic);
}

MYR_HOT static int barrier_watched_nic(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    return is_comparison_due(module) ? nicbarr_watch_compare(module, comm)
                                     : nicbarr_nic_barrier(module, comm, &module->nic);
}

/* MPI_Barrier across nodes if there is no stored choice for this shape. Uses Open MPI's own
 * function until the number of barriers justifies measuring and the job can afford it. */
static int barrier_across_undecided(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    if (!myr_epoch_reached(module->barriers++, module->tune_at)) {
        return openmpi_barrier(module, comm);
    }
    return nicbarr_tune(module, comm);
}

/* MPI_Barrier across nodes if the best choice is known. Uses Open MPI's own function until the
 * number of barriers justifies joining groups. */
static int barrier_across_known(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const uint32_t wanted = (uint32_t)mca_coll_nicbarr_component.parameters.join_after;
    if (handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    if (module->barriers++ < wanted) {
        return openmpi_barrier(module, comm);
    }
    const int rc = nicbarr_across_install(module, comm);
    return OMPI_SUCCESS == rc ? nicbarr_barrier(comm, base) : rc;
}

/* The first state of MPI_Barrier across nodes. Uses Open MPI's own function until the number of
 * barriers justifies determining the usable NICs. All members count the same barriers, so they do
 * this in the same one. */
static int barrier_across_first(ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const bool forced = NICBARR_ALGORITHMS != component->forced.algorithm;
    const uint32_t wanted = forced ? 0 : (uint32_t)component->parameters.tune_after;
    if (handle_pending(module, comm)) {
        return nicbarr_barrier(comm, base);
    }
    nicbarr_cache_prefetch(comm, module->barriers);
    if (module->barriers < wanted) {
        if (0 == module->barriers++) {
            nicbarr_report_record(module, comm, NULL, nicbarr_too_few_barriers);
        }
        return openmpi_barrier(module, comm);
    }
    const int rc = nicbarr_across_leave_first(module, comm);
    return OMPI_SUCCESS == rc ? nicbarr_barrier(comm, base) : rc;
}

static int barrier_failed(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void)comm;
    (void)module;
    return NICBARR_PROC_FAILED;
}

/* ---- table ---- */

const mca_coll_base_module_barrier_fn_t nicbarr_barrier_functions[NICBARR_BARRIER_STATES] = {
    [NICBARR_BARRIER_FIRST] = barrier_first,
    [NICBARR_BARRIER_UNDECIDED] = barrier_undecided,
    [NICBARR_BARRIER_ACROSS_FIRST] = barrier_across_first,
    [NICBARR_BARRIER_ACROSS_UNDECIDED] = barrier_across_undecided,
    [NICBARR_BARRIER_ACROSS_KNOWN] = barrier_across_known,
    [NICBARR_BARRIER_PROVISIONAL] = barrier_provisional,
    [NICBARR_BARRIER_SLOTS] = barrier_slots,
    [NICBARR_BARRIER_COUNTER] = barrier_counter,
    [NICBARR_BARRIER_NIC] = barrier_nic,
    [NICBARR_BARRIER_WATCHED_SLOTS] = barrier_watched_slots,
    [NICBARR_BARRIER_WATCHED_COUNTER] = barrier_watched_counter,
    [NICBARR_BARRIER_WATCHED_NIC] = barrier_watched_nic,
    [NICBARR_BARRIER_WATCHED_OPENMPI] = barrier_watched_openmpi,
    [NICBARR_BARRIER_COMPARING] = barrier_comparing,
    [NICBARR_BARRIER_FAILED] = barrier_failed,
    [NICBARR_BARRIER_OPENMPI] = barrier_openmpi,
};
