/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Bcast on several nodes: their NICs hand the root's bytes on (libmyr/nic_bcast.h).
 *
 * The root sends and returns. It waits only where it is a whole window ahead of the slowest
 * process. All others wait until their node's NIC has the bytes, and read them there; so do those
 * of the root's node.
 *
 * What does not fit into a block goes as several. A block that is full is followed by another one.
 * So whoever expects another number of bytes than the root sends still finds the end, and is in
 * step again. Blocks of most classes have room for a byte more than the class has, so that there is
 * no empty one behind them.
 */
#include "coll_nicbarr/carrier.h"
#include "coll_nicbarr/data.h"
#include "coll_nicbarr/overdue.h"
#include "coll_nicbarr/packing.h"
#include "libmyr/nic_bcast.h"

#include <string.h>

uint32_t nicbarr_bcast_unit(uint32_t bytes)
{
    return bytes + 1;
}

static inline int wait_for_room(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                struct myr_nic_group *group)
{
    const uint32_t epoch = group->epoch - 1;
    return __builtin_expect(myr_nic_bcast_room(group), 1) ||
                   myr_nic_group_wait(group, epoch, NICBARR_LOOK_US)
               ? OMPI_SUCCESS
               : nicbarr_overdue_wait(module, comm, group, epoch);
}

static inline int wait_for_block(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                                 struct myr_nic_group *group)
{
    return __builtin_expect(myr_nic_bcast_wait(group, NICBARR_LOOK_US), 1)
               ? OMPI_SUCCESS
               : nicbarr_overdue_bcast(module, comm, group);
}

/* (A NIC has the block at once, unless its doorbell was lost. Then waiting rings again.) */
static inline int send_all(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                           struct myr_nic_group *group, const uint8_t *data, size_t left,
                           uint32_t node)
{
    const uint32_t most = myr_nic_bcast_most(group);
    uint32_t bytes;
    do {
        bytes = left < most ? (uint32_t)left : most;
        myr_nic_bcast_begin(group, node);
        int rc = wait_for_room(module, comm, group);
        if (OMPI_SUCCESS == rc) {
            memcpy(myr_nic_bcast_data(group), data, bytes);
            myr_nic_bcast_send(group, bytes);
            rc = myr_nic_bcast_test(group) ? OMPI_SUCCESS : wait_for_block(module, comm, group);
        }
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
        myr_nic_bcast_end(group);
        data += bytes;
        left -= bytes;
    } while (bytes == most);
    return OMPI_SUCCESS;
}

static inline int receive_all(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                              struct myr_nic_group *group, uint8_t *data, size_t *bytes,
                              uint32_t node)
{
    const uint32_t most = myr_nic_bcast_most(group);
    const size_t room = *bytes;
    uint32_t sent;
    int rc = OMPI_SUCCESS;
    *bytes = 0;
    do {
        myr_nic_bcast_begin(group, node);
        const int failed = wait_for_block(module, comm, group);
        if (OMPI_SUCCESS != failed) {
            return failed;
        }
        const void *block = myr_nic_bcast_look(group, &sent);
        if (__builtin_expect(sent > room - *bytes, 0)) {
            rc = MPI_ERR_TRUNCATE; /* it goes on nevertheless, to stay in step */
        } else {
            memcpy(data + *bytes, block, sent);
            *bytes += sent;
        }
        myr_nic_bcast_end(group);
    } while (sent == most);
    return rc;
}

int nicbarr_carry_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct myr_nic_group *group, void *data, size_t *bytes, int root)
{
    const uint32_t node = module->nodes.of[root];
    return root == ompi_comm_rank(comm) ? send_all(module, comm, group, data, *bytes, node)
                                        : receive_all(module, comm, group, data, bytes, node);
}

/* By way of memory without gaps. */
static int carry_packed(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct myr_nic_group *group, void *buffer, int count,
                        const ompi_datatype_t *type, size_t bytes, int root)
{
    uint8_t packed[NICBARR_EXCHANGE_MOST];
    const bool is_root = root == ompi_comm_rank(comm);
    const int packing =
        is_root ? nicbarr_to_bytes(buffer, count, type, packed, bytes) : OMPI_SUCCESS;
    /* (Whatever happened: the others wait.) */
    const int rc = nicbarr_carry_bcast(module, comm, group, packed, &bytes, root);
    const int unpacking =
        is_root ? packing : nicbarr_from_bytes(packed, bytes, buffer, count, type);
    return OMPI_SUCCESS != rc ? rc : unpacking;
}

MYR_HOT int nicbarr_bcast_across(void *buffer, int count, ompi_datatype_t *type, int root,
                                 ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    size_t size;
    (void)ompi_datatype_type_size(type, &size);
    size_t bytes = size * (size_t)count;
    nicbarr_data_attend(module, comm);
    /* (While something is measured, what all agree on goes by Open MPI's own.) */
    if (0 == bytes || module->tuning || !nicbarr_data_ours(module, comm, NICBARR_BCAST, bytes)) {
        return module->bcast.function(buffer, count, type, root, comm, module->bcast.module);
    }
    struct myr_nic_group *group =
        &nicbarr_data_carrier(module, NICBARR_BCAST, nicbarr_size_class(bytes))->group;
    return nicbarr_is_dense(type)
               ? nicbarr_carry_bcast(module, comm, group, buffer, &bytes, root)
               : carry_packed(module, comm, group, buffer, count, type, bytes, root);
}
