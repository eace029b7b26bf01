/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Implements the broadcasts of a group in the kernel: slots and messages; see firmware/bcast.h. */
#ifndef MCP_PROGRAM_BCAST_H
#define MCP_PROGRAM_BCAST_H

#include "firmware/bcast.h"
#include "firmware/kernel/program/run.h"

/* Returns the address of a member of the slot that begins at word `slot` of the buffer. */
static __always_inline myr_word *slot_part(struct mcp_kernel_buffer *buffer, uint32_t slot,
                                           uint32_t offset)
{
    return (myr_word *)word_at(buffer, slot + offset / 8) + offset % 8 / 4;
}

#define SLOT(buffer, slot, part) slot_part(buffer, slot, offsetof(struct mcp_bcast_slot, part))

/* Returns the word of the buffer at which a broadcast's slot begins. */
static __always_inline uint32_t slot_of(const struct mcp_group *group, uint32_t number)
{
    return mcp_bcast_offset(group->window, group->slot_bytes, number) / 8;
}

/* The state while a block is forwarded. The block is in this CPU's payload buffer. */
struct forwarding {
    struct run run;
    uint32_t root, number, bytes;
    uint32_t child; /* index of the pending message to a child; NO_CHILD if none was found yet */
};

enum { NO_CHILD = 2 * MCP_KERNEL_PEERS };

/* Fills in the message that forwards the block to the pending child. */
static __always_inline void fill_in_child(struct forwarding *forwarding)
{
    mcp_bcast_message(&forwarding->run.group->group, forwarding->child, forwarding->root,
                      forwarding->number, forwarding->bytes, &forwarding->run.message);
}

/* Called for each message of the schedule; `index` is its index. If it goes to a child in the tree,
 * it becomes the pending message, and the message that was pending is sent as a clone of the
 * packet. The last message remains pending, so that the packet itself can be rewritten into it,
 * which saves a clone. */
static __always_inline long forward_block(uint32_t index, void *context)
{
    struct forwarding *forwarding = context;
    if (mcp_bcast_child(&forwarding->run.group->group, index, forwarding->root)) {
        if (NO_CHILD != forwarding->child) {
            fill_in_child(forwarding);
            send_clone(&forwarding->run);
        }
        forwarding->child = index;
    }
    return 0;
}
WALKED(forward_block)

/* Stores the block in its slot. A host reads the block as soon as it sees the broadcast's number in
 * the slot. Therefore the number is written after the block, by an atomic exchange, which acts as a
 * full memory barrier. */
static __always_inline enum mcp_recorded store_block(struct forwarding *forwarding)
{
    struct mcp_kernel_group *group = forwarding->run.group;
    const uint32_t bytes = forwarding->bytes;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    const struct payload *payload = own_payload();
    if (!buffer || !payload || !lock_group(group, forwarding->run.key)) {
        return MCP_IMPLAUSIBLE;
    }
    const uint32_t slot = slot_of(&group->group, forwarding->number);
    const enum mcp_recorded recorded = mcp_bcast_take(
        &group->group, forwarding->root, *SLOT(buffer, slot, number), forwarding->number, bytes);
    if (MCP_RECORDED == recorded) {
        store_payload(buffer, slot + sizeof(struct mcp_bcast_slot) / 8, payload, bytes);
        *SLOT(buffer, slot, bytes) = bytes;
        (void)__sync_lock_test_and_set(SLOT(buffer, slot, number), forwarding->number);
    }
    unlock_group(group);
    return recorded;
}

/* Stores and forwards the block that has arrived in the packet, which is in the payload buffer of
 * this CPU. `incoming` is as for run_group(). */
static __always_inline int accept_block(struct forwarding *forwarding, bool incoming)
{
    const struct mcp_kernel_group *group = forwarding->run.group;
    forwarding->bytes = payload_bytes(forwarding->run.packet);
    forwarding->child = NO_CHILD;
    const enum mcp_recorded recorded = store_block(forwarding);
    if (MCP_RECORDED != recorded) {
        return incoming ? count_packet(group, MCP_ACTION_TAKE_BLOCK, recorded) : DROP;
    }
    COUNT(broadcasts);
    LOOP(group->group.nsends & (2 * MCP_KERNEL_MESSAGES - 1), forward_block, &forwarding->run,
         forwarding);
    const bool any = NO_CHILD != forwarding->child;
    if (any) {
        fill_in_child(forwarding);
    }
    return finish_packet(&forwarding->run, any && become_message(&forwarding->run), true, incoming);
}

