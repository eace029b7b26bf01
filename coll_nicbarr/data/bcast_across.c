/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Bcast, MPI_Ibcast and MPI_Bcast_init across nodes, where NICs forward the data of the root
 * (libmyr/groups/nic_bcast.h).
 *
 * The root returns as soon as its NIC has taken the data. It waits for other processes only if it
 * is a whole window ahead of the slowest one. All other processes, including those on the node of
 * the root, wait until the NIC of their node has received the data, and read them from the NIC's
 * memory.
 *
 * Longer data are cut into several blocks. A block that is not full is the last one. Therefore a
 * process finds the end of the data even if it expects another number of bytes than the root sends,
 * and the next broadcast is not affected. In most classes a block has space for one byte more than
 * the largest payload of the class, so that a payload of this size need not be followed by an empty
 * block. */
#include "coll_nicbarr/data/carriers.h"
#include "coll_nicbarr/data/data.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/data/persistent.h"
#include "coll_nicbarr/no_memory.h"
#include "coll_nicbarr/overdue.h"
#include "coll_nicbarr/requests.h"
#include "libmyr/groups/nic_bcast.h"

#include <stdlib.h>
#include <string.h>

uint32_t nicbarr_bcast_unit(uint32_t bytes)
{
    return bytes + 1;
}

/* ---- progress ---- */

void nicbarr_carried_bcast_begin(const mca_coll_nicbarr_module_t *module,
                                 const ompi_communicator_t *comm, struct nicbarr_carrier *carrier,
                                 struct nicbarr_carried_bcast *carried, void *data, size_t bytes,
                                 int root)
{
    *carried = (struct nicbarr_carried_bcast){
        .data = data,
        .left = bytes,
        .node = module->nodes.of[root],
        .root = root == ompi_comm_rank((ompi_communicator_t *)comm),
        .ticket = carrier->begun++,
    };
}

static inline void send_block(struct myr_nic_group *group, struct nicbarr_carried_bcast *carried)
{
    const uint32_t most = myr_nic_bcast_most(group);
    carried->bytes = carried->left < most ? (uint32_t)carried->left : most;
    memcpy(myr_nic_bcast_data(group), carried->data, carried->bytes);
    myr_nic_bcast_send(group, carried->bytes);
    carried->sent = true;
}

/* Copy a received block to its destination. Returns true if it was the last one. */
static inline bool receive_block(const struct myr_nic_group *group,
                                 struct nicbarr_carried_bcast *carried)
{
    uint32_t bytes = carried->bytes;
    const void *block = carried->root ? NULL : myr_nic_bcast_check(group, &bytes);
    if (__builtin_expect(bytes > carried->left, 0)) {
        carried->rc = MPI_ERR_TRUNCATE; /* the remaining blocks are still consumed */
    } else {
        if (NULL != block) {
            memcpy(carried->data, block, bytes);
        }
        carried->data += bytes;
        carried->left -= bytes;
    }
    return bytes < myr_nic_bcast_most(group);
}

/* Advance the broadcast as far as possible. The root, too, waits until the block has arrived at its
 * NIC, which usually happens immediately. If the doorbell that announces the block to the NIC was
 * lost, the functions that wait for the block ring it again. */
bool nicbarr_carried_bcast_progress(struct nicbarr_carrier *carrier,
                                    struct nicbarr_carried_bcast *carried)
{
    struct myr_nic_group *group = &carrier->group;
    bool complete = false;
    if (carried->ticket != carrier->served) {
        return false;
    }
    do {
        if (!carried->begun) {
            myr_nic_bcast_begin(group, carried->node);
            carried->begun = true;
            carried->sent = !carried->root;
        }
        if (!carried->sent) {
            if (!myr_nic_bcast_room(group)) {
                return false;
            }
            send_block(group, carried);
        }
        if (!myr_nic_bcast_test(group)) {
            return false;
        }
        complete = receive_block(group, carried);
        myr_nic_bcast_end(group);
        carried->begun = false;
    } while (!complete);
    ++carrier->served;
    return true;
}

