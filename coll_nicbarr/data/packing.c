/* SPDX-License-Identifier: BSD-3-Clause */
/* See packing.h. */
#include "coll_nicbarr/data/packing.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16 /* alignment of malloc() */ };

static size_t aligned_size(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Returns the extent of the vector in memory; `*begins` becomes its beginning relative to the
 * vector's address. */
static size_t vector_span(nicbarr_count_t count, const ompi_datatype_t *type, ptrdiff_t *begins)
{
    ptrdiff_t lower, extent, true_extent;
    (void)ompi_datatype_get_extent(type, &lower, &extent);
    (void)ompi_datatype_get_true_extent(type, begins, &true_extent);
    const ptrdiff_t last = ((ptrdiff_t)count - 1) * extent;
    *begins += last < 0 ? last : 0;
    return (size_t)(true_extent + (last < 0 ? -last : last));
}

bool nicbarr_operands_open(struct nicbarr_operands *operands, nicbarr_count_t count,
                           const ompi_datatype_t *type, size_t more)
{
    ptrdiff_t begins;
    const size_t area = aligned_size(vector_span(count, type, &begins) + ALIGNMENT);
    uint8_t *memory = malloc(2 * area + more);
    *operands = (struct nicbarr_operands){.memory = memory};
    if (NULL == memory) {
        return false;
    }
    /* The address of the vector must be aligned, even if its first byte is at an offset from this
     * address. */
    operands->left = memory - (begins & ~(ptrdiff_t)(ALIGNMENT - 1));
    operands->right = operands->left + area;
    operands->more = memory + 2 * area;
    return true;
}

void nicbarr_operands_close(struct nicbarr_operands *operands)
{
    free(operands->memory);
    operands->memory = NULL;
}

int nicbarr_pack_elements(const void *from, nicbarr_count_t count, const ompi_datatype_t *type,
                          void *packed, size_t bytes)
{
    struct iovec iov = {packed, bytes};
    uint32_t iov_count = 1;
    opal_convertor_t convertor;
    if (nicbarr_is_dense(type)) {
        memcpy(packed, from, bytes);
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    const int rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super,
                                                            (size_t)count, from, 0, &convertor);
    if (OMPI_SUCCESS == rc) {
        (void)opal_convertor_pack(&convertor, &iov, &iov_count, &bytes);
    }
    OBJ_DESTRUCT(&convertor);
    return rc;
}

int nicbarr_unpack_elements(const void *packed, size_t bytes, void *to, nicbarr_count_t count,
                            const ompi_datatype_t *type)
{
    struct iovec iov = {(void *)packed, bytes};
    uint32_t iov_count = 1;
    opal_convertor_t convertor;
    if (nicbarr_is_dense(type)) {
        memcpy(to, packed, bytes);
        return OMPI_SUCCESS;
    }
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    const int rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super,
                                                            (size_t)count, to, 0, &convertor);
    if (OMPI_SUCCESS == rc) {
        (void)opal_convertor_unpack(&convertor, &iov, &iov_count, &bytes);
    }
    OBJ_DESTRUCT(&convertor);
    return rc;
}

/* Open MPI's ompi_datatype_sndrcv() is not used, because it treats a type that was derived from
 * MPI_PACKED by resizing like MPI_PACKED itself. */
int nicbarr_copy_elements(const struct nicbarr_side *from, const struct nicbarr_side *to)
{
    const size_t bytes = nicbarr_packed_bytes(from->count, from->type);
    if (bytes > nicbarr_packed_bytes(to->count, to->type)) {
        return MPI_ERR_TRUNCATE;
    }
    if (nicbarr_is_dense(from->type)) {
        return nicbarr_unpack_elements(from->data, bytes, to->data, to->count, to->type);
    }
    if (nicbarr_is_dense(to->type)) {
        return nicbarr_pack_elements(from->data, from->count, from->type, to->data, bytes);
    }
    void *packed = malloc(bytes);
    int rc = NULL == packed ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    if (OMPI_SUCCESS == rc) {
        rc = nicbarr_pack_elements(from->data, from->count, from->type, packed, bytes);
    }
    if (OMPI_SUCCESS == rc) {
        rc = nicbarr_unpack_elements(packed, bytes, to->data, to->count, to->type);
    }
    free(packed);
    return rc;
}
