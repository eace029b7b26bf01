/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Ibarrier and persistent barriers.
 *
 * To arrive is one store to a word of one's own. A barrier is complete when all members' words have
 * reached its epoch. Between arrival and completion nobody has anything to do. So the operation
 * overlaps wholly with computation, any number may be outstanding, and a process that does not call
 * MPI slows nobody down. Different processes may start several persistent barriers in different
 * order, so each of those has a record of its own. Across nodes the NICs play MPI_Ibarrier, and
 * persistent barriers are Open MPI's own.
 */
#include "coll_nicbarr/barrier.h"
#include "coll_nicbarr/module.h"
#include "coll_nicbarr/overdue.h"
#include "coll_nicbarr/requests.h"

/* ---- on one node ---- */

static void arrive(nicbarr_request_t *request)
{
    struct myr_group *own = &request->of.barrier.own;
    myr_group_arrive(NULL == own->record ? &request->module->group : own,
                     &request->of.barrier.arrival);
}

static bool test(nicbarr_request_t *request)
{
    return myr_arrival_test(&request->of.barrier.arrival);
}

static void drop(nicbarr_request_t *request)
{
    if (NULL != request->of.barrier.own.record) {
        myr_record_leave(mca_coll_nicbarr_component.segment, request->of.barrier.own.record);
    }
}

static const struct nicbarr_operation on_one_node = {arrive, test, NULL, drop};

/* ---- across nodes ---- */

static void arrive_across(nicbarr_request_t *request)
{
    request->of.barrier.looked = false;
    request->of.barrier.epoch = myr_nic_group_arrive(&request->module->split);
}

static bool test_across(nicbarr_request_t *request)
{
    const bool done = myr_nic_group_test(&request->module->split, request->of.barrier.epoch);
    if (done && request->of.barrier.looked) {
        nicbarr_overdue_end(request->super.req_mpi_object.comm, &request->module->split,
                            &request->of.barrier.wait);
    }
    return done;
}

/* It takes a while: ask for what is missing, and once in a second see whether it will ever come. */
static bool remind_across(nicbarr_request_t *request, bool look)
{
    struct myr_nic_group *group = &request->module->split;
    myr_nic_group_remind(group);
    if (!request->of.barrier.looked) {
        request->of.barrier.looked = true;
        request->of.barrier.wait =
            (struct nicbarr_wait){nicbarr_now_ms(), request->of.barrier.epoch, false};
    }
    if (look || myr_nic_group_over(group)) {
        request->super.req_status.MPI_ERROR = nicbarr_overdue_look(
            request->module, request->super.req_mpi_object.comm, group, &request->of.barrier.wait);
    }
    return OMPI_SUCCESS != request->super.req_status.MPI_ERROR;
}

static const struct nicbarr_operation across = {arrive_across, test_across, remind_across, NULL};

/* ---- what MPI calls ---- */

int nicbarr_ibarrier(ompi_communicator_t *comm, ompi_request_t **handle,
                     mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (NULL == module->group.record && !nicbarr_set_up(module, comm)) {
        return module->ibarrier.function(comm, handle, module->ibarrier.module);
    }
    nicbarr_request_t *request =
        nicbarr_request_new(module->across ? &across : &on_one_node, module, comm, false);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->of.barrier.own.record = NULL;
    nicbarr_request_start(request);
    *handle = &request->super;
    return OMPI_SUCCESS;
}

int nicbarr_ibarrier_failed(ompi_communicator_t *comm, ompi_request_t **handle,
                            mca_coll_base_module_t *base)
{
    *handle = MPI_REQUEST_NULL;
    return nicbarr_barrier_failed(comm, base);
}

int nicbarr_barrier_init(ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                         mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_component_t *component = &mca_coll_nicbarr_component;
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct myr_record *record = NULL;
    if (!module->across && nicbarr_set_up(module, comm)) {
        const struct myr_key key = nicbarr_record_key(module, comm, ++module->persistent);
        const uint32_t size = module->group.size;
        record =
            myr_record_join(component->segment, &key, size, myr_group_arrival_bytes(size), 0, NULL);
    }
    if (NULL == record) {
        return module->barrier_init.function(comm, info, handle, module->barrier_init.module);
    }
    nicbarr_request_t *request = nicbarr_request_new(&on_one_node, module, comm, true);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    myr_group_init(&request->of.barrier.own, record, &component->waiter, module->group.size,
                   module->group.rank);
    *handle = &request->super;
    return OMPI_SUCCESS;
}
