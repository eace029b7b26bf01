/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Allgather, MPI_Gather.
 *
 * Like a reduction, but parts are put side by side: each process writes its block into the rounds
 * of the communicator's exchange, and reads all blocks. Of MPI_Gather only the root reads. Types of
 * both sides may differ, and from process to process. What all have in common is how many bytes a
 * block is when it is packed (packing.h).
 */
#include "coll_nicbarr/data.h"

#include <string.h>

#include "coll_nicbarr/packing.h"

/* A side of it: so many elements of a type are a block. */
struct side {
    uint8_t *data;
    int count;
    ompi_datatype_t *type;
};

struct gathering {
    struct nicbarr_taker taker;
    size_t block; /* bytes */
};

static size_t block_bytes(int count, const ompi_datatype_t *type)
{
    size_t size;
    (void)ompi_datatype_type_size(type, &size);
    return size * (size_t)count;
}

/* The block of a rank in the memory where all are received. */
static struct side received(const struct side *to, uint32_t rank)
{
    ptrdiff_t lower, extent;
    (void)ompi_datatype_get_extent(to->type, &lower, &extent);
    return (struct side){to->data + (ptrdiff_t)rank * to->count * extent, to->count, to->type};
}

static void take(struct nicbarr_taker *taker, const struct myr_exchange *x, size_t bytes)
{
    const struct gathering *gathering = (struct gathering *)taker;
    uint8_t *to = taker->to;
    for (uint32_t rank = 0; rank < x->size; ++rank) {
        memcpy(to, myr_exchange_payload(x, rank), bytes);
        to += gathering->block;
    }
    taker->to += bytes;
}

/* `to` counts only where this process gets them. */
static int gather(struct nicbarr_reducer *reducer, const struct side *from, const struct side *to,
                  bool gets, size_t block)
{
    const uint32_t size = reducer->exchange.size;
    uint8_t packed[NICBARR_EXCHANGE_MOST], all[NICBARR_EXCHANGE_MOST];
    const bool direct = gets && nicbarr_is_dense(to->type);
    const void *own = from->data;
    struct gathering gathering = {{take, NICBARR_EVERYBODY, direct ? to->data : all}, block};
    struct nicbarr_reduction rounds;
    int rc = OMPI_SUCCESS;
    if (!nicbarr_is_dense(from->type)) {
        rc = nicbarr_to_bytes(from->data, from->count, from->type, packed, block);
        own = packed; /* whatever happens: the others wait */
    }
    nicbarr_reducer_settle(reducer);
    nicbarr_reduction_init_taken(&rounds, own, block, &gathering.taker, gets);
    (void)nicbarr_reduction_begin(reducer, &rounds);
    nicbarr_reduction_finish(reducer, &rounds);
    if (gets && !direct && OMPI_SUCCESS == rc) {
        rc = nicbarr_from_bytes(all, size * block, to->data, (int)size * to->count, to->type);
    }
    return rc;
}

MYR_HOT int nicbarr_allgather(const void *from, int from_count, ompi_datatype_t *from_type,
                              void *to, int to_count, ompi_datatype_t *to_type,
                              ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t block = block_bytes(to_count, to_type);
    const size_t bytes = block * (size_t)ompi_comm_size(comm);
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_ALLGATHER, bytes)) {
        return module->allgather.function(from, from_count, from_type, to, to_count, to_type, comm,
                                          module->allgather.module);
    }
    const struct side all = {to, to_count, to_type};
    const struct side own = MPI_IN_PLACE == from
                                ? received(&all, (uint32_t)ompi_comm_rank(comm))
                                : (struct side){(void *)from, from_count, from_type};
    return gather(&module->reducer, &own, &all, true, block);
}

MYR_HOT int nicbarr_gather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                           int to_count, ompi_datatype_t *to_type, int root,
                           ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const bool is_root = root == ompi_comm_rank(comm);
    const size_t block =
        is_root ? block_bytes(to_count, to_type) : block_bytes(from_count, from_type);
    const size_t bytes = block * (size_t)ompi_comm_size(comm);
    if (0 == bytes || !nicbarr_data_ours(module, comm, NICBARR_GATHER, bytes)) {
        return module->gather.function(from, from_count, from_type, to, to_count, to_type, root,
                                       comm, module->gather.module);
    }
    const struct side all = {to, to_count, to_type};
    const struct side own = MPI_IN_PLACE == from
                                ? received(&all, (uint32_t)root)
                                : (struct side){(void *)from, from_count, from_type};
    return gather(&module->reducer, &own, &all, is_root, block);
}
