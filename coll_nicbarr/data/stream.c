/* SPDX-License-Identifier: BSD-3-Clause */
/* See stream.h. A small payload of a type with gaps is packed as a whole, so that the convertor is
 * called only once. */
#include "coll_nicbarr/data/stream.h"

#include "coll_nicbarr/data/packing.h"

uint32_t nicbarr_rest_pack(const struct nicbarr_rest *rest, void *to, size_t bytes)
{
    struct iovec iov = {to, bytes};
    uint32_t iov_count = 1;
    (void)opal_convertor_pack(rest->convertor, &iov, &iov_count, &bytes);
    return (uint32_t)bytes;
}

void nicbarr_rest_unpack(const struct nicbarr_rest *rest, const void *from, size_t bytes)
{
    struct iovec iov = {(void *)from, bytes};
    uint32_t iov_count = 1;
    (void)opal_convertor_unpack(rest->convertor, &iov, &iov_count, &bytes);
}

int nicbarr_stream_send_packed(struct myr_ring *ring, const struct nicbarr_side *from, size_t bytes,
                               size_t part, bool more)
{
    uint8_t packed[NICBARR_LINES_MOST];
    opal_convertor_t convertor;
    struct nicbarr_rest rest = {packed, bytes, NULL, more};
    const bool large = bytes > sizeof(packed);
    int rc;
    if (large) {
        OBJ_CONSTRUCT(&convertor, opal_convertor_t);
        rest.convertor = &convertor;
        rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &from->type->super,
                                                      (size_t)from->count, from->data, 0,
                                                      &convertor);
    } else {
        rc = nicbarr_pack_elements(from->data, from->count, from->type, packed, bytes);
    }
    rest.bytes = OMPI_SUCCESS == rc ? bytes : 0;
    /* Send even after an error, because the other processes wait for this one. */
    nicbarr_stream_send(ring, rest, part);
    if (large) {
        OBJ_DESTRUCT(&convertor);
    }
    return rc;
}

static int receive_rest(struct myr_ring *ring, struct nicbarr_rest rest, uint32_t sender,
                        size_t *used)
{
    return NICBARR_STREAM_WHOLE == sender ? nicbarr_stream_receive(ring, rest, used)
                                          : nicbarr_stream_receive_part(ring, rest, sender, used);
}

int nicbarr_stream_receive_packed(struct myr_ring *ring, const struct nicbarr_side *to,
                                  size_t bytes, uint32_t sender)
{
    uint8_t packed[NICBARR_LINES_MOST];
    size_t used;
    if (bytes <= sizeof(packed)) {
        const int rc = receive_rest(ring, (struct nicbarr_rest){.data = packed, .bytes = bytes},
                                    sender, &used);
        const int unpacking = nicbarr_unpack_elements(packed, used, to->data, to->count, to->type);
        return OMPI_SUCCESS != rc ? rc : unpacking;
    }
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    const int rc = opal_convertor_copy_and_prepare_for_recv(
        ompi_mpi_local_convertor, &to->type->super, (size_t)to->count, to->data, 0, &convertor);
    const struct nicbarr_rest rest = {.bytes = OMPI_SUCCESS == rc ? bytes : 0,
                                      .convertor = &convertor};
    const int received = receive_rest(ring, rest, sender, &used);
    OBJ_DESTRUCT(&convertor);
    return OMPI_SUCCESS == rc ? received : rc;
}
