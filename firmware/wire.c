/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealing and parsing packets; see wire.h. Every incoming packet passes mcp_parse() first. */
#include "firmware/wire.h"

/* The compiler's builtin, because the control program has no C library. */
#define copy __builtin_memcpy

static uint64_t long_check(const struct mcp_header *header, const struct mcp_secret *secret,
                           const struct mcp_nh_key *nh, const uint8_t *payload)
{
    const size_t words =
        (mcp_header_bytes(header->type) - offsetof(struct mcp_header, message)) / 8;
    const size_t bytes = header->payload_bytes, rest = bytes % 8;
    const uint8_t *part = (const uint8_t *)&header->message;
    struct mcp_sip sip = mcp_sip_begin(secret);
    uint64_t word;
    size_t done = 0;
    for (size_t w = 0; w < words; ++w) {
        copy(&word, part + 8 * w, 8);
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    }
    for (; NULL != nh && bytes - done >= MCP_NH_BLOCK; done += MCP_NH_BLOCK) {
        const struct mcp_nh_sum sum = mcp_nh(nh, payload + done);
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, sum.low);
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, sum.high);
    }
    for (; bytes - done >= 8; done += 8) {
        copy(&word, payload + done, 8);
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    }
    if (0 != rest) {
        word = 0;
        copy(&word, payload + done, rest);
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
        done += 8;
    }
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS,
                       mcp_last_word(header, 8 * words + done));
}

static uint64_t check_of(const struct mcp_header *header, const struct mcp_secret *secret,
                         const void *payload)
{
    if (mcp_is_collective(header->type)) {
        return 0 == header->payload_bytes ? mcp_collective_check(header, secret)
                                          : long_check(header, secret, NULL, payload);
    }
    if (header->payload_bytes < MCP_NH_BLOCK) {
        return long_check(header, secret, NULL, payload);
    }
    const struct mcp_nh_key nh = mcp_nh_key_of(secret);
    return long_check(header, secret, &nh, payload);
}

static void begin_seal(struct mcp_header *header, size_t payload_bytes)
{
    header->magic = MCP_MAGIC;
    header->version = MCP_WIRE_VERSION;
    header->payload_bytes = (uint32_t)payload_bytes;
}

void mcp_seal(struct mcp_header *header, const struct mcp_secret *secret, const void *payload,
              size_t payload_bytes)
{
    begin_seal(header, payload_bytes);
    header->check = check_of(header, secret, payload);
}

bool mcp_genuine(const struct mcp_header *header, const struct mcp_secret *secret,
                 const void *payload)
{
    return header->check == check_of(header, secret, payload);
}

void mcp_seal_message(struct mcp_header *header, const struct mcp_secret *secret,
                      const struct mcp_nh_key *nh, const void *payload, size_t payload_bytes)
{
    begin_seal(header, payload_bytes);
    header->check = long_check(header, secret, nh, payload);
}

bool mcp_genuine_message(const struct mcp_header *header, const struct mcp_secret *secret,
                         const struct mcp_nh_key *nh, const void *payload)
{
    return header->check == long_check(header, secret, nh, payload);
}

/* Returns whether the fields are consistent with each other and with the type. */
static bool has_sound_fields(const struct mcp_header *header, size_t payload_bytes)
{
    const struct mcp_message_part *m = &header->message;
    switch (header->type) {
    case MCP_DATA:
        if (0 != (m->flags & MCP_VOID)) {
            return 0 == payload_bytes && 0 == m->length &&
                   0 == (m->flags & ~(MCP_VOID | MCP_PLEASE));
        }
        /* An empty message is sent as one empty packet. */
        return payload_bytes <= m->length && 0 == (m->flags & ~(MCP_FIRST | MCP_PLEASE)) &&
               (0 != payload_bytes || (0 == m->length && 0 != (m->flags & MCP_FIRST)));
    case MCP_REFUSE:
        return 0 == payload_bytes && 0 == m->flags && m->detail > 0 && m->detail < MCP_REASONS;
    case MCP_ACK:
        return 0 == payload_bytes && 0 == (m->flags & ~(MCP_GAP | MCP_READY | MCP_LEFT | MCP_SEEN));
    default:
        return mcp_collective_sound(header->type, (uint32_t)payload_bytes);
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
    return header->payload_bytes == bytes - header_bytes &&
           has_sound_fields(header, bytes - header_bytes);
}