/* Wait for space in the window, or for the next block. */
static int wait_for_block(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                          struct myr_nic_group *group, const struct nicbarr_carried_bcast *carried)
{
    const uint32_t epoch = group->epoch - 1;
    if (carried->sent) {
        return myr_nic_group_wait_bcast(group, NICBARR_CHECK_US)
                   ? OMPI_SUCCESS
                   : nicbarr_overdue_bcast(module, comm, group);
    }
    return myr_nic_group_wait(group, epoch, NICBARR_CHECK_US)
               ? OMPI_SUCCESS
               : nicbarr_overdue_wait(module, comm, group, epoch);
}

int nicbarr_carry_bcast(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_carrier *carrier, void *data, size_t *bytes, int root)
{
    struct nicbarr_carried_bcast carried;
    while (0 != myr_load_acquire(&carrier->outstanding)) { /* see nicbarr_carry_reduction() */
        opal_progress();
    }
    nicbarr_carried_bcast_begin(module, comm, carrier, &carried, data, *bytes, root);
    while (!nicbarr_carried_bcast_progress(carrier, &carried)) {
        const int rc = wait_for_block(module, comm, &carrier->group, &carried);
        if (OMPI_SUCCESS != rc) {
            ++carrier->served;
            return rc;
        }
    }
    *bytes -= carried.left;
    return carried.rc;
}

/* Broadcast data of a type with gaps, in packed form. */
static int carry_packed(mca_coll_nicbarr_module_t *module, ompi_communicator_t *comm,
                        struct nicbarr_carrier *carrier, void *buffer, nicbarr_count_t count,
                        const ompi_datatype_t *type, size_t bytes, int root)
{
    uint8_t packed[NICBARR_EXCHANGE_MOST];
    const bool is_root = root == ompi_comm_rank(comm);
    const int packing =
        is_root ? nicbarr_pack_elements(buffer, count, type, packed, bytes) : OMPI_SUCCESS;
    /* This process participates even after an error, because the others wait for it. */
    const int rc = nicbarr_carry_bcast(module, comm, carrier, packed, &bytes, root);
    if (OMPI_SUCCESS != rc || is_root) {
        return OMPI_SUCCESS != rc ? rc : packing;
    }
    return nicbarr_unpack_elements(packed, bytes, buffer, count, type);
}

MYR_HOT int nicbarr_bcast_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type,
                                 int root, ompi_communicator_t *comm, mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    size_t bytes = nicbarr_packed_bytes(count, type);
    nicbarr_data_check_pending(module, comm);
    if (0 == bytes || !nicbarr_data_serves(module, comm, NICBARR_BCAST, bytes, root)) {
        return nicbarr_openmpi_bcast(buffer, count, type, root, comm, &module->openmpi);
    }
    struct nicbarr_carrier *carrier =
        nicbarr_data_carrier(module, NICBARR_BCAST, nicbarr_size_class(bytes));
    return nicbarr_is_dense(type)
               ? nicbarr_carry_bcast(module, comm, carrier, buffer, &bytes, root)
               : carry_packed(module, comm, carrier, buffer, count, type, bytes, root);
}

/* ---- MPI_Ibcast ---- */

static void begin_bcast_across(nicbarr_request_t *request)
{
    struct nicbarr_carrier *carrier = request->of.bcast.carrier;
    struct nicbarr_carried_bcast *carried = &request->of.bcast.carried;
    const ompi_datatype_t *type = request->of.bcast.type;
    void *buffer = request->of.bcast.buffer, *packed = request->of.bcast.packed;
    const nicbarr_count_t count = request->of.bcast.count;
    const size_t bytes = nicbarr_packed_bytes(count, type);
    nicbarr_carried_bcast_begin(request->module, request->super.req_mpi_object.comm, carrier,
                                carried, NULL != packed ? packed : buffer, bytes,
                                request->of.bcast.root);
    /* This process participates even after an error, because the others wait for it. */
    if (carried->root && NULL != packed) {
        carried->rc = nicbarr_pack_elements(buffer, count, type, packed, bytes);
    }
    atomic_fetch_add_explicit(&carrier->outstanding, 1, memory_order_relaxed);
}

static void end_bcast_across(nicbarr_request_t *request)
{
    atomic_fetch_sub_explicit(&request->of.bcast.carrier->outstanding, 1, memory_order_release);
}

