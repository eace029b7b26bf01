/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages with data, and broadcasts; see verbs.h.
 *
 * As for every NIC, the engine decides what to send and where payloads are stored (engine.h,
 * bcast.h). This file writes data messages into the landing places of peers, and takes data
 * messages from the landing places of this node.
 *
 * A data message is stored at the end of its landing place, with the header behind the payload, so
 * that the epoch is in the last packet of the RDMA write. Once the epoch is visible, the device has
 * received the whole write, and the memory may be reused.
 *
 * Blocks of different roots may arrive in any order, but broadcasts are forwarded in the order of
 * their numbers, because this is the order in which the hosts read them. If the root is on this
 * node, it stores its data message in the landing place where a message from another node would
 * arrive. */
#include <string.h>

#include "firmware/bcast.h"
#include "libmyr/verbs/verbs.h"

uint32_t myr_verbs_stride(uint32_t payload)
{
    return (uint32_t)myr_whole_lines(MCP_COLLECTIVE_BYTES + payload);
}

static uint8_t *payload_in(const struct myr_verbs_group *own, const uint8_t *area, uint32_t bytes)
{
    return (uint8_t *)area + own->stride - MCP_COLLECTIVE_BYTES - bytes;
}

static uint8_t *header_in(const struct myr_verbs_group *own, const uint8_t *area)
{
    return payload_in(own, area, 0);
}

static void pack_message(const struct myr_verbs_group *own, uint8_t *area,
                         struct mcp_message *message, const void *payload)
{
    mcp_seal(&message->header, &own->mcp->secret, payload, message->bytes);
    memcpy(payload_in(own, area, message->bytes), payload, message->bytes);
    memcpy(header_in(own, area), &message->header, MCP_COLLECTIVE_BYTES);
}

/* Returns the payload of the data message for this epoch or broadcast if it has arrived completely,
 * otherwise NULL. */
static const uint8_t *payload_at(const struct myr_verbs_group *own, const uint8_t *area,
                                 uint8_t type, uint32_t number, struct mcp_header *header)
{
    const struct mcp_header *seen = (const struct mcp_header *)header_in(own, area);
    if (number != myr_load_acquire((const myr_word *)&seen->collective.epoch)) {
        return NULL;
    }
    memcpy(header, seen, MCP_COLLECTIVE_BYTES);
    if (type != header->type || number != header->collective.epoch ||
        header->payload_bytes > own->stride - MCP_COLLECTIVE_BYTES) {
        return NULL;
    }
    const uint8_t *payload = payload_in(own, area, header->payload_bytes);
    return mcp_genuine(header, &own->mcp->secret, payload) ? payload : NULL;
}

/* Writes the data message in `area` to the landing place of a peer with the index `landing`. */
static void write_message(struct myr_verbs *nic, struct myr_verbs_group *own,
                          struct myr_verbs_peer *peer, uint32_t landing, const uint8_t *area,
                          uint32_t payload)
{
    const uint32_t bytes = MCP_COLLECTIVE_BYTES + payload;
    myr_verbs_write(nic, peer->link, peer->landing + (landing + UINT64_C(1)) * own->stride - bytes,
                    peer->key, payload_in(own, area, payload), bytes, own->memory->lkey);
    peer->posted = peer->link->posted;
}

/* ---- messages of an epoch with data ---- */

static uint32_t area_index(uint32_t slot, uint32_t epoch)
{
    return 2 * slot + epoch % 2;
}

void myr_verbs_send(struct myr_verbs *nic, struct myr_verbs_group *own, struct mcp_message *message)
{
    const struct mcp_collective_part *part = &message->header.collective;
    uint8_t *area = own->staging + (size_t)area_index(message->peer, part->epoch) * own->stride;
    pack_message(own, area, message, mcp_group_buffer(own->mcp, part->epoch));
    write_message(nic, own, &own->peer[message->to], area_index(part->slot, part->epoch), area,
                  message->bytes);
}

/* Stores the payload of the message in this slot. */
static bool store_payload(struct mcp_group *mcp, uint32_t slot, uint32_t epoch,
                          const uint8_t *payload, uint32_t bytes)
{
    uint32_t offset;
    if (MCP_RECORDED != mcp_group_claim(mcp, slot, epoch, &bytes, &offset)) {
        return false;
    }
    memcpy(mcp_group_buffer(mcp, epoch) + offset, payload, bytes);
    (void)mcp_group_record(mcp, slot, epoch);
    return true;
}

