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
                               size_t block, bool gets, bool rooted)
{
    struct nicbarr_consumer consumer = nicbarr_consumer_of_all(all, block);
    struct nicbarr_reduction rounds;
    nicbarr_reduction_init_consumer(&rounds, own, block, &consumer, gets);
    if (gets && rooted && block > NICBARR_EXCHANGE_MOST) {
        nicbarr_reduction_keep_own(&rounds);
    }
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

/* ---- arguments ---- */

/* Returns the arguments of a call. `gets`: this process receives the blocks, so the receive
 * arguments are significant. */
static inline struct nicbarr_gathering arguments_of(const void *from, nicbarr_count_t from_count,
                                                    ompi_datatype_t *from_type, void *to,
                                                    nicbarr_count_t to_count,
                                                    ompi_datatype_t *to_type, bool gets,
                                                    ompi_communicator_t *comm)
{
    const struct nicbarr_side all = {to, to_count, to_type}, none = {NULL, 0, NULL},
                              own = {(void *)from, from_count, from_type};
    const size_t block = gets ? nicbarr_packed_bytes(to_count, to_type)
                              : nicbarr_packed_bytes(from_count, from_type);
    return (struct nicbarr_gathering){
        .own = MPI_IN_PLACE == from ? nicbarr_block_of(&all, (uint32_t)ompi_comm_rank(comm)) : own,
        .all = gets ? all : none,
        .block = block,
        .bytes = block * (size_t)ompi_comm_size(comm),
    };
}

/* Returns whether this process receives the blocks. */
static inline bool gets_blocks(const struct nicbarr_gathering *g)
{
    return NULL != g->all.type;
}

/* Returns whether this process receives the blocks, and their type has gaps. */
static inline bool unpacks(const struct nicbarr_gathering *g)
{
    return gets_blocks(g) && !nicbarr_is_dense(g->all.type);
}

static inline bool has_gaps(const struct nicbarr_gathering *g)
{
    return !nicbarr_is_dense(g->own.type) || unpacks(g);
}

/* Allocate the packed memory, if a type has gaps. */
static void allocate_packed(struct nicbarr_gathering *g, ompi_communicator_t *comm)
{
    g->packed = has_gaps(g) ? nicbarr_allocate(comm, g->block + (unpacks(g) ? g->bytes : 0)) : NULL;
}

/* Returns this process's block in packed form. Packing cannot fail here, because MPI has checked
 * the type already. */
static const uint8_t *pack_own(const struct nicbarr_gathering *g)
{
    if (nicbarr_is_dense(g->own.type)) {
        return g->own.data;
    }
    (void)nicbarr_pack_elements(g->own.data, g->own.count, g->own.type, g->packed, g->block);
    return g->packed;
}

/* Returns the destination of the blocks in packed form. */
static uint8_t *destination_of(const struct nicbarr_gathering *g)
{
    return unpacks(g) ? g->packed + g->block : g->all.data;
}

/* Store the received blocks in the program's buffer, if their type has gaps. */
static void unpack_all(const struct nicbarr_gathering *g)
{
    if (unpacks(g)) {
        const nicbarr_count_t count = g->all.count * (nicbarr_count_t)(g->bytes / g->block);
        (void)nicbarr_unpack_elements(destination_of(g), g->bytes, g->all.data, count, g->all.type);
    }
}

/* ---- MPI_Allgather, MPI_Gather ---- */

/* Gather blocks in packed form, from `own` to `all`. */
static int gather_packed(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, const struct nicbarr_gathering *g,
                         const uint8_t *own, uint8_t *all)
{
    if (!module->across) {
        gather_by_exchange(nicbarr_data_reducer(module, g->block), own, all, g->block,
                           gets_blocks(g), NICBARR_GATHER == collective);
        return OMPI_SUCCESS;
    }
    return nicbarr_carry_gathering(
        module, comm, nicbarr_data_carrier(module, collective, nicbarr_size_class(g->bytes)), own,
        all, gets_blocks(g), g->block);
}

static __attribute__((noinline)) int gather_with_gaps(mca_coll_nicbarr_module_t *module,
                                                      ompi_communicator_t *comm,
                                                      enum nicbarr_collective collective,
                                                      struct nicbarr_gathering *g)
{
    allocate_packed(g, comm);
    const int rc = gather_packed(module, comm, collective, g, pack_own(g), destination_of(g));
    if (OMPI_SUCCESS == rc) {
        unpack_all(g);
    }
    free(g->packed);
    return rc;
}

static int gather_blocks(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                         enum nicbarr_collective collective, struct nicbarr_gathering *g)
{
    return has_gaps(g) ? gather_with_gaps(module, comm, collective, g)
                       : gather_packed(module, comm, collective, g, g->own.data, g->all.data);
}

MYR_HOT int nicbarr_allgather(const void *from, nicbarr_count_t from_count,
                              ompi_datatype_t *from_type, void *to, nicbarr_count_t to_count,
                              ompi_datatype_t *to_type, ompi_communicator_t *comm,
                              mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_gathering given =
        arguments_of(from, from_count, from_type, to, to_count, to_type, true, comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == given.bytes ||
        !nicbarr_data_serves(module, comm, NICBARR_ALLGATHER, given.bytes, NICBARR_NO_ROOT)) {
        return nicbarr_openmpi_allgather(from, from_count, from_type, to, to_count, to_type, comm,
                                         &module->openmpi);
    }
    return gather_blocks(module, comm, NICBARR_ALLGATHER, &given);
}

MYR_HOT int nicbarr_gather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                           void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_gathering given = arguments_of(from, from_count, from_type, to, to_count,
                                                  to_type, root == ompi_comm_rank(comm), comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == given.bytes || !nicbarr_data_serves(module, comm, NICBARR_GATHER, given.bytes, root)) {
        return nicbarr_openmpi_gather(from, from_count, from_type, to, to_count, to_type, root,
                                      comm, &module->openmpi);
    }
    return gather_blocks(module, comm, NICBARR_GATHER, &given);
}

