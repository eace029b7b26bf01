/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Ibarrier and persistent barriers.
 *
 * A process arrives by storing the epoch in its own word, and a barrier is complete when the words
 * of all members have reached its epoch. No process has to act between these two points. Therefore
 * the operation overlaps completely with computation, any number of barriers may be outstanding,
 * and a process that makes no MPI calls does not delay others. Persistent barriers may be started
 * in a different order on each process, so each of them has its own record or, across nodes, its
 * own group of NICs.
 *
 * Across nodes, MPI_Ibarrier uses Open MPI's own function until a blocking collective has set up a
 * group for it. MPI_Ibarrier cannot do this itself: the setup has to wait for messages, and
 * MPI_Ibarrier must not block. */
#include "coll_nicbarr/barrier.h"

#include <stdlib.h>

#include "coll_nicbarr/across.h"
#include "coll_nicbarr/groups.h"
#include "coll_nicbarr/members.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/requests.h"
#include "coll_nicbarr/setup.h"
#include "coll_nicbarr/split.h"

/* ---- on one node ---- */

static void arrive_in_barrier(nicbarr_request_t *request)
{
    struct myr_group *own = &request->of.barrier.own;
    myr_group_arrive(NULL == own->record ? &request->module->group : own,
                     &request->of.barrier.arrival);
}

static bool test_barrier(nicbarr_request_t *request)
{
    return myr_arrival_test(&request->of.barrier.arrival);
}

static void release_record(nicbarr_request_t *request)
{
    if (NULL != request->of.barrier.own.record) {
        myr_record_leave(mca_coll_nicbarr_component.segment, request->of.barrier.own.record);
    }
}

static const struct nicbarr_operation on_one_node = {arrive_in_barrier, test_barrier, NULL,
                                                     release_record};

/* ---- across nodes ---- */

static struct myr_nic_group *group_of(const nicbarr_request_t *request)
{
    return NULL != request->of.barrier.nic ? request->of.barrier.nic : &request->module->split;
}

static void arrive_across(nicbarr_request_t *request)
{
    request->of.barrier.epoch = myr_nic_group_arrive(group_of(request));
}

static bool test_across(nicbarr_request_t *request)
{
    const struct myr_nic_group *group = group_of(request);
    const bool done = myr_nic_group_test(group, request->of.barrier.epoch);
    if (done && request->reminded) {
        nicbarr_request_wait_ended(request, group);
    }
    return done;
}

static bool remind_across(nicbarr_request_t *request, bool check)
{
    const struct nicbarr_wait wait = {.epoch = request->of.barrier.epoch};
    return nicbarr_request_remind(request, group_of(request), wait, check);
}

static void release_group(nicbarr_request_t *request)
{
    if (NULL != request->of.barrier.nic) {
        nicbarr_group_leave(request->of.barrier.nic);
        free(request->of.barrier.nic);
    }
}

static const struct nicbarr_operation across = {arrive_across, test_across, remind_across,
                                                release_group};

/* Count a call that is served by Open MPI's own function. After enough of these calls, the next
 * blocking collective sets up a group. */
static void record_call(mca_coll_nicbarr_module_t *module)
{
    const mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    const bool forced = NICBARR_ALGORITHMS != component->forced.algorithm;
    const uint32_t wanted = forced ? 0 : module->tune_at;
    if (module->across && !module->declined && myr_epoch_reached(module->ibarriers++, wanted)) {
        module->pending |= NICBARR_PENDING_BARRIER;
    }
}

/* ---- the MPI functions ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **handle,
                     mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (NICBARR_BARRIER_FAILED == module->barrier_state) {
        *handle = MPI_REQUEST_NULL;
        return NICBARR_PROC_FAILED;
    }
    if (NULL == module->group.record && !nicbarr_set_up(module, comm)) {
        record_call(module);
        return module->ibarrier.function(comm, handle, module->ibarrier.module);
    }
    nicbarr_request_t *request =
        nicbarr_request_new(module->across ? &across : &on_one_node, module, comm, false);
    request->of.barrier.own.record = NULL;
    request->of.barrier.nic = NULL;
    nicbarr_request_start(request);
    *handle = &request->super;
    return OMPI_SUCCESS;
}

/* ---- persistent barriers: MPI_Barrier_init may set up what it needs ---- */

/* The resources of a persistent barrier. If both are NULL, it uses Open MPI's own function. */
struct resources {
    struct myr_record *record;
    struct myr_nic_group *nic;
};

static void get_own_record(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct resources *own)
{
    if (nicbarr_set_up(module, comm)) {
        const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
        const uint32_t size = module->group.size;
        own->record = myr_record_join(mca_coll_nicbarr_component.segment, &key, size,
                                      myr_group_arrival_bytes(size), 0, NULL);
    }
}

/* Join a group with the same schedule as MPI_Ibarrier's group. MPI_Barrier's choice is not used,
 * because it may be Open MPI's own function by now. */
static int join_own_group(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct resources *own)
{
    own->nic = nicbarr_allocate(comm, sizeof(*own->nic));
    *own->nic = (struct myr_nic_group){.ops = NULL};
    struct nicbarr_joining joining = {.choice = module->split_choice, .group = own->nic};
    const int rc = nicbarr_across_join_one(module, comm, &joining);
    if (!myr_nic_group_joined(own->nic)) {
        free(own->nic);
        own->nic = NULL;
    }
    return rc;
}

static int get_own_group(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         struct resources *own)
{
    const int rc = nicbarr_across_get_split(module, comm);
    return OMPI_SUCCESS == rc && !module->declined && myr_nic_group_joined(&module->split)
               ? join_own_group(module, comm, own)
               : rc;
}

int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                         mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct resources own = {NULL, NULL};
    int rc = OMPI_SUCCESS;
    if (module->across) {
        rc = get_own_group(module, comm, &own);
    } else {
        get_own_record(module, comm, &own);
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (NULL == own.record && NULL == own.nic) {
        return module->barrier_init.function(comm, info, handle, module->barrier_init.module);
    }
    nicbarr_request_t *request =
        nicbarr_request_new(module->across ? &across : &on_one_node, module, comm, true);
    request->of.barrier.own.record = NULL;
    request->of.barrier.nic = own.nic;
    if (NULL != own.record) {
        myr_group_init(&request->of.barrier.own, own.record, &mca_coll_nicbarr_component.waiter,
                       module->group.size, module->group.rank);
    }
    *handle = &request->super;
    return OMPI_SUCCESS;
}
