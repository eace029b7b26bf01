/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts in a group: one node, the root, has a block, and the NICs forward this block to all
 * nodes.
 *
 * A broadcast is loosely synchronous (see Zhang's thesis): the root does not wait for the other
 * nodes, and a NIC forwards a block as soon as it arrives, even if the NIC's host has not called
 * the broadcast yet. Each broadcast may have a different root. Broadcasts are numbered from 1, in
 * the order in which the hosts call them. As this order is the same on all hosts, they need not
 * exchange the numbers.
 *
 * Tree. A group that broadcasts has the schedule of a dissemination barrier (Hoefler): if the nodes
 * form a ring, each node has a message to the node at each distance d = i * b^k. b^k is called the
 * reach of the message. These messages contain a tree for every root: the block starts at the root,
 * and each node whose distance from the root is less than b^k forwards the block to the node at
 * distance d, unless this would go past the root. Each node then gets the block exactly once. The
 * tree has degree b (it is a binomial tree if b is 2). A single table of messages thus suffices for
 * all roots.
 *
 * Window. Each block is stored in a slot, whose index is the number of the broadcast modulo the
 * size of the window, and the hosts read the block there. When all processes of a node have read
 * half of the window, the node arrives in an epoch of the group's barrier. When this epoch is
 * complete, all nodes have read this half, so roots may reuse it. A root that is a whole window
 * ahead of the slowest host has to wait, so memory is bounded. The cost of this flow control is one
 * barrier for each half of the window, which is not on the critical path.
 *
 * Loss. When a host has waited for a block for some time, its NIC requests the block from its
 * parent in the tree. If the parent does not have the block either, it says so in its reply, and
 * requests the block from its own parent. Thus the request finally reaches a node that has the
 * block, in the worst case the root. A request never comes too late, because slots are kept until
 * all nodes have read them. Duplicates are not forwarded.
 *
 * The engine only makes decisions; its caller copies and sends. All functions follow the
 * conventions of engine.h. */
#ifndef MCP_BCAST_H
#define MCP_BCAST_H

#include "firmware/engine.h"

/* The header of a slot, followed by the block. All slots are initially 0. */
struct mcp_bcast_slot {
    myr_word number;   /* number of the broadcast in this slot; written after the block */
    myr_word sleepers; /* hosts that sleep on the number; soft NIC only */
    myr_word heard_ms; /* time at which a NIC last reported that the next block for this slot has
                          not been sent yet; unit and clock as in missing.h */
    uint32_t bytes;    /* size of the block */
};

/* Limits of a window, in bytes and in slots. */
enum { MCP_BCAST_BYTES = 65536, MCP_BCAST_SLOTS = 64 };

/* mcp_bcast_slot_bytes() returns the size of a slot for blocks of at most `block` bytes (a multiple
 * of MCP_BLOCK_UNIT, and at most MCP_PAYLOAD_MOST). mcp_bcast_window() returns how many slots of
 * this size a window contains, which is at least 32. */
static inline uint32_t mcp_bcast_slot_bytes(uint32_t block)
{
    return (uint32_t)sizeof(struct mcp_bcast_slot) + block;
}

static inline uint32_t mcp_bcast_window(uint32_t slot_bytes)
{
    uint32_t window = MCP_BCAST_SLOTS;
    while (window * slot_bytes > MCP_BCAST_BYTES) {
        window /= 2;
    }
    return window;
}

/* Returns the last broadcast that may begin once `epoch` is complete. */
static inline uint32_t mcp_bcast_credit(uint32_t window, uint32_t epoch)
{
    return (epoch + 2) * (window / 2);
}

/* Returns the offset of a broadcast's slot in the window (bytes). */
static inline uint32_t mcp_bcast_offset(uint32_t window, uint32_t slot_bytes, uint32_t number)
{
    return (number & (window - 1)) * slot_bytes;
}

/* Checks a block that has arrived from the wire or, at the root, from the host of this node. `held`
 * is the number of the broadcast that its slot contains so far. Returns MCP_RECORDED if the block
 * is accepted: the caller copies it into the slot, publishes the number, and then forwards the
 * block to all children. Returns MCP_KNOWN for a duplicate, and MCP_IMPLAUSIBLE otherwise. */
MCP_ENGINE enum mcp_recorded mcp_bcast_take(const struct mcp_group *group, uint32_t root,
                                            uint32_t held, uint32_t number, uint32_t bytes);

/* Returns whether the message at this index of the table of sends is for a child in the tree of
 * `root`. */
MCP_ENGINE bool mcp_bcast_child(struct mcp_group *group, uint32_t index, uint32_t root);

/* Fills in the message that forwards a block from its slot to the child at this index. */
MCP_ENGINE void mcp_bcast_message(struct mcp_group *group, uint32_t index, uint32_t root,
                                  uint32_t number, uint32_t bytes, struct mcp_message *message);

/* Fills in the ASK by which this node requests a missing block from its parent in the tree. Returns
 * false if this node is the root, which has no parent. */
MCP_ENGINE bool mcp_bcast_ask(struct mcp_group *group, uint32_t root, uint32_t number,
                              struct mcp_message *message);

/* Handles a request for a block, which another node, `node`, has sent to this one. `held` is the
 * number of the broadcast that the block's slot contains, and `bytes` is the size of its block.
 * Returns true if `message` is to be sent in reply: the block, a FAIL, or a BCAST_LATER if the
 * block has not arrived here. In the last case the caller also requests the block for this node.
 * Returns false if this node does not have to send the block to that node, or if that node must
 * already have the block. */
MCP_ENGINE bool mcp_bcast_answer(struct mcp_group *group, uint32_t node, uint32_t root,
                                 uint32_t number, uint32_t held, uint32_t bytes,
                                 struct mcp_message *message);

/* Handles a BCAST_LATER, by which `node`, the parent of this node in the tree, reports that it does
 * not have the block yet. `held` is the number of the broadcast that the block's slot contains. If
 * this returns MCP_RECORDED, the caller stores the time of the report in this slot. */
MCP_ENGINE enum mcp_recorded mcp_bcast_hear(struct mcp_group *group, uint32_t node, uint32_t root,
                                            uint32_t number, uint32_t held);

#endif
