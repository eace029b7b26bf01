/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast and MPI_Bcast_init, on one node.
 *
 * The root writes, all others read the same memory (stream.h). The root does not wait for them,
 * until it is a whole ring ahead.
 *
 * process_vm_readv() would save a copy, but does not save time. To copy 1 MiB by it took 120 us,
 * and Open MPI's own broadcast to one process, which does just that, 135. Two copies at once by way
 * of memory that stays in the processors' caches took 60.
 *
 * A persistent broadcast is small, and goes by an exchange (reduction.h): all read what the root
 * has written. There what cannot go on now is left for later, which a ring has no use for.
 */
#include "coll_nicbarr/data.h"

#include <stdlib.h>

#include "coll_nicbarr/packing.h"
#include "coll_nicbarr/persistent.h"
#include "coll_nicbarr/stream.h"

MYR_HOT int nicbarr_bcast(void *buffer, int count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    size_t bytes = nicbarr_packed_bytes(count, type);
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_BCAST, bytes)) {
        return module->bcast.function(buffer, count, type, root, comm, module->bcast.module);
    }
    struct myr_ring *ring = &module->ring;
    const bool is_root = root == (int)ring->rank;
    if (!ompi_datatype_is_predefined(type) ||
        !ompi_datatype_is_contiguous_memory_layout(type, count)) {
        return is_root ? nicbarr_stream_send_packed(ring, buffer, count, type, bytes, 0)
                       : nicbarr_stream_receive_packed(ring, buffer, count, type, bytes, false);
    }
    const struct nicbarr_rest rest = {buffer, bytes, NULL};
    if (is_root) {
        nicbarr_stream_send(ring, rest, 0);
        return OMPI_SUCCESS;
    }
    return nicbarr_stream_receive(ring, rest, &bytes);
}

/* ---- MPI_Bcast_init ---- */

static bool is_root(const struct nicbarr_persistent *p)
{
    return p->root == (int)p->reducer.exchange.rank;
}

/* (Packing has no way to fail here that MPI would not have found out before.) */
static void begin(nicbarr_request_t *request)
{
    struct nicbarr_persistent *p = request->persistent;
    const size_t bytes = nicbarr_packed_bytes(p->count, p->type);
    uint8_t *packed = request->of.copy.packed, *data = NULL == packed ? p->to : packed;
    if (is_root(p) && NULL != packed) {
        (void)nicbarr_to_bytes(p->to, p->count, p->type, packed, bytes);
    }
    request->of.copy.taker = nicbarr_taker_of((uint32_t)p->root, data);
    nicbarr_reduction_init_taken(&request->of.copy.rounds, data, bytes, &request->of.copy.taker,
                                 !is_root(p));
    (void)nicbarr_reduction_begin(&p->reducer, &request->of.copy.rounds);
}

static bool test(nicbarr_request_t *request)
{
    struct nicbarr_persistent *p = request->persistent;
    const void *packed = request->of.copy.packed;
    const bool complete = nicbarr_reduction_go_on(&p->reducer, &request->of.copy.rounds);
    if (complete && !is_root(p) && NULL != packed) {
        (void)nicbarr_from_bytes(packed, nicbarr_packed_bytes(p->count, p->type), p->to, p->count,
                                 p->type);
    }
    return complete;
}

static void drop(nicbarr_request_t *request)
{
    free(request->of.copy.packed);
    nicbarr_persistent_drop(request);
}

static const struct nicbarr_operation copy = {begin, test, NULL, drop};

int nicbarr_bcast_init(void *buffer, int count, ompi_datatype_t *type, int root,
                       ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                       mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_persistent what = {.to = buffer, .count = count, .root = root, .type = type};
    const size_t bytes = nicbarr_packed_bytes(count, type);
    const bool dense = nicbarr_is_dense(type);
    if (!nicbarr_exchange_fits(bytes) || !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
        return module->bcast_init.function(buffer, count, type, root, comm, info, handle,
                                           module->bcast_init.module);
    }
    nicbarr_request_t *request = nicbarr_persistent_new(&copy, module, comm, &what);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *handle = &request->super;
    request->of.copy.packed = dense ? NULL : malloc(bytes);
    if (!dense && NULL == request->of.copy.packed) {
        (void)ompi_request_free(handle);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    return OMPI_SUCCESS;
}
