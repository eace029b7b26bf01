/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion of schedules to the tables of a NIC's group; see group_tables.h. */
#include "libmyr/groups/group_tables.h"

#include <stdlib.h>
#include <string.h>

#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"

/* ---- from a schedule to the NIC's tables ---- */

bool myr_fill_tables(const struct myr_schedule *schedule, uint32_t node,
                     myr_schedule_fn schedule_of, const void *context,
                     const struct myr_nic_data *data, const struct myr_nic_bcast *bcast,
                     struct mcp_step *steps, struct mcp_peer *peers)
{
    uint32_t *slots = myr_schedule_slots(schedule, node, schedule_of, context);
    struct mcp_peer *sends = peers, *waits = peers + myr_schedule_lengths(schedule).sends;
    uint32_t index = 0;
    if (NULL == slots) {
        return false;
    }
    for (uint32_t s = 0; s < schedule->nsteps; ++s) {
        steps[s] = schedule->steps[s];
        for (uint32_t i = 0; i < steps[s].sends + steps[s].waits; ++i, ++index) {
            struct mcp_peer **peer = i < steps[s].sends ? &sends : &waits;
            *(*peer)++ = (struct mcp_peer){
                .node = (uint16_t)schedule->peers[index],
                .slot = (uint16_t)slots[index],
                .blocks = NULL == data ? 0 : data->carry.blocks[index],
                .at = NULL != data    ? data->carry.at[index]
                      : NULL != bcast ? bcast->spread.reach[index]
                                      : 0,
            };
        }
    }
    free(slots);
    return true;
}

bool myr_group_fill(const struct myr_nic_group *group, struct mcp_group *mcp,
                    const struct myr_nic_members *members, const struct myr_schedule *schedule,
                    myr_schedule_fn schedule_of, const void *context)
{
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    mcp_group_init(mcp, members->key, members->nodes, members->node, lengths.steps, lengths.sends,
                   lengths.waits, 0);
    mcp->secret = members->secret;
    if (NULL != group->data) {
        mcp->buffer_blocks = group->data->carry.buffer_blocks;
        mcp->unit_most = group->data->unit_most;
    }
    if (NULL != group->bcast) {
        mcp->window = group->bcast->window;
        mcp->slot_bytes = group->bcast->slot_bytes;
        memset(mcp_group_window(mcp), 0, (size_t)mcp->window * mcp->slot_bytes);
    }
    return myr_fill_tables(schedule, members->node, schedule_of, context, group->data, group->bcast,
                           mcp_group_steps(mcp), mcp_group_sends(mcp));
}

/* ---- memory that follows the engine's group ---- */

static size_t buffer_bytes(const struct myr_nic_data *data)
{
    return (size_t)data->carry.buffer_blocks * data->unit_most;
}

size_t myr_group_behind_bytes(const struct myr_nic_group *group)
{
    const struct myr_nic_data *data = group->data;
    if (NULL != data) {
        return myr_whole_lines(2 * buffer_bytes(data)) +
               myr_nic_data_bytes(group->locals, data->unit_most);
    }
    return NULL == group->bcast ? 0 : (size_t)group->bcast->window * group->bcast->slot_bytes;
}

void myr_group_set_behind(const struct myr_nic_group *group, uint8_t *behind)
{
    struct myr_nic_data *data = group->data;
    if (NULL != data) {
        data->buffers[0] = behind;
        data->buffers[1] = behind + buffer_bytes(data);
        data->shared = (struct myr_node_data *)(behind + myr_whole_lines(2 * buffer_bytes(data)));
    }
    if (NULL != group->bcast) {
        group->bcast->slots = behind;
    }
}
