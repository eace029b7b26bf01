/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcasts of a group: one node, the root, has a block; the NICs hand it on to all nodes.
 *
 * It is loosely synchronous (Zhang's thesis): the root does not wait for anybody. A NIC hands a
 * block on as soon as it comes, whether its host is there or not. Broadcasts are numbered from 1
 * on, as all hosts call them in the same order. Each may have another root.
 *
 * Tree. A group that broadcasts has the schedule of a dissemination barrier (Hoefler). Its messages
 * go to the nodes d = i * b^k further on, around the circle of nodes. If the block starts at the
 * root, and each node whose distance from the root is less than b^k sends to d = i * b^k, as long
 * as that does not go around, then each node gets it once: the tree of degree b, binomial where b
 * is 2. So one table has a tree for each root. The b^k is the message's reach.
 *
 * Window. A block goes into a slot: the broadcast's number modulo the window's size. Hosts read it
 * there. When all processes of a node have read half a window, the node enters an epoch of the
 * group's barrier. So when an epoch is complete, everybody is done with that half, and roots may
 * fill it anew. A root may be ahead of the slowest host by a whole window, and waits then. Memory
 * is bounded, and a credit costs one barrier for half a window, which nobody waits for.
 *
 * Loss. A host that waits for a block has its NIC ask its parent in the tree. A NIC that does not
 * have the block says so, and asks its own parent. So the question comes to a node that has it, at
 * last to the root. Slots are kept until everybody has read them, so a question comes in time. What
 * comes twice is handed on once.
 *
 * The engine decides; its caller copies and sends. All functions are as in engine.h.
 */
#ifndef MCP_BCAST_H
#define MCP_BCAST_H

#include "firmware/engine.h"

/* What a slot begins with. The block lies behind it. All slots are 0 at first. */
struct mcp_bcast_slot {
    myr_word number;   /* of the broadcast whose block this is; written after the block */
    myr_word sleepers; /* hosts that sleep on the number; a soft NIC's only */
    myr_word heard_ms; /* when a NIC has last said that the next block here is still to come; as in
                          missing.h */
    uint32_t bytes;    /* of the block */
};

/* Of a window: all its bytes, and slots. */
enum { MCP_BCAST_BYTES = 65536, MCP_BCAST_SLOTS = 64 };

/* How far apart slots are for blocks of `block` bytes, a multiple of MCP_BLOCK_UNIT and at most
 * MCP_PAYLOAD_MOST; and how many there are then: at least 32. */
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

/* The last broadcast that may be begun when `epoch` is complete. */
static inline uint32_t mcp_bcast_credit(uint32_t window, uint32_t epoch)
{
    return (epoch + 2) * (window / 2);
}

/* Where the slot of a broadcast lies in a window, bytes. */
static inline uint32_t mcp_bcast_place(uint32_t window, uint32_t slot_bytes, uint32_t number)
{
    return (number & (window - 1)) * slot_bytes;
}

/*
 * A block of `bytes` bytes has come, from the wire or from the host of this node, which is the root
 * then. Its slot has the number `held`. MCP_RECORDED: copy it there, publish the number, then hand
 * it on to all children. MCP_KNOWN: it had come before. Otherwise MCP_IMPLAUSIBLE.
 */
MCP_ENGINE enum mcp_recorded mcp_bcast_take(const struct mcp_group *group, uint32_t root,
                                            uint32_t held, uint32_t number, uint32_t bytes);

/* Is the message at this place of the table of sends one to a child, where `root` is the root? */
MCP_ENGINE bool mcp_bcast_child(struct mcp_group *group, uint32_t place, uint32_t root);

/* The message of a block that is in its slot, to the child at this place. */
MCP_ENGINE void mcp_bcast_message(struct mcp_group *group, uint32_t place, uint32_t root,
                                  uint32_t number, uint32_t bytes, struct mcp_message *message);

/* This node misses a block: the question for its parent. False: it is the root itself, which has no
 * parent. */
MCP_ENGINE bool mcp_bcast_ask(struct mcp_group *group, uint32_t root, uint32_t number,
                              struct mcp_message *message);

/*
 * Node `node` misses a block. Its slot has the number `held`, and `bytes` bytes. True with an
 * answer: the block, a BCAST_LATER or a FAIL. After a BCAST_LATER ask for it, too. False if this
 * node does not send it there, or nobody can miss it.
 */
MCP_ENGINE bool mcp_bcast_answer(struct mcp_group *group, uint32_t node, uint32_t root,
                                 uint32_t number, uint32_t held, uint32_t bytes,
                                 struct mcp_message *message);

/* The parent, `node`, says that the block is still to come. MCP_RECORDED: note that in the slot,
 * whose number is `held`. */
MCP_ENGINE enum mcp_recorded mcp_bcast_hear(struct mcp_group *group, uint32_t node, uint32_t root,
                                            uint32_t number, uint32_t held);

#endif
