/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with data across nodes, independent of the kind of NIC; see nic_data.h.
 *
 * Parts and blocks are double-buffered, for even and odd epochs. A process writes into a buffer
 * only after the previous epoch is complete. By then all processes of the node have arrived in the
 * previous epoch, so they have finished the epoch before it, which used the same buffer. */
#include "libmyr/groups/nic_data.h"

#include <stdlib.h>

#include "firmware/engine.h"
#include "libmyr/groups/group_ops.h"

/* The smallest useful size of a block: 8 bytes for its epoch and length, and 8 bytes of data. */
enum { UNIT_LEAST = 16 };

uint32_t myr_nic_data_fit(const struct myr_carry *carry, uint32_t unit_most, uint32_t buffer_bytes)
{
    const uint32_t by_packet = 0 == carry->most ? MCP_PAYLOAD_MOST : MCP_PAYLOAD_MOST / carry->most;
    const uint32_t by_buffer = buffer_bytes / carry->buffer_blocks;
    uint32_t unit = by_packet < by_buffer ? by_packet : by_buffer;
    unit = (unit < unit_most ? unit : unit_most) / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT;
    return unit < UNIT_LEAST ? 0 : unit;
}

static enum myr_status fail_too_many_nodes(struct myr_error *error)
{
    return myr_fail(error, MYR_ERR_TOO_LONG, 0,
                    "the contributions of so many nodes do not fit into a packet");
}

enum myr_status myr_nic_data_new(const struct myr_nic_members *members, myr_schedule_fn schedule_of,
                                 const void *context, uint32_t buffer_bytes,
                                 struct myr_nic_data **data, struct myr_error *error)
{
    *data = NULL;
    if (0 == members->unit_most || members->broadcasts) {
        return MYR_OK;
    }
    if (members->nodes > MYR_CARRY_NODES) {
        return fail_too_many_nodes(error);
    }
    struct myr_nic_data *new = calloc(1, sizeof(*new));
    if (NULL == new || !myr_carry_plan(members->nodes, members->node, schedule_of, context,
                                       members->rooted, &new->carry)) {
        free(new);
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    new->unit_most = myr_nic_data_fit(&new->carry, members->unit_most, buffer_bytes);
    if (0 == new->unit_most) {
        myr_nic_data_free(new);
        return fail_too_many_nodes(error);
    }
    *data = new;
    return MYR_OK;
}

void myr_nic_data_free(struct myr_nic_data *data)
{
    if (NULL != data) {
        myr_carry_free(&data->carry);
        free(data);
    }
}

/* Returns the size of a buffer, which is padded to cache lines because buffers have different
 * writers. */
static size_t slice_bytes(uint32_t unit_most)
{
    return myr_whole_lines(unit_most);
}

size_t myr_nic_data_bytes(uint32_t locals, uint32_t unit_most)
{
    return MYR_LINE + (size_t)2 * (locals + 1) * slice_bytes(unit_most);
}

static uint8_t *slice_at(const struct myr_nic_data *data, uint32_t number)
{
    return (uint8_t *)data->shared + MYR_LINE + number * slice_bytes(data->unit_most);
}

static uint8_t *own_block(const struct myr_nic_data *data, uint32_t epoch)
{
    return slice_at(data, epoch % 2);
}

uint8_t *myr_nic_data_part_of(const struct myr_nic_group *group, uint32_t local)
{
    const uint32_t epoch = group->epoch + 1;
    return slice_at(group->data, 2 + 2 * local + epoch % 2);
}

/* Returns whether this process builds the node's block. If several processes arrive at the same
 * time, each of them may find that all have arrived. The atomic exchange elects one of them. */
static bool is_builder(struct myr_node_data *shared, uint32_t epoch)
{
    uint32_t before = epoch - 1;
    return atomic_compare_exchange_strong_explicit(&shared->building, &before, epoch,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

uint32_t myr_nic_data_arrive(struct myr_nic_group *group, uint32_t unit, myr_build_fn build,
                             void *context)
{
    const struct myr_nic_data *data = group->data;
    const uint32_t epoch = group->epoch + 1;
    if (group->locals > 1) {
        atomic_store(&group->arrivals[group->local], epoch);
    }
    if (myr_group_all_arrived(group, epoch) && is_builder(data->shared, epoch)) {
        uint8_t *block = own_block(data, epoch);
        if (NULL != build) {
            build(context, epoch, block);
        }
        data->shared->unit[epoch % 2] = unit;
        myr_store_release(&data->shared->built, epoch);
        group->ops->start(group, epoch, block, unit);
    }
    return group->epoch = epoch;
}

uint32_t myr_nic_data_built(const struct myr_nic_data *data, uint32_t epoch, const uint8_t **block)
{
    if (!myr_epoch_reached(myr_load_acquire(&data->shared->built), epoch)) {
        return UINT32_MAX;
    }
    *block = own_block(data, epoch);
    return data->shared->unit[epoch % 2];
}