bool myr_verbs_take(struct myr_verbs_group *own)
{
    struct mcp_message missing;
    uint32_t cursor = 0;
    bool any = false;
    while (mcp_group_missing(own->mcp, &cursor, &missing)) {
        const struct mcp_collective_part *part = &missing.header.collective;
        const uint8_t *area =
            own->landing + (size_t)area_index(part->slot, part->epoch) * own->stride;
        struct mcp_header header;
        const uint8_t *payload = payload_at(own, area, MCP_ARRIVE, part->epoch, &header);
        if (NULL != payload &&
            store_payload(own->mcp, part->slot, part->epoch, payload, header.payload_bytes)) {
            any = true;
        }
    }
    return any;
}

/* ---- broadcasts ---- */

struct mcp_bcast_slot *myr_verbs_slot(const struct myr_verbs_group *own, uint32_t number)
{
    struct mcp_group *mcp = own->mcp;
    return (struct mcp_bcast_slot *)(mcp_group_window(mcp) +
                                     mcp_bcast_offset(mcp->window, mcp->slot_bytes, number));
}

static uint32_t landing_of(const struct myr_verbs_group *own, uint32_t number)
{
    return number & (own->mcp->window - 1);
}

/* Stores a block where the processes of this node read it. */
static void publish_block(struct mcp_bcast_slot *slot, uint32_t number, const void *block,
                          uint32_t bytes)
{
    memcpy(slot + 1, block, bytes);
    slot->bytes = bytes;
    myr_store_release(&slot->number, number);
    myr_verbs_wake(&slot->number);
}

void myr_verbs_bcast(struct myr_verbs_group *own, uint32_t number, const void *block,
                     uint32_t bytes)
{
    struct mcp_group *mcp = own->mcp;
    struct mcp_bcast_slot *slot = myr_verbs_slot(own, number);
    struct mcp_message message;
    if (number == myr_load_relaxed(&slot->number) || 0 != myr_load_acquire(&mcp->failed)) {
        return;
    }
    mcp_bcast_message(mcp, 0, mcp->node, number, bytes, &message);
    pack_message(own, own->landing + (size_t)landing_of(own, number) * own->stride, &message,
                 block);
    publish_block(slot, number, block, bytes);
}

/* Forwards the next block, if it has arrived. */
static bool forward_next_block(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    struct mcp_group *mcp = own->mcp;
    const uint32_t number = own->next_bcast, landing = landing_of(own, number);
    const uint8_t *area = own->landing + (size_t)landing * own->stride;
    struct mcp_bcast_slot *slot = myr_verbs_slot(own, number);
    struct mcp_header header;
    const uint8_t *block = payload_at(own, area, MCP_BCAST, number, &header);
    if (NULL == block) {
        return false;
    }
    const uint32_t root = header.collective.slot;
    switch (
        mcp_bcast_take(mcp, root, myr_load_relaxed(&slot->number), number, header.payload_bytes)) {
    case MCP_IMPLAUSIBLE: /* this node has not reported that epoch yet, so the root is ahead */
        return false;
    case MCP_RECORDED:
        publish_block(slot, number, block, header.payload_bytes);
        break;
    default: /* the root is on this node and has published the block */
        break;
    }
    for (uint32_t s = 0; s < mcp->nsends; ++s) {
        if (mcp_bcast_child(mcp, s, root)) {
            write_message(nic, own, &own->peer[mcp_group_sends(mcp)[s].link], landing, area,
                          header.payload_bytes);
        }
    }
    ++nic->shown->counters.broadcasts;
    ++own->next_bcast;
    return true;
}

void myr_verbs_forward_blocks(struct myr_verbs *nic, struct myr_verbs_group *own)
{
    /* Broadcasts up to this number have been forwarded, or were skipped by a barrier. */
    const uint32_t over = own->mcp->started * (own->mcp->window / 2);
    if (myr_epoch_reached(over, own->next_bcast)) {
        own->next_bcast = over + 1;
    }
    while (forward_next_block(nic, own)) {
        continue;
    }
}
