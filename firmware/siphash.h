/* SPDX-License-Identifier: BSD-3-Clause */
/* SipHash computes a 64-bit hash of some words and a secret (Aumasson, Bernstein: "SipHash: a fast
 * short-input PRF"). Without the secret the hash cannot be predicted, no matter how many other
 * hashes are known.
 *
 * SipHash-c-d performs c rounds for each word and d rounds at the end. All kinds of NICs use
 * SipHash-1-3 as the check of packets (wire.h). For a packet of a collective this takes 9 ns,
 * whereas SipHash-2-4 takes 18 ns. No attack on SipHash-1-3 is known that is better than guessing;
 * a guess costs one packet, and succeeds with probability 2^-64. Secrets are derived by
 * SipHash-2-4, which the authors recommend for all uses, because this is not on the critical path
 * (libmyr/groups/secrets.h).
 *
 * The functions are pure, and all of their loops have constant bounds, as BPF requires. Words are
 * in the byte order of the machine; on little-endian machines the hash is therefore the same as in
 * the paper. */
#ifndef MCP_SIPHASH_H
#define MCP_SIPHASH_H

#include <stdint.h>

/* 128 random bits, which no packet contains. */
struct mcp_secret {
    uint64_t word[2];
};

/* A hash under construction: mcp_sip_begin(), any number of words, mcp_sip_end(). The numbers of
 * rounds are constants. */
struct mcp_sip {
    uint64_t v0, v1, v2, v3;
};

#define MCP_SIP_INLINE static inline __attribute__((always_inline))

MCP_SIP_INLINE uint64_t mcp_sip_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

MCP_SIP_INLINE void mcp_sip_round(struct mcp_sip *sip)
{
    sip->v0 += sip->v1;
    sip->v2 += sip->v3;
    sip->v1 = mcp_sip_rotate(sip->v1, 13) ^ sip->v0;
    sip->v3 = mcp_sip_rotate(sip->v3, 16) ^ sip->v2;
    sip->v0 = mcp_sip_rotate(sip->v0, 32);
    sip->v2 += sip->v1;
    sip->v0 += sip->v3;
    sip->v1 = mcp_sip_rotate(sip->v1, 17) ^ sip->v2;
    sip->v3 = mcp_sip_rotate(sip->v3, 21) ^ sip->v0;
    sip->v2 = mcp_sip_rotate(sip->v2, 32);
}

MCP_SIP_INLINE struct mcp_sip mcp_sip_begin(const struct mcp_secret *secret)
{
    return (struct mcp_sip){
        .v0 = secret->word[0] ^ UINT64_C(0x736f6d6570736575),
        .v1 = secret->word[1] ^ UINT64_C(0x646f72616e646f6d),
        .v2 = secret->word[0] ^ UINT64_C(0x6c7967656e657261),
        .v3 = secret->word[1] ^ UINT64_C(0x7465646279746573),
    };
}

MCP_SIP_INLINE void mcp_sip_word(struct mcp_sip *sip, int rounds, uint64_t word)
{
    sip->v3 ^= word;
    for (int i = 0; i < rounds; ++i) {
        mcp_sip_round(sip);
    }
    sip->v0 ^= word;
}

/* Returns the hash. The upper byte of `last` is the total number of bytes (modulo 256). Its lower
 * bytes are the remaining bytes that did not fill a word, padded with 0. */
MCP_SIP_INLINE uint64_t mcp_sip_end(struct mcp_sip sip, int rounds, int last_rounds, uint64_t last)
{
    mcp_sip_word(&sip, rounds, last);
    sip.v2 ^= 0xff;
    for (int i = 0; i < last_rounds; ++i) {
        mcp_sip_round(&sip);
    }
    return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}

#endif