/* Unpack the received bytes, if the type has gaps. */
static int unpack_bcast(const nicbarr_request_t *request)
{
    const struct nicbarr_carried_bcast *carried = &request->of.bcast.carried;
    const void *packed = request->of.bcast.packed;
    if (OMPI_SUCCESS != carried->rc || carried->root || NULL == packed) {
        return carried->rc;
    }
    return nicbarr_unpack_elements(packed, (size_t)(carried->data - (const uint8_t *)packed),
                                   request->of.bcast.buffer, request->of.bcast.count,
                                   request->of.bcast.type);
}

static bool test_bcast_across(nicbarr_request_t *request)
{
    if (!nicbarr_carried_bcast_progress(request->of.bcast.carrier, &request->of.bcast.carried)) {
        return false;
    }
    if (request->reminded) {
        nicbarr_request_wait_ended(request, &request->of.bcast.carrier->group);
    }
    request->super.req_status.MPI_ERROR = unpack_bcast(request);
    end_bcast_across(request);
    return true;
}

/* Broadcasts of a carrier are executed one after the other, so only the oldest one waits for the
 * network. */
static bool remind_bcast_across(nicbarr_request_t *request, bool check)
{
    struct nicbarr_carrier *carrier = request->of.bcast.carrier;
    const struct nicbarr_carried_bcast *carried = &request->of.bcast.carried;
    const struct nicbarr_wait wait = {.block = carried->sent};
    if (carried->ticket != carrier->served ||
        !nicbarr_request_remind(request, &carrier->group, wait, check)) {
        return false;
    }
    ++carrier->served;
    end_bcast_across(request);
    return true;
}

static void free_packed_bcast(nicbarr_request_t *request)
{
    free(request->of.bcast.packed);
}

static const struct nicbarr_operation across = {begin_bcast_across, test_bcast_across,
                                                remind_bcast_across, free_packed_bcast};

static void fill_request(nicbarr_request_t *request, struct nicbarr_carrier *carrier, void *buffer,
                         nicbarr_count_t count, ompi_datatype_t *type, int root)
{
    request->of.bcast.carrier = carrier;
    request->of.bcast.buffer = buffer;
    request->of.bcast.packed = nicbarr_is_dense(type)
                                   ? NULL
                                   : nicbarr_allocate(request->super.req_mpi_object.comm,
                                                      nicbarr_packed_bytes(count, type));
    request->of.bcast.count = count;
    request->of.bcast.type = type;
    request->of.bcast.root = root;
}

int nicbarr_ibcast_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, ompi_request_t **handle,
                          mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    const size_t bytes = nicbarr_packed_bytes(count, type);
    struct nicbarr_carrier *carrier = nicbarr_data_carrier_for_call(
        module, NICBARR_BCAST, nicbarr_from_progress(bytes) ? 0 : bytes, root);
    if (NULL == carrier) {
        return module->ibcast.function(buffer, count, type, root, comm, handle,
                                       module->ibcast.module);
    }
    nicbarr_request_t *request = nicbarr_request_new(&across, module, comm, false);
    fill_request(request, carrier, buffer, count, type, root);
    nicbarr_request_start(request);
    *handle = &request->super;
    return OMPI_SUCCESS;
}

/* ---- MPI_Bcast_init ---- */

int nicbarr_bcast_init_across(void *buffer, nicbarr_count_t count, ompi_datatype_t *type, int root,
                              ompi_communicator_t *comm, MPI_Info info, ompi_request_t **handle,
                              mca_coll_base_module_t *base)
{
    mca_coll_nicbarr_module_t *module = (mca_coll_nicbarr_module_t *)base;
    struct nicbarr_persistent what = {.type = type};
    const int rc = nicbarr_data_own_carrier(module, comm, NICBARR_BCAST,
                                            nicbarr_packed_bytes(count, type), &what.carrier);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!myr_nic_group_joined(&what.carrier.group)) {
        return module->bcast_init.function(buffer, count, type, root, comm, info, handle,
                                           module->bcast_init.module);
    }
    nicbarr_request_t *request = nicbarr_persistent_new(&across, module, comm, &what);
    fill_request(request, &request->persistent->carrier, buffer, count, type, root);
    *handle = &request->super;
    return OMPI_SUCCESS;
}
