/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce, MPI_Reduce, and their non-blocking and persistent variants, on one node.
 *
 * Predefined operations apply to predefined types only, so all members have the same type and
 * compute the same size. With user-defined operations, only the type signature is known to be the
 * same on all members (user_op.h).
 *
 * Open MPI itself also calls the function of MPI_Iallreduce, with a single integer, to agree on the
 * context id of a new communicator. */
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/memory.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/persistent.h"
#include "coll_nicbarr/data/scattered.h"
#include "coll_nicbarr/requests.h"

static __attribute__((noinline)) void
reduce_packed(struct nicbarr_reducer *reducer, const void *from, void *to, nicbarr_count_t count,
              ompi_datatype_t *type, ompi_op_t *op, int root, ompi_communicator_t *comm)
{
    struct nicbarr_user_op user;
    nicbarr_user_op_open(&user, comm, to, count, type, op, root, NULL);
    nicbarr_user_op_load(&user, from);
    nicbarr_user_op_begin(reducer, &user);
    nicbarr_user_op_finish(reducer, &user);
    nicbarr_user_op_close(&user);
}

static inline void reduce_blocking(struct nicbarr_reducer *reducer, const void *from, void *to,
                                   nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
                                   int root, ompi_communicator_t *comm)
{
    struct nicbarr_reduction reduction;
    if (nicbarr_is_packed(type, op)) {
        reduce_packed(reducer, from, to, count, type, op, root, comm);
        return;
    }
    nicbarr_reduction_init(&reduction, from, to, count, type, op,
                           NICBARR_NO_ROOT == root || root == (int)reducer->exchange.rank);
    if (NICBARR_NO_ROOT == root && nicbarr_scatters(reducer, reduction.extent * (size_t)count)) {
        nicbarr_scattered_finish(reducer, &reduction);
        return;
    }
    if (root == (int)reducer->exchange.rank && MPI_IN_PLACE != from &&
        reduction.extent * (size_t)count > NICBARR_EXCHANGE_MOST) {
        nicbarr_reduction_keep_own(&reduction);
    }
    (void)nicbarr_reduction_begin(reducer, &reduction);
    nicbarr_reduction_finish(reducer, &reduction);
}

MYR_HOT int nicbarr_allreduce(const void *from, void *to, nicbarr_count_t count,
                              ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                              mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = nicbarr_reducible(count, type, op);
    const enum nicbarr_collective which =
        nicbarr_is_user_defined(op) ? NICBARR_ALLREDUCE_USER_OP : NICBARR_ALLREDUCE;
    if (0 == bytes || !nicbarr_data_serves(module, comm, which, bytes, NICBARR_NO_ROOT)) {
        return nicbarr_openmpi_allreduce(from, to, count, type, op, comm, &module->openmpi);
    }
    reduce_blocking(nicbarr_data_reducer(module, bytes), from, to, count, type, op, NICBARR_NO_ROOT,
                    comm);
    return OMPI_SUCCESS;
}

MYR_HOT int nicbarr_reduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                           ompi_op_t *op, int root, ompi_communicator_t *comm,
                           mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = nicbarr_reducible(count, type, op);
    const enum nicbarr_collective which =
        nicbarr_is_user_defined(op) ? NICBARR_REDUCE_USER_OP : NICBARR_REDUCE;
    if (0 == bytes || !nicbarr_data_serves(module, comm, which, bytes, root)) {
        return nicbarr_openmpi_reduce(from, to, count, type, op, root, comm, &module->openmpi);
    }
    reduce_blocking(nicbarr_data_reducer(module, bytes), from, to, count, type, op, root, comm);
    return OMPI_SUCCESS;
}

/* ---- MPI_Iallreduce, MPI_Ireduce ---- */

static void begin_reduction(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    (void)nicbarr_reduction_begin(reducer, &request->of.reduction);
}

static bool test_reduction(nicbarr_request_t *request)
{
    return nicbarr_reduction_progress(nicbarr_reducer_of(request), &request->of.reduction);
}

static const struct nicbarr_operation reduce = {begin_reduction, test_reduction, NULL, NULL};

/* ---- MPI_Iallreduce, MPI_Ireduce with user-defined operations, or types with gaps ---- */

static void begin_packed_reduction(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    request->of.user.started = false;
    nicbarr_user_op_begin(reducer, &request->of.user.reduction);
}

/* Advance the request. The MPI call that starts a request also calls this function, which then only
 * writes this process's data. It must not run a user-defined function within that call, because the
 * program may hold a lock that the user-defined function acquires. */
static bool test_packed_reduction(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    struct nicbarr_user_op *user = &request->of.user.reduction;
    if (!request->of.user.started) {
        request->of.user.started = true;
        nicbarr_reduction_write(reducer, &user->rounds);
        return false;
    }
    return nicbarr_user_op_progress(reducer, user);
}

