/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast.
 *
 * The root writes, all others read the same line (libmyr/ring.h). The root does not wait for them,
 * until it is a whole ring ahead. A type with gaps is packed by Open MPI's convertor, as the root's
 * type need not be the others'.
 */
#include "coll_nicbarr/data.h"

#include <string.h>

static uint32_t next_chunk(size_t left)
{
    return left < MYR_SLOT_BYTES ? (uint32_t)left : MYR_SLOT_BYTES;
}

/* Each slot says how many bytes there are from it on. */
static void send_all(struct myr_ring *ring, const uint8_t *data, size_t bytes)
{
    while (0 != bytes) {
        const uint32_t chunk = next_chunk(bytes);
        memcpy(myr_ring_next(ring), data, chunk);
        myr_ring_write(ring, (uint32_t)bytes);
        data += chunk;
        bytes -= chunk;
    }
}

/* Take all that the root sends; *bytes: the room that there is, then what of it was used. Where the
 * program is wrong, the root sends another number of bytes. Then the error is that of a receive,
 * and the next broadcast is in step again. */
static int receive_all(struct myr_ring *ring, uint8_t *data, size_t *bytes)
{
    size_t used = 0;
    uint32_t left, chunk;
    int rc = OMPI_SUCCESS;
    do {
        const struct myr_slot *slot = myr_ring_await(ring);
        left = myr_glance(&slot->note);
        chunk = next_chunk(left);
        if (__builtin_expect(chunk <= *bytes - used, 1)) {
            memcpy(data + used, slot->payload, chunk);
            used += chunk;
        } else {
            rc = MPI_ERR_TRUNCATE;
        }
        myr_ring_pass(ring);
    } while (left > chunk);
    *bytes = used;
    return rc;
}

/* By way of memory without gaps. */
static int by_convertor(struct myr_ring *ring, void *buffer, int count, ompi_datatype_t *type,
                        bool is_root, size_t bytes)
{
    uint8_t packed[NICBARR_DATA_MOST];
    struct iovec place = {packed, bytes};
    uint32_t places = 1;
    size_t done = bytes;
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int rc, received = OMPI_SUCCESS;
    if (is_root) {
        rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                      (size_t)count, buffer, 0, &convertor);
        if (OMPI_SUCCESS == rc) {
            (void)opal_convertor_pack(&convertor, &place, &places, &done);
        }
        send_all(ring, packed, bytes); /* whatever happens: the others wait */
    } else {
        received = receive_all(ring, packed, &place.iov_len);
        rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                      (size_t)count, buffer, 0, &convertor);
        if (OMPI_SUCCESS == rc) {
            (void)opal_convertor_unpack(&convertor, &place, &places, &done);
        }
    }
    OBJ_DESTRUCT(&convertor);
    return OMPI_SUCCESS == rc ? received : rc;
}

MYR_HOT int nicbarr_bcast(void *buffer, int count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    size_t size;
    (void)ompi_datatype_type_size(type, &size);
    size_t bytes = size * (size_t)count;
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_BCAST, bytes)) {
        return module->bcast.function(buffer, count, type, root, comm, module->bcast.module);
    }
    struct myr_ring *ring = &module->ring;
    const bool is_root = root == (int)ring->rank;
    if (!ompi_datatype_is_predefined(type) ||
        !ompi_datatype_is_contiguous_memory_layout(type, count)) {
        return by_convertor(ring, buffer, count, type, is_root, bytes);
    }
    if (is_root) {
        send_all(ring, buffer, bytes);
        return OMPI_SUCCESS;
    }
    return receive_all(ring, buffer, &bytes);
}
