/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs values of any type into bytes without gaps, in the order of the type's signature, and
 * unpacks them.
 *
 * Data are transferred in packed form, because only the type signature must be the same on all
 * members of a collective, whereas the memory layout may differ from process to process. Types with
 * gaps are packed by Open MPI's convertor. */
#ifndef NICBARR_PACKING_H
#define NICBARR_PACKING_H

#include "ompi/release.h"

#include <stdbool.h>

/* Returns whether the memory layout of elements equals the packed one. */
static inline bool nicbarr_is_dense(const ompi_datatype_t *type)
{
    return ompi_datatype_is_contiguous_memory_layout(type, 2) && 0 == type->super.true_lb;
}

/* Returns the packed size of `count` elements (bytes). */
static inline size_t nicbarr_packed_bytes(nicbarr_count_t count, const ompi_datatype_t *type)
{
    size_t size;
    (void)ompi_datatype_type_size(type, &size);
    return size * (size_t)count;
}

/* Returns whether the operation is user-defined. */
static inline bool nicbarr_is_user_defined(const ompi_op_t *op)
{
    return __builtin_expect(!ompi_op_is_intrinsic((ompi_op_t *)op), 0);
}

/* The largest element of a predefined type: complex numbers of long doubles. */
enum { NICBARR_ELEMENT_MOST = 32 /* size in bytes */ };

/* Returns whether a vector must be packed before it is combined. This is the case for user-defined
 * operations, which accept any type, and for predefined types with gaps, such as MPI_DOUBLE_INT,
 * because a reduction must not change what the program stores in the gaps. */
static inline bool nicbarr_is_packed(const ompi_datatype_t *type, const ompi_op_t *op)
{
    return nicbarr_is_user_defined(op) || __builtin_expect(!nicbarr_is_dense(type), 0);
}

/* Returns the number of bytes that nicbarr transfers for a vector, or 0 if it cannot reduce the
 * vector. Predefined operations are supported for predefined types only. All members get the same
 * result. */
static inline size_t nicbarr_reducible(nicbarr_count_t count, ompi_datatype_t *type,
                                       const ompi_op_t *op)
{
    ptrdiff_t lower, extent;
    if (nicbarr_is_user_defined(op)) {
        return nicbarr_packed_bytes(count, type);
    }
    if (!ompi_datatype_is_predefined(type)) {
        return 0;
    }
    (void)ompi_datatype_get_extent(type, &lower, &extent);
    return 0 == lower && extent > 0 && extent <= NICBARR_ELEMENT_MOST && count > 0
               ? nicbarr_packed_bytes(count, type)
               : 0;
}

/* Memory for two vectors of a type that may have gaps, as operands of a user-defined operation. */
struct nicbarr_operands {
    void *memory;
    uint8_t *left, *right; /* the first elements' addresses, aligned as by malloc */
    uint8_t *more;         /* additional bytes for the caller */
};

/* Allocate the operands. Returns false if out of memory. */
bool nicbarr_operands_open(struct nicbarr_operands *operands, nicbarr_count_t count,
                           const ompi_datatype_t *type, size_t more);
void nicbarr_operands_close(struct nicbarr_operands *operands);

/* A side of a gather or scatter: a block is `count` elements of `type`. */
struct nicbarr_side {
    uint8_t *data;
    nicbarr_count_t count;
    ompi_datatype_t *type;
};

/* Returns the block of a rank in the buffer of all blocks. */
static inline struct nicbarr_side nicbarr_block_of(const struct nicbarr_side *all, uint32_t rank)
{
    ptrdiff_t lower, extent;
    (void)ompi_datatype_get_extent(all->type, &lower, &extent);
    return (struct nicbarr_side){all->data + (ptrdiff_t)rank * (ptrdiff_t)all->count * extent,
                                 all->count, all->type};
}

/* Pack `count` elements into `bytes` bytes, and unpack them. Return Open MPI's error. */
int nicbarr_pack_elements(const void *from, nicbarr_count_t count, const ompi_datatype_t *type,
                          void *packed, size_t bytes);
int nicbarr_unpack_elements(const void *packed, size_t bytes, void *to, nicbarr_count_t count,
                            const ompi_datatype_t *type);

/* Copy all elements from one buffer to another, whose type may differ but has the same signature.
 * Returns Open MPI's error. */
int nicbarr_copy_elements(const struct nicbarr_side *from, const struct nicbarr_side *to);

#endif
