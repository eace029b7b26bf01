/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allgather and MPI_Gather, on one node and across nodes; on one node also MPI_Iallgather,
 * MPI_Igather, MPI_Allgather_init and MPI_Gather_init.
 *
 * On one node, each process writes its block into the rounds of the communicator's exchange, as in
 * a reduction. Then all processes read all blocks, or, in MPI_Gather, only the root does. Across
 * nodes, NICs carry the blocks (carrier.h). The types of the send and receive buffers may differ
 * from each other and between processes; only the packed size of a block is the same everywhere
 * (packing.h). */
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/memory.h"

#include <stdlib.h>

#include "coll_nicbarr/data/carrier.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/persistent.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/requests.h"

/* Gather by the exchange, on one node. */
static void gather_by_exchange(struct nicbarr_reducer *reducer, const void *own, uint8_t *all,
                               size_t block, bool gets)
{
    struct nicbarr_consumer consumer = nicbarr_consumer_of_all(all, block);
    struct nicbarr_reduction rounds;
    nicbarr_reduction_init_consumer(&rounds, own, block, &consumer, gets);
    (void)nicbarr_reduction_begin(reducer, &rounds);
    nicbarr_reduction_finish(reducer, &rounds);
}

int nicbarr_carry_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            struct nicbarr_carrier *carrier, const void *from, void *to, bool reads,
                            size_t bytes)
{
    struct nicbarr_carried carried;
    nicbarr_carrier_begin_gathering(carrier, &carried, from, to, reads, bytes);
    return nicbarr_carry(module, comm, carrier, &carried);
}

/* A call of MPI_Allgather or MPI_Gather. */
struct gathering {
    mca_coll_nicbarr_module_t *module;
    ompi_communicator_t *comm;
    enum nicbarr_collective collective;
    bool gets; /* this process receives the blocks */
    size_t block;
};

static int gather_packed(const struct gathering *g, const void *own, uint8_t *all)
{
    if (!g->module->across) {
        gather_by_exchange(nicbarr_data_reducer(g->module, g->block), own, all, g->block, g->gets);
        return OMPI_SUCCESS;
    }
    const uint32_t size_class = nicbarr_size_class(g->block * (size_t)ompi_comm_size(g->comm));
    return nicbarr_carry_gathering(g->module, g->comm,
                                   nicbarr_data_carrier(g->module, g->collective, size_class), own,
                                   all, g->gets, g->block);
}

/* Gather blocks if one of the types has gaps. Blocks of such a type are packed into memory that the
 * function allocates. */
static __attribute__((noinline)) int gather_with_gaps(const struct gathering *g,
                                                      const struct nicbarr_side *from,
                                                      const struct nicbarr_side *to)
{
    const int size = ompi_comm_size(g->comm);
    const size_t bytes = g->block * (size_t)size;
    const bool packs = !nicbarr_is_dense(from->type);
    const bool unpacks = g->gets && !nicbarr_is_dense(to->type);
    uint8_t *packed = malloc(g->block + (unpacks ? bytes : 0));
    if (NULL == packed) {
        nicbarr_end_without_memory(g->comm);
    }
    uint8_t *all = unpacks ? packed + g->block : to->data;
    int packing = OMPI_SUCCESS;
    if (packs) {
        packing = nicbarr_pack_elements(from->data, from->count, from->type, packed, g->block);
    }
    /* Participate even after an error, because the other processes wait for this one. */
    int rc = gather_packed(g, packs ? packed : from->data, all);
    rc = OMPI_SUCCESS == rc ? packing : rc;
    if (OMPI_SUCCESS == rc && unpacks) {
        rc = nicbarr_unpack_elements(all, bytes, to->data, size * to->count, to->type);
    }
    free(packed);
    return rc;
}

/* `to` is significant only if this process receives the blocks. */
static int gather_blocks(const struct gathering *g, const struct nicbarr_side *from,
                         const struct nicbarr_side *to)
{
    const bool dense = nicbarr_is_dense(from->type) && (!g->gets || nicbarr_is_dense(to->type));
    return dense ? gather_packed(g, from->data, to->data) : gather_with_gaps(g, from, to);
}

