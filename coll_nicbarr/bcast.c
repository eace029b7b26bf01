/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast, MPI_Ibcast and MPI_Bcast_init, on one node.
 *
 * The root writes, all others read the same memory (stream.h). The root does not wait for them,
 * until it is a whole ring ahead.
 *
 * process_vm_readv() would save a copy, but does not save time. To copy 1 MiB by it took 120 us,
 * and Open MPI's own broadcast to one process, which does just that, 135. Two copies at once by way
 * of memory that stays in the processors' caches took 60.
 *
 * MPI_Ibcast goes the same way, by lines alone, as far as it can go on now. A communicator's take
 * turns, and what blocks waits for them: so the ring's rounds are in the order of the calls.
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
    nicbarr_ring_settle(module);
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

/* ---- MPI_Ibcast ---- */

enum { IBCAST_MOST = 1120 /* bytes: ten lines */ };

/* (Packing has no way to fail here that MPI would not have found out before.) */
static void stream_begin(nicbarr_request_t *request)
{
    void *buffer = request->of.stream.buffer, *packed = request->of.stream.packed;
    const size_t bytes = nicbarr_packed_bytes(request->of.stream.count, request->of.stream.type);
    if (request->of.stream.root && NULL != packed) {
        (void)nicbarr_to_bytes(buffer, request->of.stream.count, request->of.stream.type, packed,
                               bytes);
    }
    request->of.stream.rest = (struct nicbarr_rest){NULL != packed ? packed : buffer, bytes, NULL};
    request->of.stream.rc = OMPI_SUCCESS;
    request->of.stream.turn = request->module->ibcasts++;
}

/* What has come goes to the program's memory, if it did not come there. */
static int stream_unpack(const nicbarr_request_t *request)
{
    const uint8_t *packed = request->of.stream.packed;
    const int rc = request->of.stream.rc;
    if (OMPI_SUCCESS != rc || request->of.stream.root || NULL == packed) {
        return rc;
    }
    return nicbarr_from_bytes(packed, (size_t)(request->of.stream.rest.data - packed),
                              request->of.stream.buffer, request->of.stream.count,
                              request->of.stream.type);
}

static bool stream_test(nicbarr_request_t *request)
{
    mca_coll_nicbarr_module_t *module = request->module;
    struct nicbarr_rest *rest = &request->of.stream.rest;
    if (request->of.stream.turn != myr_glance(&module->ibcasts_done) ||
        !(request->of.stream.root
              ? nicbarr_stream_send_on(&module->ring, rest)
              : nicbarr_stream_receive_on(&module->ring, rest, &request->of.stream.rc))) {
        return false;
    }
    request->super.req_status.MPI_ERROR = stream_unpack(request);
    myr_publish(&module->ibcasts_done, request->of.stream.turn + 1);
    return true;
}

static void stream_drop(nicbarr_request_t *request)
{
    free(request->of.stream.packed);
}

static const struct nicbarr_operation stream = {stream_begin, stream_test, NULL, stream_drop};

int nicbarr_ibcast(void *buffer, int count, ompi_datatype_t *type, int root,
                   ompi_communicator_t *comm, ompi_request_t **handle, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = nicbarr_packed_bytes(count, type);
    const bool dense = nicbarr_is_dense(type);
    if (0 == bytes || bytes > IBCAST_MOST ||
        !nicbarr_data_nonblocking_ours(module, comm, NICBARR_BCAST)) {
        return module->ibcast.function(buffer, count, type, root, comm, handle,
                                       module->ibcast.module);
    }
    nicbarr_request_t *request = nicbarr_request_new(&stream, module, comm, false);
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    *handle = &request->super;
    request->of.stream.buffer = buffer;
    request->of.stream.packed = dense ? NULL : malloc(bytes);
    request->of.stream.count = count;
    request->of.stream.type = type;
    request->of.stream.root = root == (int)module->ring.rank;
    if (!dense && NULL == request->of.stream.packed) {
        (void)ompi_request_free(handle);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    nicbarr_request_start(request);
    return OMPI_SUCCESS;
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
    if (!nicbarr_exchange_fits(bytes, comm) ||
        !nicbarr_data_own_exchange(module, comm, &what.reducer)) {
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