/* Makes run->message an ASK for a block that this node misses. Returns false if this node is the
 * root. */
static __always_inline bool ask_bcast(struct run *run, uint32_t root, uint32_t number)
{
    struct mcp_kernel_group *group = run->group;
    if (!lock_group(group, run->key)) {
        return false;
    }
    const bool asks = mcp_bcast_ask(&group->group, root, number, &run->message);
    unlock_group(group);
    if (asks) {
        COUNT(asked);
    }
    return asks;
}

/* Answers a peer that requests a block. */
static __always_inline int answer_bcast(struct run *run, const struct mcp_collective_part *part)
{
    struct mcp_kernel_group *group = run->group;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    if (!buffer || !lock_group(group, run->key)) {
        return DROP;
    }
    const uint32_t slot = slot_of(&group->group, part->epoch);
    const bool sent =
        mcp_bcast_answer(&group->group, part->node, part->slot, part->epoch,
                         *SLOT(buffer, slot, number), *SLOT(buffer, slot, bytes), &run->message);
    unlock_group(group);
    if (!sent) {
        return DROP;
    }
    if (MCP_BCAST_LATER == run->message.header.type) {
        COUNT(later);
        send_clone(run);
        if (!ask_bcast(run, part->slot, part->epoch)) {
            return DROP;
        }
    } else {
        COUNT(answered);
        (void)mcp_fetch(own_payload(), buffer, slot + sizeof(struct mcp_bcast_slot) / 8,
                        run->message.bytes / 8);
    }
    return become_message(run) ? (int)bpf_redirect(nic.interface, 0) : DROP;
}

/* Records the parent's report that it does not have a block yet. */
static __always_inline int receive_bcast_later(struct run *run,
                                               const struct mcp_collective_part *part)
{
    struct mcp_kernel_group *group = run->group;
    const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000);
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    if (!buffer || !lock_group(group, run->key)) {
        return DROP;
    }
    const uint32_t slot = slot_of(&group->group, part->epoch);
    const enum mcp_recorded recorded = mcp_bcast_hear(&group->group, part->node, part->slot,
                                                      part->epoch, *SLOT(buffer, slot, number));
    if (MCP_RECORDED == recorded) {
        *SLOT(buffer, slot, heard_ms) = now_ms + (0 == now_ms);
    }
    unlock_group(group);
    return count_packet(group, MCP_ACTION_HEAR_BCAST, recorded);
}

static __always_inline int receive_bcast(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                         enum mcp_action action, const struct mcp_header *header)
{
    const struct mcp_collective_part part = header->collective;
    struct forwarding forwarding = {.run = {.packet = packet, .group = group, .key = header->key},
                                    .root = part.slot,
                                    .number = part.epoch};
    return MCP_ACTION_TAKE_BLOCK == action     ? accept_block(&forwarding, true)
           : MCP_ACTION_ANSWER_BCAST == action ? answer_bcast(&forwarding.run, &part)
                                               : receive_bcast_later(&forwarding.run, &part);
}

/* Handles a doorbell of a host that is the root of a broadcast or misses its block. */
static __always_inline int ring_bcast(struct forwarding *forwarding,
                                      const struct mcp_doorbell *bell)
{
    struct run *run = &forwarding->run;
    struct __sk_buff *packet = run->packet;
    forwarding->root = run->group->group.node;
    forwarding->number = bell->epoch;
    if (MCP_RING_BCAST == bell->ring) {
        return load_payload(packet, payload_bytes(packet)) ? accept_block(forwarding, false) : DROP;
    }
    const bool asks = ask_bcast(run, bell->root, bell->epoch);
    return finish_packet(run, asks && become_message(run), false, false);
}

#endif
