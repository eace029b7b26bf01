/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Scatter, on one node and across nodes; on one node also MPI_Iscatter and MPI_Scatter_init.
 *
 * The root broadcasts all blocks together, and each process takes only its own block: on one node
 * from the ring (stream.h), across nodes from the NIC (bcast_across.c). On one node the root leaves
 * out its own block, unless blocks are small. Therefore the root waits for the other processes only
 * when it is a window ahead. The types of the send and receive buffers may differ from each other
 * and between processes; only the packed size of a block is the same everywhere (packing.h).
 *
 * In an erroneous program, a process may expect another number of bytes than the root sends. The
 * scatter then returns the same error as a receive would, and the next call is not affected.
 *
 * Non-blocking and persistent scatters use a ring in steps (streamed.h). */
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"

#include <string.h>

#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/stream.h"
#include "coll_nicbarr/data/streamed.h"

/* ---- on one node ---- */

/* Send `count` blocks from block `first` on. `more`: the stream does not end with these blocks. */
static inline int send_blocks(struct myr_ring *ring, const struct nicbarr_side *all, uint32_t first,
                              uint32_t count, size_t block, bool more)
{
    struct nicbarr_side side = nicbarr_block_of(all, first);
    const size_t bytes = block * count;
    if (!nicbarr_is_dense(side.type)) {
        side.count *= (int)count;
        return nicbarr_stream_send_packed(ring, &side, bytes, block, more);
    }
    nicbarr_stream_send(ring, (struct nicbarr_rest){side.data, bytes, NULL, more}, block);
    return OMPI_SUCCESS;
}

static __attribute__((noinline)) int send_others(struct myr_ring *ring,
                                                 const struct nicbarr_side *all, size_t block)
{
    const uint32_t before = ring->rank, after = ring->size - ring->rank - 1;
    int rc = OMPI_SUCCESS;
    if (0 != before) {
        rc = send_blocks(ring, all, 0, before, block, 0 != after);
    }
    if (0 != after) {
        const int last = send_blocks(ring, all, ring->rank + 1, after, block, false);
        rc = OMPI_SUCCESS == rc ? last : rc;
    }
    return rc;
}

static inline int send_all(struct myr_ring *ring, const struct nicbarr_side *all, size_t block)
{
    return nicbarr_stream_omits_own(block) ? send_others(ring, all, block)
                                           : send_blocks(ring, all, 0, ring->size, block, false);
}

static inline int receive_own(struct myr_ring *ring, const struct nicbarr_side *own, size_t block,
                              int root)
{
    if (!nicbarr_is_dense(own->type)) {
        return nicbarr_stream_receive_packed(ring, own, block, (uint32_t)root);
    }
    const struct nicbarr_rest rest = {.data = own->data, .bytes = block};
    return nicbarr_stream_receive_part(ring, rest, (uint32_t)root, &block);
}

/* ---- across nodes ---- */

int nicbarr_carry_scattering(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                             struct nicbarr_carrier *carrier, const void *from, void *to,
                             size_t *bytes, int root)
{
    uint8_t all[NICBARR_EXCHANGE_MOST];
    const size_t size = (size_t)ompi_comm_size(comm), rank = (size_t)ompi_comm_rank(comm);
    size_t got = *bytes * size;
    if ((int)rank == root) {
        return nicbarr_carry_bcast(module, comm, carrier, (void *)from, &got, root);
    }
    const int rc = nicbarr_carry_bcast(module, comm, carrier, all, &got, root);
    *bytes = got / size;
    if (OMPI_SUCCESS == rc) {
        memcpy(to, all + rank * *bytes, *bytes);
    }
    return rc;
}

static int send_across(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                       struct nicbarr_carrier *carrier, const struct nicbarr_side *all,
                       size_t block, int root)
{
    const int size = ompi_comm_size(comm);
    uint8_t packed[NICBARR_EXCHANGE_MOST];
    const void *from = all->data;
    int packing = OMPI_SUCCESS;
    if (!nicbarr_is_dense(all->type)) {
        packing = nicbarr_pack_elements(all->data, all->count * size, all->type, packed,
                                        block * (size_t)size);
        from = packed; /* participate even after an error, because the other processes wait for this
                          one */
    }
    const int rc = nicbarr_carry_scattering(module, comm, carrier, from, NULL, &block, root);
    return OMPI_SUCCESS != rc ? rc : packing;
}

