/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts across nodes, independent of the kind of NIC; see nic_bcast.h.
 *
 * The epochs of the group provide flow control. A process enters the next epoch whenever it has
 * finished with half a window of broadcasts, so it takes part in broadcast n after it has arrived
 * in epoch (n - 1) / (window / 2). If it is the root, it may send as soon as the epoch before that
 * one is complete, because all processes have then read the broadcasts that occupied this half of
 * the window before. */
#include "libmyr/groups/nic_bcast.h"

#include <stdlib.h>

#include "libmyr/groups/group_ops.h"
#include "os/clock.h"

/* The header of a block: the number of data bytes. The data follow, padded with zeros to
 * MCP_BLOCK_UNIT. */
struct head {
    uint32_t bytes, zero;
};

static uint32_t padded_bytes(uint32_t bytes)
{
    return (bytes + MCP_BLOCK_UNIT - 1) / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT;
}

enum myr_status myr_nic_bcast_new(const struct myr_nic_members *members,
                                  const struct myr_schedule *schedule, struct myr_nic_bcast **bcast,
                                  struct myr_error *error)
{
    *bcast = NULL;
    if (!members->broadcasts) {
        return MYR_OK;
    }
    const uint32_t wanted = (uint32_t)sizeof(struct head) + padded_bytes(members->unit_most);
    const uint32_t block = wanted < MCP_PAYLOAD_MOST ? wanted : MCP_PAYLOAD_MOST;
    struct myr_nic_bcast *new = calloc(1, sizeof(*new) + block);
    if (NULL == new) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    new->slot_bytes = mcp_bcast_slot_bytes(block);
    new->window = mcp_bcast_window(new->slot_bytes);
    new->nodes = members->nodes;
    new->node = members->node;
    new->block = (uint8_t *)(new + 1);
    if (!myr_spread_plan(schedule, members->nodes, members->node, &new->spread)) {
        free(new);
        return myr_fail(error, MYR_ERR_TOO_LONG, 0,
                        "this schedule does not support broadcasts, or not with so many nodes");
    }
    *bcast = new;
    return MYR_OK;
}

void myr_nic_bcast_free(struct myr_nic_bcast *bcast)
{
    if (NULL != bcast) {
        myr_spread_free(&bcast->spread);
        free(bcast);
    }
}

uint32_t myr_nic_bcast_most(const struct myr_nic_group *group)
{
    return group->bcast->slot_bytes -
           (uint32_t)(sizeof(struct mcp_bcast_slot) + sizeof(struct head));
}

void myr_nic_bcast_begin(struct myr_nic_group *group, uint32_t root)
{
    struct myr_nic_bcast *bcast = group->bcast;
    ++bcast->number;
    bcast->root = root;
    bcast->sent = 0;
    bcast->backoff.ends_ns = 0;
}

uint8_t *myr_nic_bcast_data(const struct myr_nic_group *group)
{
    return group->bcast->block + sizeof(struct head);
}

void myr_nic_bcast_send(struct myr_nic_group *group, uint32_t bytes)
{
    struct myr_nic_bcast *bcast = group->bcast;
    struct head *head = (struct head *)bcast->block;
    head->bytes = bytes;
    bcast->sent = (uint32_t)sizeof(*head) + padded_bytes(bytes);
    group->ops->bcast(group, bcast->number, bcast->block, bcast->sent);
}

const void *myr_nic_bcast_check(const struct myr_nic_group *group, uint32_t *bytes)
{
    const struct head *head =
        (const struct head *)((const struct mcp_bcast_slot *)myr_nic_bcast_word(group) + 1);
    const uint32_t most = myr_nic_bcast_most(group);
    *bytes = head->bytes < most ? head->bytes : most;
    return head + 1;
}

void myr_nic_bcast_end(struct myr_nic_group *group)
{
    const struct myr_nic_bcast *bcast = group->bcast;
    if (0 == (bcast->number & (bcast->window / 2 - 1))) {
        (void)myr_group_arrive_next(group);
    }
}

void myr_nic_bcast_leave_half(struct myr_nic_group *group)
{
    struct myr_nic_bcast *bcast = group->bcast;
    bcast->number = (bcast->number | (bcast->window / 2 - 1)) + 1;
}

/* ---- long waits ---- */

void myr_nic_bcast_remind(struct myr_nic_group *group)
{
    const uint64_t now_us = os_now_us();
    group->watched = myr_nic_bcast_word(group);
    group->ops->remind(group, now_us);
    myr_nic_bcast_remind_at(group, now_us);
}

void myr_nic_bcast_remind_at(struct myr_nic_group *group, uint64_t now_us)
{
    struct myr_nic_bcast *bcast = group->bcast;
    const uint64_t now_ns = 1000 * now_us;
    if (0 == bcast->backoff.ends_ns) {
        mcp_backoff_begin(&bcast->backoff, MCP_BACKOFF_NS, now_ns);
    } else if (!mcp_backoff_expired(&bcast->backoff, now_ns)) {
        return;
    } else if (0 != bcast->sent) { /* the doorbell with the block was lost */
        group->ops->bcast(group, bcast->number, bcast->block, bcast->sent);
    } else if (bcast->root != bcast->node) {
        group->ops->bcast_ask(group, bcast->root, bcast->number);
    }
}

bool myr_nic_bcast_missing(const struct myr_nic_group *group, struct mcp_missing *missing)
{
    const struct myr_nic_bcast *bcast = group->bcast;
    const struct mcp_bcast_slot *slot = (const struct mcp_bcast_slot *)myr_nic_bcast_word(group);
    const uint32_t from_root = (bcast->node + bcast->nodes - bcast->root) % bcast->nodes;
    if (0 == from_root) {
        return false;
    }
    *missing = (struct mcp_missing){
        .node = (bcast->node + bcast->nodes - bcast->spread.up[from_root]) % bcast->nodes,
        .heard_ms = myr_load_acquire(&slot->heard_ms),
    };
    return true;
}
