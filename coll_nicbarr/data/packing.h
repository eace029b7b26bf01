/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values of any type as bytes without gaps, in the order of the type's signature, and back.
 *
 * A type's layout is its process's own business: the members of a collective agree on the signature
 * only. So that is what slots carry. Open MPI's convertor does the work where there are gaps.
 */
#ifndef NICBARR_PACKING_H
#define NICBARR_PACKING_H

#include "ompi/release.h"

#include <stdbool.h>

/* Do elements lie in memory as they are packed? */
static inline bool nicbarr_is_dense(const ompi_datatype_t *type)
{
    return ompi_datatype_is_contiguous_memory_layout(type, 2) && 0 == type->super.true_lb;
}

/* Bytes of `count` elements when they are packed. */
static inline size_t nicbarr_packed_bytes(nicbarr_count_t count, const ompi_datatype_t *type)
{
    size_t size;
    (void)ompi_datatype_type_size(type, &size);
    return size * (size_t)count;
}

/* An operation that the program has defined. */
static inline bool nicbarr_is_users(const ompi_op_t *op)
{
    return __builtin_expect(!ompi_op_is_intrinsic((ompi_op_t *)op), 0);
}

/* The largest element of MPI's own types: complex numbers of long doubles. */
enum { NICBARR_ELEMENT_MOST = 32 /* bytes */ };

/* Is a vector packed to be combined? What the program has defined takes any type. Some of MPI's own
 * types have gaps, as MPI_DOUBLE_INT, and what a program keeps there is not to be touched. */
static inline bool nicbarr_is_packed(const ompi_datatype_t *type, const ompi_op_t *op)
{
    return nicbarr_is_users(op) || __builtin_expect(!nicbarr_is_dense(type), 0);
}

/* The bytes of a vector that nicbarr can reduce, as it carries them; 0: it cannot. MPI's own
 * operations are for MPI's own types. All members see the same. */
static inline size_t nicbarr_reducible(nicbarr_count_t count, ompi_datatype_t *type,
                                       const ompi_op_t *op)
{
    ptrdiff_t lower, extent;
    if (nicbarr_is_users(op)) {
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

/* Memory for two vectors of a type with any gaps, which a program's operation may combine. */
struct nicbarr_operands {
    void *memory;
    uint8_t *left, *right; /* the first elements' addresses, as aligned as malloc's */
    uint8_t *more;         /* bytes for the user */
};

/* False when out of memory. */
bool nicbarr_operands_open(struct nicbarr_operands *operands, nicbarr_count_t count,
                           const ompi_datatype_t *type, size_t more);
void nicbarr_operands_close(struct nicbarr_operands *operands);

/* A side of a gathering or scattering: so many elements of a type are a block. */
struct nicbarr_side {
    uint8_t *data;
    nicbarr_count_t count;
    ompi_datatype_t *type;
};

/* The block of a rank in the memory where all are. */
static inline struct nicbarr_side nicbarr_block_of(const struct nicbarr_side *all, uint32_t rank)
{
    ptrdiff_t lower, extent;
    (void)ompi_datatype_get_extent(all->type, &lower, &extent);
    return (struct nicbarr_side){all->data + (ptrdiff_t)rank * (ptrdiff_t)all->count * extent,
                                 all->count, all->type};
}

/* `count` elements from memory to so many bytes, and back. Open MPI's error. */
int nicbarr_to_bytes(const void *from, nicbarr_count_t count, const ompi_datatype_t *type,
                     void *packed, size_t bytes);
int nicbarr_from_bytes(const void *packed, size_t bytes, void *to, nicbarr_count_t count,
                       const ompi_datatype_t *type);

/* Copy a side's elements to another one of the same signature. Open MPI's error. */
int nicbarr_copy(const struct nicbarr_side *from, const struct nicbarr_side *to);

#endif
