/* SPDX-License-Identifier: BSD-3-Clause */
/* See reference.h. */
#include "tests/unit/kernel/reference.h"
#include "tests/unit/test.h"

enum { SENDS = 512 /* maximum number of messages of one event */ };

struct sent sent[SENDS];
uint32_t nsent;

void send_one(const struct pair *pair, const struct mcp_message *message)
{
    assert_true(nsent < SENDS);
    struct sent *one = &sent[nsent++];
    one->message = *message;
    assert_true(message->bytes <= sizeof(one->payload));
    const uint32_t epoch = message->header.collective.epoch;
    if (0 != message->bytes) {
        memcpy(one->payload,
               broadcasts(pair) ? (const void *)(slot_here(pair, epoch) + 1)
                                : mcp_group_buffer(pair->group, epoch),
               message->bytes);
    }
    mcp_seal(&one->message.header, &pair->plan.secret, one->payload, message->bytes);
    ++count.packets_sent;
}

void play_here(struct pair *pair)
{
    struct mcp_message message;
    const uint32_t before = done(pair);
    while (mcp_group_next(pair->group, &message)) {
        send_one(pair, &message);
    }
    count.barriers += done(pair) - before;
}

void ask_here(struct pair *pair)
{
    struct mcp_message message;
    uint32_t cursor = 0;
    while (mcp_group_missing(pair->group, &cursor, &message)) {
        ++count.asked;
        send_one(pair, &message);
    }
}

/* Process an arrival and its payload, as collective.c does. */
static enum mcp_recorded take_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    uint32_t bytes = header->payload_bytes, offset;
    if (pair->plan.node != part->node) {
        return MCP_IMPLAUSIBLE;
    }
    if (0 != pair->plan.buffer_blocks) {
        const enum mcp_recorded claimed =
            mcp_group_claim(pair->group, part->slot, part->epoch, &bytes, &offset);
        if (MCP_RECORDED != claimed) {
            return claimed;
        }
        assert_true(offset + bytes <= buffer_bytes(pair));
        memcpy(mcp_group_buffer(pair->group, part->epoch) + offset, carried, bytes);
    }
    return mcp_group_record(pair->group, part->slot, part->epoch);
}

/* ---- broadcasts, as in collective_bcast.c ---- */

enum mcp_recorded take_block_here(struct pair *pair, uint32_t root, uint32_t number, uint32_t bytes)
{
    struct mcp_bcast_slot *slot = slot_here(pair, number);
    struct mcp_message message;
    const enum mcp_recorded recorded =
        mcp_bcast_take(pair->group, root, slot->number, number, bytes);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    memcpy(slot + 1, carried, bytes);
    slot->bytes = bytes;
    slot->number = number;
    pair->last = myr_epoch_reached(pair->last, number) ? pair->last : number;
    for (uint32_t s = 0; s < pair->plan.nsends; ++s) {
        if (mcp_bcast_child(pair->group, s, root)) {
            mcp_bcast_message(pair->group, s, root, number, bytes, &message);
            send_one(pair, &message);
        }
    }
    ++count.broadcasts;
    return MCP_RECORDED;
}

void ask_bcast_here(struct pair *pair, uint32_t root, uint32_t number)
{
    struct mcp_message message;
    if (mcp_bcast_ask(pair->group, root, number, &message)) {
        ++count.asked;
        send_one(pair, &message);
    }
}

static void answer_bcast_here(struct pair *pair, const struct mcp_collective_part *part)
{
    struct mcp_bcast_slot *slot = slot_here(pair, part->epoch);
    struct mcp_message message;
    if (!mcp_bcast_answer(pair->group, part->node, part->slot, part->epoch, slot->number,
                          slot->bytes, &message)) {
        return;
    }
    send_one(pair, &message);
    if (MCP_BCAST_LATER == message.header.type) {
        ++count.later;
        ask_bcast_here(pair, part->slot, part->epoch);
    } else {
        ++count.answered;
    }
}

static void receive_bcast_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    if (!broadcasts(pair)) {
        ++count.dropped_implausible;
        return;
    }
    if (MCP_BCAST_ASK == header->type) {
        answer_bcast_here(pair, part);
        return;
    }
    enum mcp_recorded recorded;
    if (MCP_BCAST == header->type) {
        recorded = take_block_here(pair, part->slot, part->epoch, header->payload_bytes);
    } else {
        struct mcp_bcast_slot *slot = slot_here(pair, part->epoch);
        recorded = mcp_bcast_hear(pair->group, part->node, part->slot, part->epoch, slot->number);
        slot->heard_ms |= MCP_RECORDED == recorded;
        count.heard += MCP_RECORDED == recorded;
    }
    count.duplicates += MCP_KNOWN == recorded;
    count.dropped_implausible += MCP_IMPLAUSIBLE == recorded;
}

void receive_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    struct mcp_message message;
    ++count.packets_received;
    if (mcp_is_bcast(header->type)) {
        receive_bcast_here(pair, header);
        return;
    }
    if (MCP_ASK == header->type) {
        if (mcp_group_answer(pair->group, part->node, part->slot, part->epoch, &message)) {
            count.later += MCP_LATER == message.header.type;
            count.answered += MCP_LATER != message.header.type;
            send_one(pair, &message);
        }
        return;
    }
    if (MCP_LATER == header->type) {
        const enum mcp_recorded later =
            mcp_group_hear(pair->group, part->node, part->slot, part->epoch, 1);
        count.heard += MCP_RECORDED == later;
        count.duplicates += MCP_KNOWN == later;
        count.dropped_implausible += MCP_IMPLAUSIBLE == later;
        return;
    }
    const enum mcp_recorded recorded = MCP_DONE == header->type
                                           ? mcp_group_release(pair->group, part->epoch)
                                           : take_here(pair, header);
    count.early += MCP_TOO_SOON == recorded;
    count.unexpected += MCP_UNEXPECTED == recorded;
    count.duplicates += MCP_KNOWN == recorded;
    count.dropped_implausible += MCP_IMPLAUSIBLE == recorded;
    if (MCP_RECORDED == recorded || MCP_UNEXPECTED == recorded) {
        play_here(pair);
    }
}

void expect_sent(void)
{
    for (uint32_t i = 0; i < nsent; ++i) {
        expect_message(&sent[i]);
    }
    nsent = 0;
}

void expect_same(struct pair *pair)
{
    struct frame frame;
    expect_sent();
    expect_count();
    expect_done(pair);
    assert_int_equal(take(wire, &frame, false), 0);
}
