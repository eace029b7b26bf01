/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allreduce, MPI_Iallreduce, MPI_Reduce.
 *
 * nicbarr does those of MPI's own operations on MPI's own types. There all members have the same
 * type, and see the same size. The rest is Open MPI's. Open MPI's reductions of one integer that
 * find the context id of a new communicator are calls of MPI_Iallreduce's function.
 */
#include "coll_nicbarr/data.h"
#include "coll_nicbarr/requests.h"

/* The bytes of a vector that nicbarr can reduce; 0: it cannot. */
static size_t reducible(int count, ompi_datatype_t *type, ompi_op_t *op)
{
    ptrdiff_t lower, extent;
    if (!ompi_op_is_intrinsic(op) || !ompi_datatype_is_predefined(type)) {
        return 0;
    }
    (void)ompi_datatype_get_extent(type, &lower, &extent);
    return 0 == lower && extent > 0 && extent <= MYR_SLOT_BYTES && count > 0
               ? (size_t)count * (size_t)extent
               : 0;
}

static inline void reduce_now(struct nicbarr_reducer *reducer, const void *from, void *to,
                              int count, ompi_datatype_t *type, ompi_op_t *op, bool reads)
{
    struct nicbarr_reduction reduction;
    while (0 != myr_observe(&reducer->outstanding)) {
        opal_progress(); /* they come first, and the others have begun them */
    }
    nicbarr_reduction_begin(reducer, &reduction, from, to, count, type, op, reads);
    nicbarr_reduction_finish(reducer, &reduction);
}

MYR_HOT int nicbarr_allreduce(const void *from, void *to, int count, ompi_datatype_t *type,
                              ompi_op_t *op, ompi_communicator_t *comm,
                              mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = reducible(count, type, op);
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_ALLREDUCE, bytes)) {
        return module->allreduce.function(from, to, count, type, op, comm,
                                          module->allreduce.module);
    }
    reduce_now(&module->reducer, from, to, count, type, op, true);
    return OMPI_SUCCESS;
}

MYR_HOT int nicbarr_reduce(const void *from, void *to, int count, ompi_datatype_t *type,
                           ompi_op_t *op, int root, ompi_communicator_t *comm,
                           mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = reducible(count, type, op);
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_REDUCE, bytes)) {
        return module->reduce.function(from, to, count, type, op, root, comm,
                                       module->reduce.module);
    }
    reduce_now(&module->reducer, from, to, count, type, op, root == ompi_comm_rank(comm));
    return OMPI_SUCCESS;
}

/* ---- MPI_Iallreduce ---- */

enum { NOT_WORTH_IT = 8 /* calls: two or three communicators */ };

static void begin(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = &request->module->reducer;
    struct nicbarr_reduction *given = &request->of.reduction;
    nicbarr_reduction_begin(reducer, given, given->from, given->to, (int)given->unread, given->type,
                            given->op, true);
    atomic_fetch_add_explicit(&reducer->outstanding, 1, memory_order_relaxed);
}

static bool test(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = &request->module->reducer;
    if (!nicbarr_reduction_go_on(reducer, &request->of.reduction)) {
        return false;
    }
    atomic_fetch_sub_explicit(&reducer->outstanding, 1, memory_order_release);
    return true;
}

static const struct nicbarr_operation reduce = {begin, test, NULL, NULL};

/* Non-blocking reductions are not measured: Open MPI's own takes several messages, each of which
 * waits for somebody to make progress. But a communicator that only one or two others are made from
 * is not worth the memory. All members count the same calls. */
static bool worth_it(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm)
{
    const bool forced =
        NICBARR_WAY_OURS == mca_coll_nicbarr_component.forced_ways[NICBARR_ALLREDUCE];
    return (forced || module->iallreduces >= NOT_WORTH_IT ||
            ++module->iallreduces == NOT_WORTH_IT) &&
           nicbarr_data_set_up(module, comm, NICBARR_ALLREDUCE);
}

int nicbarr_iallreduce(const void *from, void *to, int count, ompi_datatype_t *type, ompi_op_t *op,
                       ompi_communicator_t *comm, ompi_request_t **handle,
                       mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = reducible(count, type, op);
    if (0 == bytes || bytes > MYR_EXCHANGE_WINDOW * MYR_SLOT_BYTES || !worth_it(module, comm)) {
        return module->iallreduce.function(from, to, count, type, op, comm, handle,
                                           module->iallreduce.module);
    }
    nicbarr_request_t *request = nicbarr_request_new(&reduce, module, comm, false);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->of.reduction = (struct nicbarr_reduction){
        .from = from, .to = to, .op = op, .type = type, .unread = (uint32_t)count};
    nicbarr_request_start(request);
    *handle = &request->super;
    return OMPI_SUCCESS;
}