/* Returns this process's contribution. */
static inline struct nicbarr_side contribution_of(const void *from, nicbarr_count_t count,
                                                  ompi_datatype_t *type,
                                                  const struct nicbarr_side *all,
                                                  ompi_communicator_t *comm)
{
    return MPI_IN_PLACE == from ? nicbarr_block_of(all, (uint32_t)ompi_comm_rank(comm))
                                : (struct nicbarr_side){(void *)from, count, type};
}

MYR_HOT int nicbarr_allgather(const void *from, nicbarr_count_t from_count,
                              ompi_datatype_t *from_type, void *to, nicbarr_count_t to_count,
                              ompi_datatype_t *to_type, ompi_communicator_t *comm,
                              mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t block = nicbarr_packed_bytes(to_count, to_type);
    const size_t bytes = block * (size_t)ompi_comm_size(comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes ||
        !nicbarr_data_serves(module, comm, NICBARR_ALLGATHER, bytes, NICBARR_NO_ROOT)) {
        return nicbarr_openmpi_allgather(from, from_count, from_type, to, to_count, to_type, comm,
                                         &module->openmpi);
    }
    const struct nicbarr_side all = {to, to_count, to_type};
    const struct nicbarr_side own = contribution_of(from, from_count, from_type, &all, comm);
    return gather_blocks(&(struct gathering){module, comm, NICBARR_ALLGATHER, true, block}, &own,
                         &all);
}

MYR_HOT int nicbarr_gather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                           void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const bool is_root = root == ompi_comm_rank(comm);
    const size_t block = is_root ? nicbarr_packed_bytes(to_count, to_type)
                                 : nicbarr_packed_bytes(from_count, from_type);
    const size_t bytes = block * (size_t)ompi_comm_size(comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes || !nicbarr_data_serves(module, comm, NICBARR_GATHER, bytes, root)) {
        return nicbarr_openmpi_gather(from, from_count, from_type, to, to_count, to_type, root,
                                      comm, &module->openmpi);
    }
    const struct nicbarr_side all = {to, to_count, to_type};
    const struct nicbarr_side own = contribution_of(from, from_count, from_type, &all, comm);
    return gather_blocks(&(struct gathering){module, comm, NICBARR_GATHER, is_root, block}, &own,
                         &all);
}

/* ---- MPI_Iallgather, MPI_Igather, and persistent variants, on one node ---- */

/* Begin the request. If a type has gaps, the blocks are packed into memory of the request: all
 * blocks, followed by this process's block. Packing cannot fail here, because MPI has checked the
 * types already. */
static void begin_gathering(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    const struct nicbarr_side *own = &request->of.gathering.own, *all = &request->of.gathering.all;
    const size_t block = request->of.gathering.block;
    const bool gets = NULL != all->type;
    uint8_t *packed = request->of.gathering.packed;
    uint8_t *from = own->data, *to = gets && !nicbarr_is_dense(all->type) ? packed : all->data;
    if (!nicbarr_is_dense(own->type)) {
        from = packed + (gets ? block * reducer->exchange.size : 0);
        (void)nicbarr_pack_elements(own->data, own->count, own->type, from, block);
    }
    request->of.gathering.consumer = nicbarr_consumer_of_all(to, block);
    nicbarr_reduction_init_consumer(&request->of.gathering.rounds, from, block,
                                    &request->of.gathering.consumer, gets);
    (void)nicbarr_reduction_begin(reducer, &request->of.gathering.rounds);
}

static bool test_gathering(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    const struct nicbarr_side *all = &request->of.gathering.all;
    if (!nicbarr_reduction_progress(reducer, &request->of.gathering.rounds)) {
        return false;
    }
    if (NULL != all->type && !nicbarr_is_dense(all->type)) {
        const uint32_t size = reducer->exchange.size;
        (void)nicbarr_unpack_elements(request->of.gathering.packed,
                                      request->of.gathering.block * size, all->data,
                                      all->count * (int)size, all->type);
    }
    return true;
}

static void free_packed_blocks(nicbarr_request_t *request)
{
    free(request->of.gathering.packed);
}

static const struct nicbarr_operation gathering = {begin_gathering, test_gathering, NULL,
                                                   free_packed_blocks};

/* The arguments of a call. */
struct arguments {
    struct nicbarr_side own, all; /* as in struct nicbarr_request */
    size_t block, bytes;          /* size of one process's block, and of all blocks */
};