/* ---- MPI_Iallgather, MPI_Igather, and persistent variants, on one node ---- */

static void begin_gathering(nicbarr_request_t *request)
{
    struct nicbarr_reducer *reducer = nicbarr_reducer_of(request);
    const struct nicbarr_gathering *what = &request->of.gathering.what;
    struct nicbarr_reduction *rounds = &request->of.gathering.rounds;
    request->of.gathering.consumer = nicbarr_consumer_of_all(destination_of(what), what->block);
    nicbarr_reduction_init_consumer(rounds, pack_own(what), what->block,
                                    &request->of.gathering.consumer, gets_blocks(what));
    (void)nicbarr_reduction_begin(reducer, rounds);
}

static bool test_gathering(nicbarr_request_t *request)
{
    if (!nicbarr_reduction_progress(nicbarr_reducer_of(request), &request->of.gathering.rounds)) {
        return false;
    }
    unpack_all(&request->of.gathering.what);
    return true;
}

static void free_packed_blocks(nicbarr_request_t *request)
{
    free(request->of.gathering.what.packed);
}

static const struct nicbarr_operation gathering = {begin_gathering, test_gathering, NULL,
                                                   free_packed_blocks};

static void fill_request(nicbarr_request_t *request, const struct nicbarr_gathering *given)
{
    request->of.gathering.what = *given;
    allocate_packed(&request->of.gathering.what, request->super.req_mpi_object.comm);
}

static void start_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct nicbarr_gathering *given, ompi_request_t **handle)
{
    nicbarr_request_t *request = nicbarr_request_new(&gathering, module, comm, false);
    fill_request(request, given);
    nicbarr_request_start(request);
    *handle = &request->super;
}

/* Create a persistent gather. Returns false, on all members, if nicbarr does not serve this size,
 * or if there is no shared memory for it. */
static bool make_persistent_gathering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                      const struct nicbarr_gathering *given,
                                      ompi_request_t **handle)
{
    struct nicbarr_persistent what = {.type = given->own.type, .to_type = given->all.type};
    if (!nicbarr_data_small(given->bytes, comm) ||
        !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
        return false;
    }
    nicbarr_request_t *request = nicbarr_persistent_new(&gathering, module, comm, &what);
    fill_request(request, given);
    *handle = &request->super;
    return true;
}

int nicbarr_iallgather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                       void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                       ompi_communicator_t *comm, ompi_request_t **handle,
                       mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_gathering given =
        arguments_of(from, from_count, from_type, to, to_count, to_type, true, comm);
    if (!nicbarr_data_small(given.bytes, comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_ALLGATHER)) {
        return module->iallgather.function(from, from_count, from_type, to, to_count, to_type, comm,
                                           handle, module->iallgather.module);
    }
    start_gathering(module, comm, &given, handle);
    return OMPI_SUCCESS;
}

int nicbarr_igather(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                    void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                    ompi_communicator_t *comm, ompi_request_t **handle,
                    mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_gathering given = arguments_of(
        from, from_count, from_type, to, to_count, to_type, root == ompi_comm_rank(comm), comm);
    if (!nicbarr_data_small(given.bytes, comm) ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_GATHER) ||
        !nicbarr_data_window_suffices(NICBARR_GATHER,
                                      module->nonblocking.reducer.exchange.record)) {
        return module->igather.function(from, from_count, from_type, to, to_count, to_type, root,
                                        comm, handle, module->igather.module);
    }
    start_gathering(module, comm, &given, handle);
    return OMPI_SUCCESS;
}

int nicbarr_allgather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                           void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type,
                           ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                           mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_gathering given =
        arguments_of(from, from_count, from_type, to, to_count, to_type, true, comm);
    return make_persistent_gathering(module, comm, &given, handle)
               ? OMPI_SUCCESS
               : module->allgather_init.function(from, from_count, from_type, to, to_count, to_type,
                                                 comm, info, handle, module->allgather_init.module);
}

int nicbarr_gather_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                        void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                        ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                        mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_gathering given = arguments_of(
        from, from_count, from_type, to, to_count, to_type, root == ompi_comm_rank(comm), comm);
    return make_persistent_gathering(module, comm, &given, handle)
               ? OMPI_SUCCESS
               : module->gather_init.function(from, from_count, from_type, to, to_count, to_type,
                                              root, comm, info, handle, module->gather_init.module);
}
