/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast.
 *
 * The root writes, all others read the same memory (libmyr/ring.h): a few lines, or else the ring's
 * pieces. The root does not wait for them, until it is a whole ring ahead.
 *
 * A type with gaps is packed by Open MPI's convertor, as the root's type need not be the others'.
 * It packs into the pieces, and unpacks from them: there is no further copy.
 *
 * process_vm_readv() would save a copy, but does not save time. To copy 1 MiB by it took 120 us,
 * and Open MPI's own broadcast to one process, which does just that, 135. Two copies at once by way
 * of memory that stays in the processors' caches took 60.
 */
#include "coll_nicbarr/data.h"

#include <string.h>

#include "coll_nicbarr/packing.h"

/* What a slot's note says: how many bytes there are, and */
enum {
    BYTES = 0xffff,
    LAST = 1 << 16, /* no more follow */
    APART = 1 << 17 /* they are in the slot's piece */
};

_Static_assert((int)MYR_RING_PIECE <= (int)BYTES, "a note says how much is in a piece");

/* Memory of the user that is yet to be sent, or to be received into. */
struct rest {
    uint8_t *data;
    size_t bytes;
    opal_convertor_t *convertor; /* NULL: it has no gaps */
};

/* Pack into `to`; an element is not cut, so there may be room left in the end. */
static uint32_t pack(const struct rest *rest, void *to, size_t bytes)
{
    struct iovec place = {to, bytes};
    uint32_t places = 1;
    (void)opal_convertor_pack(rest->convertor, &place, &places, &bytes);
    return (uint32_t)bytes;
}

static void unpack(const struct rest *rest, const void *from, size_t bytes)
{
    struct iovec place = {(void *)from, bytes};
    uint32_t places = 1;
    (void)opal_convertor_unpack(rest->convertor, &place, &places, &bytes);
}

/* Fill `to` with up to `most` bytes; returns how many there are. */
static inline uint32_t take(struct rest *rest, void *to, uint32_t most)
{
    uint32_t bytes = rest->bytes < most ? (uint32_t)rest->bytes : most;
    if (NULL != rest->convertor) {
        bytes = pack(rest, to, bytes);
    } else {
        memcpy(to, rest->data, bytes);
        rest->data += bytes;
    }
    rest->bytes -= 0 != bytes ? bytes : rest->bytes; /* the others do not wait for what fails */
    return bytes;
}

static inline void put(struct rest *rest, const void *from, uint32_t bytes)
{
    if (NULL != rest->convertor) {
        unpack(rest, from, bytes);
    } else {
        memcpy(rest->data, from, bytes);
        rest->data += bytes;
    }
    rest->bytes -= bytes;
}

static inline void send_all(struct myr_ring *ring, struct rest rest)
{
    const bool large = rest.bytes > NICBARR_LINES_MOST;
    uint32_t bytes;
    do {
        void *slot = myr_ring_next(ring);
        bytes = large ? take(&rest, myr_ring_piece(ring), MYR_RING_PIECE)
                      : take(&rest, slot, MYR_SLOT_BYTES);
        myr_ring_write(ring, bytes | (0 == rest.bytes ? LAST : 0) | (large ? APART : 0));
    } while (0 != rest.bytes);
}

/* Take all that the root sends; *used: how many bytes that was. Where the program is wrong, the
 * root sends another number of bytes. Then the error is that of a receive, and the next broadcast
 * is in step again. */
static inline int receive_all(struct myr_ring *ring, struct rest rest, size_t *used)
{
    const size_t room = rest.bytes;
    uint32_t note;
    int rc = OMPI_SUCCESS;
    do {
        const struct myr_slot *slot = myr_ring_await(ring);
        note = myr_glance(&slot->note);
        if (__builtin_expect((note & BYTES) > rest.bytes, 0)) {
            rc = MPI_ERR_TRUNCATE;
            rest.bytes = 0; /* nothing of what follows is received */
        } else {
            put(&rest, 0 != (note & APART) ? myr_ring_piece(ring) : slot->payload, note & BYTES);
        }
        myr_ring_pass(ring);
    } while (0 == (note & LAST));
    *used = room - rest.bytes;
    return rc;
}

/* A small payload goes by way of memory without gaps: so the convertor is called once. */
static int by_convertor(struct myr_ring *ring, void *buffer, int count, ompi_datatype_t *type,
                        bool is_root, size_t bytes)
{
    uint8_t packed[NICBARR_LINES_MOST];
    const bool large = bytes > sizeof(packed);
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    const int rc =
        is_root ? opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                           (size_t)count, buffer, 0, &convertor)
                : opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                           (size_t)count, buffer, 0, &convertor);
    const struct rest all = {NULL, OMPI_SUCCESS == rc ? bytes : 0, &convertor};
    const struct rest rest = large ? all : (struct rest){packed, all.bytes, NULL};
    int received = OMPI_SUCCESS;
    size_t used;
    if (is_root) {
        if (!large) {
            (void)pack(&all, packed, all.bytes);
        }
        send_all(ring, rest); /* whatever happens: the others wait */
    } else {
        received = receive_all(ring, rest, &used);
        if (!large) {
            unpack(&all, packed, used);
        }
    }
    OBJ_DESTRUCT(&convertor);
    return OMPI_SUCCESS == rc ? received : rc;
}

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
        return by_convertor(ring, buffer, count, type, is_root, bytes);
    }
    const struct rest rest = {buffer, bytes, NULL};
    if (is_root) {
        send_all(ring, rest);
        return OMPI_SUCCESS;
    }
    return receive_all(ring, rest, &bytes);
}
