/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init and MPI_Reduce across nodes, where NICs
 * exchange the contributions of the processes (carrier.h).
 *
 * As on one node, nicbarr serves predefined operations on predefined types. It also serves
 * user-defined operations on types of any layout if their elements are small; the elements are sent
 * packed. Each process combines the partial results of all nodes and therefore calls the user's
 * function more often than Open MPI would, so large communicators are excluded. MPI_Iallreduce
 * leaves user-defined operations to Open MPI, because a request must not run a function that may
 * acquire locks of the program.
 *
 * MPI_Iallreduce must not wait for other processes, so it cannot set up a carrier itself. If it is
 * called often, the next blocking collective on the communicator does so on its behalf.
 * MPI_Allreduce_init may wait, and sets up its own carrier. */
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/persistent.h"
#include "coll_nicbarr/data/rooted.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/requests.h"
#include "libmyr/groups/nic_bcast.h"

enum { USER_OP_RANKS = 32 /* maximum for user-defined operations */ };

/* Returns the bytes of a vector, or 0 if NICs cannot carry it. */
static size_t carriable_bytes(nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
                              ompi_communicator_t *comm)
{
    const bool too_much =
        nicbarr_is_user_defined(op) && (ompi_comm_size(comm) > USER_OP_RANKS ||
                                        nicbarr_packed_bytes(1, type) > NICBARR_ELEMENT_MOST);
    return too_much ? 0 : nicbarr_reducible(count, type, op);
}

static inline int carry_epoch(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    struct myr_nic_group *group = &carrier->group;
    nicbarr_carrier_arrive(carrier, carried);
    if (__builtin_expect(!myr_nic_group_wait(group, carried->epoch, NICBARR_CHECK_US), 0)) {
        const int rc = nicbarr_overdue_wait(module, comm, group, carried->epoch);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (NULL != carrier->back) {
        return nicbarr_rooted_finish(module, comm, carrier, carried);
    }
    nicbarr_carrier_finish(carrier, carried);
    return OMPI_SUCCESS;
}

int nicbarr_carry(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                  struct nicbarr_carrier *carrier, struct nicbarr_carried *carried)
{
    while (0 != carried->left) {
        const int rc = carry_epoch(module, comm, carrier, carried);
        if (OMPI_SUCCESS != rc) {
            ++carrier->served; /* later operations fail as well, instead of waiting for this one */
            return rc;
        }
    }
    return carried->rc;
}

/* Reduce a vector of a type with gaps, in packed form. */
static __attribute__((noinline)) int carry_packed(mca_coll_nicbarr_module_t *module,
                                                  ompi_communicator_t *comm,
                                                  struct nicbarr_carrier *carrier, const void *from,
                                                  void *to, bool reads, nicbarr_count_t count,
                                                  ompi_datatype_t *type, ompi_op_t *op)
{
    const size_t bytes = nicbarr_packed_bytes(count, type);
    struct nicbarr_operands gaps;
    struct nicbarr_carried carried;
    if (!nicbarr_operands_open(&gaps, count, type, bytes)) {
        nicbarr_end_without_memory(comm);
    }
    const int packing =
        nicbarr_pack_elements(MPI_IN_PLACE == from ? to : from, count, type, gaps.more, bytes);
    /* This process participates even after an error, because the others wait for it. */
    nicbarr_carrier_begin(carrier, &carried, gaps.more, gaps.more, reads, count, type, op, &gaps);
    int rc = nicbarr_carry(module, comm, carrier, &carried);
    rc = OMPI_SUCCESS == rc ? packing : rc;
    if (OMPI_SUCCESS == rc && reads) {
        rc = nicbarr_unpack_elements(gaps.more, bytes, to, count, type);
    }
    nicbarr_operands_close(&gaps);
    return rc;
}

int nicbarr_carry_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op)
{
    struct nicbarr_carried carried;
    /* A carrier executes its operations in the order in which they were begun, so first wait for
     * the outstanding non-blocking ones. They will complete, because all other processes have also
     * begun them. */
    while (0 != myr_load_acquire(&carrier->outstanding)) {
        opal_progress();
    }
    if (!nicbarr_is_dense(type)) {
        return carry_packed(module, comm, carrier, from, to, reads, count, type, op);
    }
    nicbarr_carrier_begin(carrier, &carried, from, to, reads, count, type, op, NULL);
    return nicbarr_carry(module, comm, carrier, &carried);
}

static struct nicbarr_carrier *carrier_of(const mca_coll_nicbarr_module_t *module,
                                          enum nicbarr_collective collective, size_t bytes)
{
    return nicbarr_data_carrier(module, collective, nicbarr_size_class(bytes));
}

MYR_HOT int nicbarr_allreduce_across(const void *from, void *to, nicbarr_count_t count,
                                     ompi_datatype_t *type, ompi_op_t *op,
                                     ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = carriable_bytes(count, type, op, comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes ||
        !nicbarr_data_serves(module, comm, NICBARR_ALLREDUCE, bytes, NICBARR_NO_ROOT)) {
        return nicbarr_openmpi_allreduce(from, to, count, type, op, comm, &module->openmpi);
    }
    return nicbarr_carry_reduction(module, comm, carrier_of(module, NICBARR_ALLREDUCE, bytes), from,
                                   to, true, count, type, op);
}

int nicbarr_reduce_across(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                          ompi_op_t *op, int root, ompi_communicator_t *comm,
                          mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = carriable_bytes(count, type, op, comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes || !nicbarr_data_serves(module, comm, NICBARR_REDUCE, bytes, root)) {
        return nicbarr_openmpi_reduce(from, to, count, type, op, root, comm, &module->openmpi);
    }
    return nicbarr_carry_reduction(module, comm, carrier_of(module, NICBARR_REDUCE, bytes), from,
                                   to, root == ompi_comm_rank(comm), count, type, op);
}

