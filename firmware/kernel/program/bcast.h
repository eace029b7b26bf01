/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Implements the broadcasts of a group in the kernel: slots and messages; see firmware/bcast.h. */
#ifndef MCP_PROGRAM_BCAST_H
#define MCP_PROGRAM_BCAST_H

#include "firmware/bcast.h"
#include "firmware/kernel/program/play.h"

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
    struct play play;
    uint32_t root, number, bytes;
    uint32_t child; /* index of the pending message to a child; NO_CHILD if none was found yet */
};

enum { NO_CHILD = 2 * MCP_KERNEL_PEERS };

/* Fills in the message that forwards the block to the pending child. */
static __always_inline void fill_in_child(struct forwarding *forwarding)
{
    mcp_bcast_message(&forwarding->play.group->group, forwarding->child, forwarding->root,
                      forwarding->number, forwarding->bytes, &forwarding->play.message);
}

/* If the message at `index` goes to a child, sends the pending message and makes this one pending.
 * The last message thus remains pending, so that the packet itself can be rewritten into it, which
 * saves a clone. */
static __always_inline long forward_block(uint32_t index, void *context)
{
    struct forwarding *forwarding = context;
    if (mcp_bcast_child(&forwarding->play.group->group, index, forwarding->root)) {
        if (NO_CHILD != forwarding->child) {
            fill_in_child(forwarding);
            send_clone(&forwarding->play);
        }
        forwarding->child = index;
    }
    return 0;
}
WALKED(forward_block)

/* Stores the block in its slot. A host that sees the number reads the block, so the number is
 * written last, by an atomic exchange, which acts as a full memory barrier. */
static __always_inline enum mcp_recorded store_block(struct forwarding *forwarding)
{
    struct mcp_kernel_group *group = forwarding->play.group;
    const uint32_t bytes = forwarding->bytes;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    const struct payload *payload = own_payload();
    if (!buffer || !payload || !lock_group(group, forwarding->play.key)) {
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
 * this CPU. `incoming` is as for play_group(). */
static __always_inline int accept_block(struct forwarding *forwarding, bool incoming)
{
    const struct mcp_kernel_group *group = forwarding->play.group;
    forwarding->bytes = payload_bytes(forwarding->play.packet);
    forwarding->child = NO_CHILD;
    const enum mcp_recorded recorded = store_block(forwarding);
    if (MCP_RECORDED != recorded) {
        return incoming ? count_packet(group, MCP_ACTION_TAKE_BLOCK, recorded) : DROP;
    }
    COUNT(broadcasts);
    LOOP(group->group.nsends & (2 * MCP_KERNEL_MESSAGES - 1), forward_block, &forwarding->play,
         forwarding);
    const bool any = NO_CHILD != forwarding->child;
    if (any) {
        fill_in_child(forwarding);
    }
    return finish_packet(&forwarding->play, any && become_message(&forwarding->play), true,
                         incoming);
}

/* Makes play->message an ASK for a block that this node misses. Returns false if this node is the
 * root. */
static __always_inline bool ask_bcast(struct play *play, uint32_t root, uint32_t number)
{
    struct mcp_kernel_group *group = play->group;
    if (!lock_group(group, play->key)) {
        return false;
    }
    const bool asks = mcp_bcast_ask(&group->group, root, number, &play->message);
    unlock_group(group);
    if (asks) {
        COUNT(asked);
    }
    return asks;
}

/* Answers a peer that requests a block. */
static __always_inline int answer_bcast(struct play *play, const struct mcp_collective_part *part)
{
    struct mcp_kernel_group *group = play->group;
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    if (!buffer || !lock_group(group, play->key)) {
        return DROP;
    }
    const uint32_t slot = slot_of(&group->group, part->epoch);
    const bool sent =
        mcp_bcast_answer(&group->group, part->node, part->slot, part->epoch,
                         *SLOT(buffer, slot, number), *SLOT(buffer, slot, bytes), &play->message);
    unlock_group(group);
    if (!sent) {
        return DROP;
    }
    if (MCP_BCAST_LATER == play->message.header.type) {
        COUNT(later);
        send_clone(play);
        if (!ask_bcast(play, part->slot, part->epoch)) {
            return DROP;
        }
    } else {
        COUNT(answered);
        (void)mcp_fetch(own_payload(), buffer, slot + sizeof(struct mcp_bcast_slot) / 8,
                        play->message.bytes / 8);
    }
    return become_message(play) ? (int)bpf_redirect(nic.interface, 0) : DROP;
}

/* Records the parent's report that it does not have a block yet. */
static __always_inline int receive_bcast_later(struct play *play,
                                               const struct mcp_collective_part *part)
{
    struct mcp_kernel_group *group = play->group;
    const uint32_t now_ms = (uint32_t)(bpf_ktime_get_ns() / 1000000);
    struct mcp_kernel_buffer *buffer = buffer_at(group->buffer);
    if (!buffer || !lock_group(group, play->key)) {
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
    struct forwarding forwarding = {.play = {.packet = packet, .group = group, .key = header->key},
                                    .root = part.slot,
                                    .number = part.epoch};
    return MCP_ACTION_TAKE_BLOCK == action     ? accept_block(&forwarding, true)
           : MCP_ACTION_ANSWER_BCAST == action ? answer_bcast(&forwarding.play, &part)
                                               : receive_bcast_later(&forwarding.play, &part);
}

/* Handles a doorbell of a host that is the root of a broadcast or misses its block. */
static __always_inline int ring_bcast(struct forwarding *forwarding,
                                      const struct mcp_doorbell *bell)
{
    struct play *playing = &forwarding->play;
    struct __sk_buff *packet = playing->packet;
    forwarding->root = playing->group->group.node;
    forwarding->number = bell->epoch;
    if (MCP_RING_BCAST == bell->ring) {
        return load_payload(packet, payload_bytes(packet)) ? accept_block(forwarding, false) : DROP;
    }
    const bool asks = ask_bcast(playing, bell->root, bell->epoch);
    return finish_packet(playing, asks && become_message(playing), false, false);
}

#endif