static void free_packed_reduction(nicbarr_request_t *request)
{
    nicbarr_user_op_close(&request->of.user.reduction);
}

static const struct nicbarr_operation packed_reduction = {
    begin_packed_reduction, test_packed_reduction, NULL, free_packed_reduction};

static void start_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const void *from, void *to, nicbarr_count_t count,
                            ompi_datatype_t *type, ompi_op_t *op, int root, ompi_request_t **handle)
{
    const bool packed = nicbarr_is_packed(type, op);
    nicbarr_request_t *request =
        nicbarr_request_new(packed ? &packed_reduction : &reduce, module, comm, false);
    if (packed) {
        struct nicbarr_user_op *user = &request->of.user.reduction;
        nicbarr_user_op_open(user, comm, to, count, type, op, root, nicbarr_requests_lock());
        nicbarr_user_op_load(user, from);
    } else {
        nicbarr_reduction_init(&request->of.reduction, from, to, count, type, op,
                               NICBARR_NO_ROOT == root || root == ompi_comm_rank(comm));
    }
    nicbarr_request_start(request);
    *handle = &request->super;
}

int nicbarr_iallreduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                       ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **handle,
                       mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (!nicbarr_data_small(nicbarr_reducible(count, type, op), comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_ALLREDUCE)) {
        return module->iallreduce.function(from, to, count, type, op, comm, handle,
                                           module->iallreduce.module);
    }
    start_reduction(module, comm, from, to, count, type, op, NICBARR_NO_ROOT, handle);
    return OMPI_SUCCESS;
}

int nicbarr_ireduce(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                    ompi_op_t *op, int root, ompi_communicator_t *comm, ompi_request_t **handle,
                    mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    if (!nicbarr_data_small(nicbarr_reducible(count, type, op), comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_REDUCE)) {
        return module->ireduce.function(from, to, count, type, op, root, comm, handle,
                                        module->ireduce.module);
    }
    start_reduction(module, comm, from, to, count, type, op, root, handle);
    return OMPI_SUCCESS;
}

/* ---- MPI_Allreduce_init, MPI_Reduce_init ---- */

static void begin_persistent(nicbarr_request_t *request)
{
    const struct nicbarr_persistent *p = request->persistent;
    nicbarr_reduction_init(&request->of.reduction, p->from, p->to, p->count, p->type, p->op,
                           NICBARR_NO_ROOT == p->root || p->root == (int)p->reducer.exchange.rank);
    begin_reduction(request);
}

static const struct nicbarr_operation persistent_reduction = {begin_persistent, test_reduction,
                                                              NULL, NULL};

static void begin_packed_persistent(nicbarr_request_t *request)
{
    nicbarr_user_op_load(&request->of.user.reduction, request->persistent->from);
    begin_packed_reduction(request);
}

static const struct nicbarr_operation persistent_packed_reduction = {
    begin_packed_persistent, test_packed_reduction, NULL, free_packed_reduction};

/* Create a persistent reduction from `what`, whose exchange has been allocated. */
static void make_persistent_reduction(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                      const struct nicbarr_persistent *what,
                                      ompi_request_t **handle)
{
    const bool packed = nicbarr_is_packed(what->type, what->op);
    nicbarr_request_t *request = nicbarr_persistent_new(
        packed ? &persistent_packed_reduction : &persistent_reduction, module, comm, what);
    if (packed) {
        nicbarr_user_op_open(&request->of.user.reduction, comm, what->to, what->count, what->type,
                             what->op, what->root, nicbarr_requests_lock());
    }
    *handle = &request->super;
}

int nicbarr_allreduce_init(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                           ompi_op_t *op, ompi_communicator_t *comm, MPI_Info info,
                           ompi_request_t **handle, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_persistent what = {
        .from = from, .to = to, .count = count, .root = NICBARR_NO_ROOT, .type = type, .op = op};
    if (!nicbarr_data_small(nicbarr_reducible(count, type, op), comm) ||
        !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
        return module->allreduce_init.function(from, to, count, type, op, comm, info, handle,
                                               module->allreduce_init.module);
    }
    make_persistent_reduction(module, comm, &what, handle);
    return OMPI_SUCCESS;
}

int nicbarr_reduce_init(const void *from, void *to, nicbarr_count_t count, ompi_datatype_t *type,
                        ompi_op_t *op, int root, ompi_communicator_t *comm, MPI_Info info,
                        ompi_request_t **handle, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_persistent what = {
        .from = from, .to = to, .count = count, .root = root, .type = type, .op = op};
    if (!nicbarr_data_small(nicbarr_reducible(count, type, op), comm) ||
        !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
        return module->reduce_init.function(from, to, count, type, op, root, comm, info, handle,
                                            module->reduce_init.module);
    }
    make_persistent_reduction(module, comm, &what, handle);
    return OMPI_SUCCESS;
}