/* ---- MPI_Iallreduce ---- */

/* Returns the bytes of a vector, or 0 if a request cannot carry it. In contrast to
 * carriable_bytes(), vectors that must be packed are excluded, and so are user-defined functions,
 * which a request must not run. */
static size_t carriable_by_request(nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
                                   ompi_communicator_t *comm)
{
    return nicbarr_is_packed(type, op) ? 0 : carriable_bytes(count, type, op, comm);
}

static void begin_allreduce_across(nicbarr_request_t *request)
{
    struct nicbarr_carrier *carrier = request->of.across.carrier;
    struct nicbarr_carried *given = &request->of.across.carried;
    nicbarr_carrier_begin(carrier, given, given->from, given->to, true, (int)given->left,
                          given->type, given->op, NULL);
    request->of.across.returning = (struct nicbarr_returning){.begun = false};
    atomic_fetch_add_explicit(&carrier->outstanding, 1, memory_order_relaxed);
}

static void end_allreduce_across(nicbarr_request_t *request)
{
    atomic_fetch_sub_explicit(&request->of.across.carrier->outstanding, 1, memory_order_release);
}

/* Returns the group for which the request waits at present. */
static struct myr_nic_group *group_of(const nicbarr_request_t *request)
{
    const struct nicbarr_carrier *carrier = request->of.across.carrier;
    return request->of.across.returning.begun ? &carrier->back->group
                                              : (struct myr_nic_group *)&carrier->group;
}

static bool progress_allreduce(nicbarr_request_t *request)
{
    struct nicbarr_carrier *carrier = request->of.across.carrier;
    struct nicbarr_carried *carried = &request->of.across.carried;
    return NULL == carrier->back
               ? nicbarr_carrier_progress(carrier, carried)
               : nicbarr_rooted_progress(request->module, request->super.req_mpi_object.comm,
                                         carrier, carried, &request->of.across.returning);
}

static bool test_allreduce_across(nicbarr_request_t *request)
{
    const struct myr_nic_group *group = group_of(request);
    const bool complete = progress_allreduce(request);
    if (request->reminded && (complete || group != group_of(request))) {
        nicbarr_request_wait_ended(request, group);
    }
    if (!complete) {
        return false;
    }
    request->super.req_status.MPI_ERROR = request->of.across.carried.rc;
    end_allreduce_across(request);
    return true;
}

/* Reductions of a carrier are executed one after the other, so only the oldest one waits for the
 * network. */
static bool remind_allreduce_across(nicbarr_request_t *request, bool check)
{
    struct nicbarr_carrier *carrier = request->of.across.carrier;
    const struct nicbarr_returning *returning = &request->of.across.returning;
    const struct nicbarr_wait wait = {
        .epoch = request->of.across.carried.epoch,
        .block = returning->begun && returning->bcast.sent,
    };
    if (request->of.across.carried.ticket != carrier->served ||
        !nicbarr_request_remind(request, group_of(request), wait, check)) {
        return false;
    }
    if (returning->begun) {
        ++carrier->back->served;
        nicbarr_rooted_fail(carrier);
    }
    ++carrier->served;
    end_allreduce_across(request);
    return true;
}

static const struct nicbarr_operation across = {begin_allreduce_across, test_allreduce_across,
                                                remind_allreduce_across, NULL};

int nicbarr_iallreduce_across(const void *from, void *to, nicbarr_count_t count,
                              ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                              ompi_request_t **handle, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = carriable_by_request(count, type, op, comm);
    const bool own = nicbarr_from_progress(bytes) && (MPI_MAX == op || MPI_MIN == op);
    struct nicbarr_carrier *carrier =
        nicbarr_data_carrier_for_call(module, NICBARR_ALLREDUCE, own ? 0 : bytes, NICBARR_NO_ROOT);
    if (NULL == carrier) {
        return module->iallreduce.function(from, to, count, type, op, comm, handle,
                                           module->iallreduce.module);
    }
    nicbarr_request_t *request = nicbarr_request_new(&across, module, comm, false);
    request->of.across.carrier = carrier;
    request->of.across.carried = (struct nicbarr_carried){
        .from = from, .to = to, .op = op, .type = type, .left = (uint32_t)count};
    nicbarr_request_start(request);
    *handle = &request->super;
    return OMPI_SUCCESS;
}

/* ---- MPI_Allreduce_init ---- */

static void begin_persistent(nicbarr_request_t *request)
{
    const struct nicbarr_persistent *p = request->persistent;
    request->of.across.carried = (struct nicbarr_carried){
        .from = p->from, .to = p->to, .op = p->op, .type = p->type, .left = (uint32_t)p->count};
    begin_allreduce_across(request);
}

static const struct nicbarr_operation persistent_across = {begin_persistent, test_allreduce_across,
                                                           remind_allreduce_across, NULL};

int nicbarr_allreduce_init_across(const void *from, void *to, nicbarr_count_t count,
                                  ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                                  MPI_Info info, ompi_request_t **handle,
                                  mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_persistent what = {
        .from = from, .to = to, .count = count, .type = type, .op = op};
    const int rc =
        nicbarr_data_own_carrier(module, comm, NICBARR_ALLREDUCE,
                                 carriable_by_request(count, type, op, comm), &what.carrier);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!myr_nic_group_joined(&what.carrier.group)) {
        return module->allreduce_init.function(from, to, count, type, op, comm, info, handle,
                                               module->allreduce_init.module);
    }
    nicbarr_request_t *request = nicbarr_persistent_new(&persistent_across, module, comm, &what);
    request->of.across.carrier = &request->persistent->carrier;
    *handle = &request->super;
    return OMPI_SUCCESS;
}
