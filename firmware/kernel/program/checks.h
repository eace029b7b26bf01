/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Computes the checksums of the Internet protocols, and the check with which nicbarr seals a
 * message (wire.h). */
#ifndef MCP_PROGRAM_CHECKS_H
#define MCP_PROGRAM_CHECKS_H

#include "firmware/kernel/program/packets.h"

/* Returns the Internet checksum, from a sum of words of 16 or 32 bits. */
static __always_inline uint16_t internet_check(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* Returns the checksum of the IPv4 header that fill_frame() writes, from its variable fields. */
static __always_inline uint16_t ip_check(uint32_t from, uint32_t to, uint16_t length)
{
    const uint32_t parts =
        bpf_htons(0x4500) + length + bpf_htons(UNCUT) + bpf_htons(HOPS << 8 | IPPROTO_UDP);
    return internet_check((uint64_t)parts + from + to);
}

/* Returns whether the checksum of the IP header is correct. For outgoing packets, the kernel
 * ensures this. */
static __always_inline bool ip_fits(const void *ip)
{
    const any_word *words = ip;
    return 0 == internet_check((uint64_t)words[0] + words[1] + words[2] + words[3] + words[4]);
}

/* Returns the sum over everything that the UDP checksum covers over IPv6 except the payload: the
 * two addresses, which are adjacent, and the body. */
static __always_inline uint64_t sum_of(const void *addresses, const struct body *body)
{
    const any_word *ips = addresses, *words = (const void *)body;
    uint64_t sum = bpf_htons(IPPROTO_UDP) + body->udp.len;
    for (uint32_t w = 0; w < 2 * sizeof(struct in6_addr) / 4; ++w) {
        sum += ips[w];
    }
    for (uint32_t w = 0; w < sizeof(*body) / 4; ++w) {
        sum += words[w];
    }
    return sum;
}

/* Returns the sum over a payload for the UDP checksum. Like mcp_sum(), this is a global function,
 * so that the verifier checks it only once. */
__attribute__((noinline)) uint64_t mcp_sum_for_udp(const struct payload *payload, uint32_t words)
{
    uint64_t sum = 0;
    if (!payload) {
        return 0;
    }
    for (uint32_t w = 0; w < PAYLOAD_WORDS && w < words; ++w) {
        sum += (payload->word[w] & UINT32_MAX) + (payload->word[w] >> 32);
    }
    return sum;
}

/* Returns the checksum of a packet over IPv6, from its sum_of() and this CPU's payload; 0 if the
 * packet contains the correct checksum. */
static __always_inline uint16_t udp_check(uint64_t sum, uint32_t bytes)
{
    return internet_check(0 == bytes ? sum : sum + mcp_sum_for_udp(own_payload(), bytes / 8));
}

/* Returns the check of a header of two words. This is a global function with scalar arguments,
 * which the verifier checks once for all callers. A function also has a separate stack frame, which
 * is important because BPF stacks are small. */
__attribute__((noinline)) uint64_t mcp_sum(uint64_t secret0, uint64_t secret1, uint64_t word,
                                           uint64_t last)
{
    const struct mcp_secret secret = {{secret0, secret1}};
    struct mcp_sip sip = mcp_sip_begin(&secret);
    mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS, last);
}

/* Returns the check of a packet with payload. It corresponds to long_check() in wire.c. */
__attribute__((noinline)) uint64_t mcp_sum_payload(const struct payload *payload,
                                                   const struct mcp_secret *secret, uint64_t word,
                                                   uint64_t last, uint32_t words)
{
    if (!payload || !secret) {
        return 0;
    }
    struct mcp_sip sip = mcp_sip_begin(secret);
    mcp_sip_word(&sip, MCP_CHECK_ROUNDS, word);
    for (uint32_t w = 0; w < PAYLOAD_WORDS && w < words; ++w) {
        mcp_sip_word(&sip, MCP_CHECK_ROUNDS, payload->word[w]);
    }
    return mcp_sip_end(sip, MCP_CHECK_ROUNDS, MCP_CHECK_LAST_ROUNDS, last);
}

/* Returns the check of a packet, whose payload, if any, is in this CPU's payload buffer. */
static __always_inline uint64_t check_of(const struct mcp_header *header,
                                         const struct mcp_secret *secret)
{
    const uint64_t word = mcp_collective_word(header);
    if (0 == header->payload_bytes) {
        return mcp_sum(secret->word[0], secret->word[1], word, mcp_last_word(header, 8));
    }
    return mcp_sum_payload(own_payload(), secret, word,
                           mcp_last_word(header, 8 + header->payload_bytes),
                           header->payload_bytes / 8);
}

#endif
