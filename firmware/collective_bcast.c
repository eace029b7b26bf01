/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts of one NIC: the slots and the messages; see collective.h and bcast.h. */
#include "firmware/bcast.h"

#include "firmware/collective_inside.h"

/* Returns the slot of a broadcast. The group must have a window. */
static struct mcp_bcast_slot *slot_of(struct mcp_group *group, uint32_t number)
{
    return (struct mcp_bcast_slot *)(mcp_group_window(group) +
                                     mcp_bcast_offset(group->window, group->slot_bytes, number));
}

enum mcp_recorded mcp_collective_take_block(struct mcp_board *board, struct mcp_counters *counters,
                                            struct mcp_group *group, uint32_t root, uint32_t number,
                                            const void *block, uint32_t bytes)
{
    struct mcp_bcast_slot *slot = slot_of(group, number);
    struct mcp_message message;
    const enum mcp_recorded recorded =
        mcp_bcast_take(group, root, myr_load_relaxed(&slot->number), number, bytes);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    __builtin_memcpy(slot + 1, block, bytes);
    slot->bytes = bytes;
    myr_store_release(&slot->number, number);
    for (uint32_t s = 0; s < group->nsends; ++s) {
        if (mcp_bcast_child(group, s, root)) {
            mcp_bcast_message(group, s, root, number, bytes, &message);
            mcp_collective_send(board, group, &message, slot + 1);
        }
    }
    ++counters->broadcasts;
    board->ops.wake(board, &slot->number);
    return MCP_RECORDED;
}

bool mcp_collective_bcast(struct mcp_board *board, struct mcp_counters *counters,
                          struct mcp_group *group, uint32_t number, const void *block,
                          uint32_t bytes)
{
    return 0 != group->window &&
           MCP_IMPLAUSIBLE !=
               mcp_collective_take_block(board, counters, group, group->node, number, block, bytes);
}

void mcp_collective_bcast_ask(struct mcp_board *board, struct mcp_counters *counters,
                              struct mcp_group *group, uint32_t root, uint32_t number)
{
    struct mcp_message message;
    if (mcp_bcast_ask(group, root, number, &message)) {
        ++counters->asked;
        mcp_collective_send(board, group, &message, NULL);
    }
}

void mcp_collective_answer_bcast(struct mcp_board *board, struct mcp_counters *counters,
                                 struct mcp_group *group, const struct mcp_collective_part *part)
{
    struct mcp_bcast_slot *slot = slot_of(group, part->epoch);
    struct mcp_message message;
    if (!mcp_bcast_answer(group, part->node, part->slot, part->epoch,
                          myr_load_relaxed(&slot->number), slot->bytes, &message)) {
        return;
    }
    mcp_collective_send(board, group, &message, MCP_BCAST == message.header.type ? slot + 1 : NULL);
    if (MCP_BCAST_LATER == message.header.type) {
        ++counters->later;
        mcp_collective_bcast_ask(board, counters, group, part->slot, part->epoch);
    } else {
        ++counters->answered;
    }
}

enum mcp_recorded mcp_collective_hear_bcast(struct mcp_board *board, struct mcp_group *group,
                                            const struct mcp_collective_part *part)
{
    struct mcp_bcast_slot *slot = slot_of(group, part->epoch);
    const enum mcp_recorded recorded =
        mcp_bcast_hear(group, part->node, part->slot, part->epoch, myr_load_relaxed(&slot->number));
    if (MCP_RECORDED == recorded) {
        const uint32_t now_ms = (uint32_t)(board->ops.now_ns(board) / 1000000);
        myr_store_release(&slot->heard_ms, now_ms + (0 == now_ms));
    }
    return recorded;
}