static int receive_across(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct nicbarr_carrier *carrier, const struct nicbarr_side *own,
                          size_t block, int root)
{
    uint8_t packed[NICBARR_EXCHANGE_MOST];
    void *to = nicbarr_is_dense(own->type) ? own->data : packed;
    const int rc = nicbarr_carry_scattering(module, comm, carrier, NULL, to, &block, root);
    return OMPI_SUCCESS != rc || to == own->data
               ? rc
               : nicbarr_unpack_elements(packed, block, own->data, own->count, own->type);
}

/* ---- the MPI functions ---- */

MYR_HOT int nicbarr_scatter(const void *from, nicbarr_count_t from_count,
                            ompi_datatype_t *from_type, void *to, nicbarr_count_t to_count,
                            ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
                            mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const bool is_root = root == ompi_comm_rank(comm);
    const size_t block = is_root ? nicbarr_packed_bytes(from_count, from_type)
                                 : nicbarr_packed_bytes(to_count, to_type);
    const size_t bytes = block * (size_t)ompi_comm_size(comm);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes || !nicbarr_data_serves(module, comm, NICBARR_SCATTER, bytes, root)) {
        return nicbarr_openmpi_scatter(from, from_count, from_type, to, to_count, to_type, root,
                                       comm, &module->openmpi);
    }
    struct nicbarr_carrier *carrier =
        module->across ? nicbarr_data_carrier(module, NICBARR_SCATTER, nicbarr_size_class(bytes))
                       : NULL;
    const struct nicbarr_side own = {to, to_count, to_type};
    if (!is_root) {
        return NULL != carrier ? receive_across(module, comm, carrier, &own, block, root)
                               : receive_own(&module->streamer.ring, &own, block, root);
    }
    const struct nicbarr_side all = {(void *)from, from_count, from_type};
    const int rc = NULL != carrier ? send_across(module, comm, carrier, &all, block, root)
                                   : send_all(&module->streamer.ring, &all, block);
    if (MPI_IN_PLACE == to || OMPI_SUCCESS != rc) {
        return rc;
    }
    const struct nicbarr_side kept = nicbarr_block_of(&all, (uint32_t)root);
    return nicbarr_copy_elements(&kept, &own);
}

/* ---- MPI_Iscatter, MPI_Scatter_init, on one node ---- */

/* Returns the arguments of this process as a stream. */
static struct nicbarr_streamed stream_of(const void *from, nicbarr_count_t from_count,
                                         ompi_datatype_t *from_type, void *to,
                                         nicbarr_count_t to_count, ompi_datatype_t *to_type,
                                         bool is_root)
{
    const struct nicbarr_side sent = {(void *)from, from_count, from_type},
                              received = {to, to_count, to_type}, none = {NULL, 0, NULL};
    return (struct nicbarr_streamed){
        .sent = is_root ? sent : none,
        .received = is_root && MPI_IN_PLACE == to ? none : received,
        .part = is_root ? nicbarr_packed_bytes(from_count, from_type)
                        : nicbarr_packed_bytes(to_count, to_type),
        .root = is_root,
    };
}

int nicbarr_iscatter(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                     void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                     ompi_communicator_t *comm, ompi_request_t **handle,
                     mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_streamed what =
        stream_of(from, from_count, from_type, to, to_count, to_type, root == ompi_comm_rank(comm));
    const size_t bytes = what.part * (size_t)ompi_comm_size(comm);
    if (0 == bytes || bytes > NICBARR_STEPS_MOST ||
        !nicbarr_data_serves_nonblocking(module, comm, NICBARR_SCATTER) ||
        !nicbarr_streamed_fits(module, bytes)) {
        return module->iscatter.function(from, from_count, from_type, to, to_count, to_type, root,
                                         comm, handle, module->iscatter.module);
    }
    nicbarr_streamed_start(module, comm, &what, handle);
    return OMPI_SUCCESS;
}

int nicbarr_scatter_init(const void *from, nicbarr_count_t from_count, ompi_datatype_t *from_type,
                         void *to, nicbarr_count_t to_count, ompi_datatype_t *to_type, int root,
                         ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                         mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const struct nicbarr_streamed what =
        stream_of(from, from_count, from_type, to, to_count, to_type, root == ompi_comm_rank(comm));
    const size_t bytes = what.part * (size_t)ompi_comm_size(comm);
    return nicbarr_streamed_init(module, comm, NICBARR_SCATTER, bytes, &what, handle)
               ? OMPI_SUCCESS
               : module->scatter_init.function(from, from_count, from_type, to, to_count, to_type,
                                               root, comm, info, handle,
                                               module->scatter_init.module);
}
