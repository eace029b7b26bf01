/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithm of a group's broadcasts; see bcast.h. */
#include "firmware/bcast.h"

#include "firmware/engine_inside.h"

/* Returns the distance from `from` to `node`, in ring order. */
INSIDE uint32_t ring_distance(const struct mcp_group *group, uint32_t from, uint32_t node)
{
    return node >= from ? node - from : node + group->last_node + 1 - from;
}

/* Returns whether a node at distance `from_root` from the root forwards the block to the node that
 * is another `further` away. */
INSIDE bool forwards_to(const struct mcp_group *group, uint32_t from_root, uint32_t further,
                        uint32_t reach)
{
    return from_root < reach && from_root + further <= group->last_node;
}

/* Returns true if the group broadcasts and has a node with the number `root`. If a packet with an
 * invalid root were accepted, the nodes would disagree about their order on the ring, and a request
 * for a missing block might never reach the root. */
INSIDE bool is_valid_root(const struct mcp_group *group, uint32_t root)
{
    return 0 != group->window && root <= group->last_node;
}

/* Returns whether this node already has the block of broadcast `number`, which is then in its slot,
 * or no longer needs the block, because the node has entered the epoch that follows this broadcast.
 * Checking only the slot is not sufficient: a barrier may skip slots, and the number in a skipped
 * slot can be arbitrarily old. */
INSIDE bool cannot_miss_block(const struct mcp_group *group, uint32_t number, uint32_t held)
{
    return held == number || myr_epoch_reached(group->started * (group->window / 2), number);
}

MCP_ENGINE enum mcp_recorded mcp_bcast_take(const struct mcp_group *group, uint32_t root,
                                            uint32_t held, uint32_t number, uint32_t bytes)
{
    const uint32_t credit = mcp_bcast_credit(group->window, group->started);
    if (!is_valid_root(group, root) || !myr_epoch_reached(credit, number) ||
        bytes > group->slot_bytes - sizeof(struct mcp_bcast_slot) ||
        0 != myr_load_relaxed(&group->failed)) {
        return MCP_IMPLAUSIBLE;
    }
    return cannot_miss_block(group, number, held) ? MCP_KNOWN : MCP_RECORDED;
}

MCP_ENGINE bool mcp_bcast_child(struct mcp_group *group, uint32_t index, uint32_t root)
{
    const struct mcp_peer *to = peer_at(group, index);
    return forwards_to(group, ring_distance(group, root, group->node),
                       ring_distance(group, group->node, to->node), to->at);
}

MCP_ENGINE void mcp_bcast_message(struct mcp_group *group, uint32_t index, uint32_t root,
                                  uint32_t number, uint32_t bytes, struct mcp_message *message)
{
    address_message(group, message, index, MCP_BCAST, root, number);
    message->bytes = bytes;
}

/* Returns the parent's index among the peers, or 0 if this node is the root, which has no
 * parent. */
INSIDE uint32_t find_parent(struct mcp_group *group, uint32_t root)
{
    const uint32_t from_root = ring_distance(group, root, group->node);
    for (uint32_t w = 0; BELOW(w, group->nwaits, MCP_KERNEL_MESSAGES); ++w) {
        const uint32_t index = group->nsends + w;
        const struct mcp_peer *from = peer_at(group, index);
        const uint32_t further = ring_distance(group, from->node, group->node);
        if (further <= from_root && forwards_to(group, from_root - further, further, from->at)) {
            return hide_from_verifier(group, index);
        }
    }
    return 0;
}

MCP_ENGINE bool mcp_bcast_ask(struct mcp_group *group, uint32_t root, uint32_t number,
                              struct mcp_message *message)
{
    const uint32_t index = is_valid_root(group, root) ? find_parent(group, root) : 0;
    if (0 == index || 0 != myr_load_relaxed(&group->failed)) {
        return false;
    }
    address_message(group, message, index, MCP_BCAST_ASK, root, number);
    return true;
}

/* Returns the child's index among the peers, or UINT32_MAX if that node is not a child. */
INSIDE uint32_t find_child(struct mcp_group *group, uint32_t node, uint32_t root)
{
    for (uint32_t s = 0; BELOW(s, group->nsends, MCP_KERNEL_MESSAGES); ++s) {
        if (peer_at(group, s)->node == node && mcp_bcast_child(group, s, root)) {
            return hide_from_verifier(group, s);
        }
    }
    return UINT32_MAX;
}

MCP_ENGINE bool mcp_bcast_answer(struct mcp_group *group, uint32_t node, uint32_t root,
                                 uint32_t number, uint32_t held, uint32_t bytes,
                                 struct mcp_message *message)
{
    const uint32_t index = is_valid_root(group, root) ? find_child(group, node, root) : UINT32_MAX;
    if (UINT32_MAX == index) {
        return false;
    }
    if (held == number && 0 != bytes) { /* a slot that has never held a block also has a number */
        mcp_bcast_message(group, index, root, number, bytes, message);
        return true;
    }
    address_message(group, message, index, MCP_BCAST_LATER, root, number);
    make_failure(group, message);
    return MCP_FAIL == message->header.type || !cannot_miss_block(group, number, held);
}

MCP_ENGINE enum mcp_recorded mcp_bcast_hear(struct mcp_group *group, uint32_t node, uint32_t root,
                                            uint32_t number, uint32_t held)
{
    const uint32_t index = is_valid_root(group, root) ? find_parent(group, root) : 0;
    if (0 == index || peer_at(group, index)->node != node) {
        return MCP_IMPLAUSIBLE;
    }
    return cannot_miss_block(group, number, held) ? MCP_KNOWN : MCP_RECORDED;
}
