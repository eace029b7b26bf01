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

int nicbarr_stream_send_packed(struct myr_ring *ring, const void *from, nicbarr_count_t count,
                               const ompi_datatype_t *type, size_t bytes, size_t part)
{
    uint8_t packed[NICBARR_LINES_MOST];
    opal_convertor_t convertor;
    struct nicbarr_rest rest = {packed, bytes, NULL};
    const bool large = bytes > sizeof(packed);
    int rc;
    if (large) {
        OBJ_CONSTRUCT(&convertor, opal_convertor_t);
        rest = (struct nicbarr_rest){NULL, bytes, &convertor};
        rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                      (size_t)count, from, 0, &convertor);
    } else {
        rc = nicbarr_pack_elements(from, count, type, packed, bytes);
    }
    rest.bytes = OMPI_SUCCESS == rc ? bytes : 0;
    /* Send even after an error, because the other processes wait for this one. */
    nicbarr_stream_send(ring, rest, part);
    if (large) {
        OBJ_DESTRUCT(&convertor);
    }
    return rc;
}

static int receive_rest(struct myr_ring *ring, struct nicbarr_rest rest, bool parted, size_t *used)
{
    return parted ? nicbarr_stream_receive_part(ring, rest, used)
                  : nicbarr_stream_receive(ring, rest, used);
}

int nicbarr_stream_receive_packed(struct myr_ring *ring, void *to, nicbarr_count_t count,
                                  const ompi_datatype_t *type, size_t bytes, bool parted)
{
    uint8_t packed[NICBARR_LINES_MOST];
    size_t used;
    if (bytes <= sizeof(packed)) {
        const int rc =
            receive_rest(ring, (struct nicbarr_rest){packed, bytes, NULL}, parted, &used);
        const int unpacking = nicbarr_unpack_elements(packed, used, to, count, type);
        return OMPI_SUCCESS != rc ? rc : unpacking;
    }
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    const int rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                            (size_t)count, to, 0, &convertor);
    const struct nicbarr_rest rest = {NULL, OMPI_SUCCESS == rc ? bytes : 0, &convertor};
    const int received = receive_rest(ring, rest, parted, &used);
    OBJ_DESTRUCT(&convertor);
    return OMPI_SUCCESS == rc ? received : rc;
}
