/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealing and parsing packets; see wire.h. Every packet that arrives goes through mcp_parse()
 * first. */
#include "firmware/wire.h"

/* The compiler's own header: the core has no C library. */
#define copy __builtin_memcpy

static uint64_t mix_tail(uint64_t h, const uint8_t *bytes, size_t count)
{
    while (count >= 8) {
        uint64_t word;
        copy(&word, bytes, 8);
        h = mcp_mix(h, word);
        bytes += 8;
        count -= 8;
    }
    uint64_t word = 0;
    for (size_t i = 0; i < count; ++i) {
        word |= (uint64_t)bytes[i] << 8 * i;
    }
    return mcp_mix(h, word ^ (uint64_t)count << 56);
}

/* Payloads are long, and each multiplication waits for the one before. So four chains run at
 * once. */
static uint64_t mix_bytes(uint64_t h, const uint8_t *bytes, size_t count)
{
    if (count >= 64) {
        uint64_t chain[4] = {h, h + 1, h + 2, h + 3};
        for (; count >= 32; bytes += 32, count -= 32) {
            uint64_t word[4];
            copy(word, bytes, 32);
            for (int i = 0; i < 4; ++i) {
                chain[i] = mcp_mix(chain[i], word[i]);
            }
        }
        h = mcp_mix(mcp_mix(mcp_mix(chain[0], chain[1]), chain[2]), chain[3]);
    }
    return mix_tail(h, bytes, count);
}

static uint32_t check_of(const struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    if (mcp_is_collective(header->type) && 0 == payload_bytes) {
        return mcp_collective_check(header);
    }
    struct mcp_header plain = *header;
    plain.check = 0;
    uint64_t h = mix_tail(payload_bytes, (const uint8_t *)&plain, mcp_header_bytes(plain.type));
    if (0 != payload_bytes) {
        h = mix_bytes(h, payload, payload_bytes);
    }
    return (uint32_t)(h >> 32); /* as in mcp_collective_check() */
}

void mcp_seal(struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    header->magic = MCP_MAGIC;
    header->version = MCP_WIRE_VERSION;
    header->check = check_of(header, payload, payload_bytes);
}

/* Are the fields of a message's packet possible? */
static bool sound(const struct mcp_header *header, size_t payload_bytes)
{
    const struct mcp_message_part *m = &header->message;
    switch (header->type) {
    case MCP_DATA:
        if (0 != (m->flags & MCP_VOID)) {
            return 0 == payload_bytes && 0 == m->length &&
                   0 == (m->flags & ~(MCP_VOID | MCP_PLEASE));
        }
        /* An empty message is one empty packet. */
        return payload_bytes <= m->length && 0 == (m->flags & ~(MCP_FIRST | MCP_PLEASE)) &&
               (0 != payload_bytes || (0 == m->length && 0 != (m->flags & MCP_FIRST)));
    case MCP_REFUSE:
        return 0 == payload_bytes && 0 == m->flags && m->detail > 0 && m->detail < MCP_REASONS;
    case MCP_ASK:
    case MCP_DONE:
    case MCP_LATER:
    case MCP_FAIL:
        return 0 == payload_bytes;
    case MCP_ACK:
        return 0 == payload_bytes && 0 == (m->flags & ~(MCP_GAP | MCP_READY));
    default:
        return true;
    }
}

bool mcp_parse(const void *packet, size_t bytes, struct mcp_header *header)
{
    *header = (struct mcp_header){.magic = 0};
    if (bytes < MCP_LEAST_BYTES) {
        return false;
    }
    copy(header, packet, MCP_LEAST_BYTES);
    const size_t header_bytes = mcp_header_bytes(header->type);
    if (MCP_MAGIC != header->magic || MCP_WIRE_VERSION != header->version || 0 == header->type ||
        header->type >= MCP_TYPES || bytes < header_bytes) {
        return false;
    }
    copy(header, packet, header_bytes);
    const void *payload = (const uint8_t *)packet + header_bytes;
    return header->check == check_of(header, payload, bytes - header_bytes) &&
           sound(header, bytes - header_bytes);
}
