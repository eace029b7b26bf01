/* SPDX-License-Identifier: BSD-3-Clause */
/* See streamed.h. */
#include "coll_nicbarr/data/streamed.h"

#include <stdlib.h>

#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/memory.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/persistent.h"
#include "coll_nicbarr/no_memory.h"

/* Returns the streamer whose ring the request uses. */
static struct nicbarr_streamer *streamer_of(const nicbarr_request_t *request)
{
    return NULL != request->persistent ? &request->persistent->streamer
                                       : &request->module->nonblocking.streamer;
}

/* Returns all data that this process sends if it is the root, or receives otherwise. */
static struct nicbarr_side whole_of(const struct nicbarr_streamed *what, uint32_t size)
{
    struct nicbarr_side whole = what->root ? what->sent : what->received;
    whole.count *= what->root && 0 != what->part ? (int)size : 1;
    return whole;
}

/* Copy the root's own block to its receive buffer. */
static int copy_own_block(const struct nicbarr_streamed *what, uint32_t rank)
{
    if (!what->root || NULL == what->received.type) {
        return OMPI_SUCCESS;
    }
    const struct nicbarr_side own = nicbarr_block_of(&what->sent, rank);
    return nicbarr_copy_elements(&own, &what->received);
}

/* Packing cannot fail here, because MPI has checked the type already. */
static void begin_stream(nicbarr_request_t *request)
{
    struct nicbarr_streamer *streamer = streamer_of(request);
    const struct nicbarr_streamed *what = &request->of.stream.what;
    const struct nicbarr_side whole = whole_of(what, streamer->ring.size);
    const size_t bytes = nicbarr_packed_bytes(whole.count, whole.type);
    uint8_t *packed = request->of.stream.packed;
    if (what->root && NULL != packed) {
        (void)nicbarr_pack_elements(whole.data, whole.count, whole.type, packed, bytes);
    }
    request->of.stream.rest =
        (struct nicbarr_rest){.data = NULL != packed ? packed : whole.data, .bytes = bytes};
    request->of.stream.part.known = false;
    request->of.stream.rc = copy_own_block(what, streamer->ring.rank);
    request->of.stream.ticket = streamer->begun++;
}

static bool progress_stream(nicbarr_request_t *request, struct myr_ring *ring)
{
    const struct nicbarr_streamed *what = &request->of.stream.what;
    struct nicbarr_rest *rest = &request->of.stream.rest;
    int *rc = &request->of.stream.rc;
    return what->root ? nicbarr_stream_send_progress(ring, rest, what->part)
           : 0 == what->part
               ? nicbarr_stream_receive_progress(ring, rest, rc)
               : nicbarr_stream_receive_part_progress(ring, rest, &request->of.stream.part, rc);
}

/* Unpack the received bytes, if the type has gaps. */
static int unpack_stream(const nicbarr_request_t *request)
{
    const struct nicbarr_streamed *what = &request->of.stream.what;
    const uint8_t *packed = request->of.stream.packed;
    const int rc = request->of.stream.rc;
    if (OMPI_SUCCESS != rc || what->root || NULL == packed) {
        return rc;
    }
    return nicbarr_unpack_elements(packed, (size_t)(request->of.stream.rest.data - packed),
                                   what->received.data, what->received.count, what->received.type);
}

static bool test_stream(nicbarr_request_t *request)
{
    struct nicbarr_streamer *streamer = streamer_of(request);
    if (request->of.stream.ticket != streamer->done || !progress_stream(request, &streamer->ring)) {
        return false;
    }
    request->super.req_status.MPI_ERROR = unpack_stream(request);
    ++streamer->done;
    return true;
}

static void free_packed_stream(nicbarr_request_t *request)
{
    free(request->of.stream.packed);
}

static const struct nicbarr_operation streamed = {begin_stream, test_stream, NULL,
                                                  free_packed_stream};

/* Fill in the request. If the type has gaps, the bytes are packed into memory of the request. */
static void fill_request(nicbarr_request_t *request, const struct nicbarr_streamed *what)
{
    const struct nicbarr_side whole = whole_of(what, streamer_of(request)->ring.size);
    request->of.stream.what = *what;
    request->of.stream.packed =
        nicbarr_is_dense(whole.type)
            ? NULL
            : nicbarr_allocate(request->super.req_mpi_object.comm,
                               nicbarr_packed_bytes(whole.count, whole.type));
}

bool nicbarr_streamed_fits(mca_coll_nicbarr_module_t *module, size_t bytes)
{
    struct myr_ring *ring = &module->nonblocking.streamer.ring;
    OPAL_THREAD_LOCK(nicbarr_requests_lock());
    const bool has_chunks =
        bytes > MYR_SLOT_BYTES &&
        (NULL != ring->chunks || myr_ring_get_chunks(ring, mca_coll_nicbarr_component.segment));
    OPAL_THREAD_UNLOCK(nicbarr_requests_lock());
    return bytes <= NICBARR_STEPS_LINES || has_chunks;
}

void nicbarr_streamed_start(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                            const struct nicbarr_streamed *what, ompi_request_t **handle)
{
    nicbarr_request_t *request = nicbarr_request_new(&streamed, module, comm, false);
    fill_request(request, what);
    nicbarr_request_start(request);
    *handle = &request->super;
}

bool nicbarr_streamed_init(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           enum nicbarr_collective collective, size_t bytes,
                           const struct nicbarr_streamed *what, ompi_request_t **handle)
{
    const bool sends = what->root, receives = NULL != what->received.type;
    struct nicbarr_persistent own = {.type = sends ? what->sent.type : NULL,
                                     .to_type = receives ? what->received.type : NULL};
    if (0 == bytes || bytes > NICBARR_STEPS_MOST ||
        !nicbarr_data_own_ring(module, comm, &own.streamer)) {
        return false;
    }
    struct myr_ring *ring = &own.streamer.ring;
    const bool worth_it = nicbarr_data_small(bytes, comm)
                              ? nicbarr_data_window_suffices(collective, ring->record)
                              : myr_ring_get_chunks(ring, mca_coll_nicbarr_component.segment);
    if (!worth_it) {
        nicbarr_streamer_leave(&own.streamer);
        return false;
    }
    nicbarr_request_t *request = nicbarr_persistent_new(&streamed, module, comm, &own);
    fill_request(request, what);
    *handle = &request->super;
    return true;
}