/* `gets`: this process receives the blocks, so the receive arguments are significant. */
static struct arguments arguments_of(const void *from, nicbarr_count_t from_count,
                                     ompi_datatype_t *from_type, void *to, nicbarr_count_t to_count,
                                     ompi_datatype_t *to_type, bool gets, ompi_communicator_t *comm)
{
    const struct nicbarr_side all = {to, to_count, to_type}, none = {NULL, 0, NULL};
    const size_t block = gets ? nicbarr_packed_bytes(to_count, to_type)
                              : nicbarr_packed_bytes(from_count, from_type);
    return (struct arguments){
        .own = contribution_of(from, from_count, from_type, &all, comm),
        .all = gets ? all : none,
        .block = block,
        .bytes = block * (size_t)ompi_comm_size(comm),
    };
}

static int fill_request(nicbarr_request_t *request, const void *what)
{
    const struct arguments *given = what;
    const bool gets = NULL != given->all.type;
    const bool gaps =
        !nicbarr_is_dense(given->own.type) || (gets && !nicbarr_is_dense(given->all.type));
    request->of.gathering.own = given->own;
    request->of.gathering.all = given->all;
    request->of.gathering.block = given->block;
    request->of.gathering.packed = gaps ? malloc(given->block + (gets ? given->bytes : 0)) : NULL;
    return gaps && NULL == request->of.gathering.packed ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

static int start_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           const struct arguments *given, ompi_request_t **handle)
{
    return nicbarr_request_issue(nicbarr_request_new(&gathering, module, comm, false), fill_request,
                                 given, handle);
}

/* Create a persistent gather. *handle becomes NULL, on all members, if there is no memory for
 * it. */
static int make_persistent_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                     const struct arguments *given, ompi_request_t **handle)
{
    struct nicbarr_persistent what = {.type = given->own.type, .to_type = given->all.type};
    *handle = NULL;
    if (!nicbarr_data_small(given->bytes, comm) ||
        !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
        return OMPI_SUCCESS;
    }
    return nicbarr_request_issue(nicbarr_persistent_new(&gathering, module, comm, &what),
                                 fill_request, given, handle);
}

int nicbarr_iallgather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                       void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                       ompi_communicator_t *comm, ompi_request_t **handle,
                       mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct arguments given =
        arguments_of(from, from_count, from_type, to, to_count, to_type, true, comm);
    if (!nicbarr_data_small(given.bytes, comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_ALLGATHER)) {
        return module->iallgather.function(from, from_count, from_type, to, to_count, to_type, comm,
                                           handle, module->iallgather.module);
    }
    return start_gathering(module, comm, &given, handle);
}

int nicbarr_igather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                    void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                    ompi_communicator_t *comm, ompi_request_t **handle,
                    mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct arguments given = arguments_of(from, from_count, from_type, to, to_count, to_type,
                                                root == ompi_comm_rank(comm), comm);
    if (!nicbarr_data_small(given.bytes, comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_GATHER) ||
        !nicbarr_data_window_suffices(NICBARR_GATHER,
                                      module->nonblocking.reducer.exchange.record)) {
        return module->igather.function(from, from_count, from_type, to, to_count, to_type, root,
                                        comm, handle, module->igather.module);
    }
    return start_gathering(module, comm, &given, handle);
}

int nicbarr_allgather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                           void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                           ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                           mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct arguments given =
        arguments_of(from, from_count, from_type, to, to_count, to_type, true, comm);
    const int rc = make_persistent_gathering(module, comm, &given, handle);
    return OMPI_SUCCESS != rc || NULL != *handle
               ? rc
               : module->allgather_init.function(from, from_count, from_type, to, to_count, to_type,
                                                 comm, info, handle, module->allgather_init.module);
}

int nicbarr_gather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                        void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                        ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                        mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct arguments given = arguments_of(from, from_count, from_type, to, to_count, to_type,
                                                root == ompi_comm_rank(comm), comm);
    const int rc = make_persistent_gathering(module, comm, &given, handle);
    return OMPI_SUCCESS != rc || NULL != *handle
               ? rc
               : module->gather_init.function(from, from_count, from_type, to, to_count, to_type,
                                              root, comm, info, handle, module->gather_init.module);
}
