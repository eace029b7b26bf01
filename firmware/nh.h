/* SPDX-License-Identifier: BSD-3-Clause */
/* NH is a hash function that shortens long blocks (Black, Halevi, Krawczyk, Krovetz, Rogaway:
 * "UMAC: fast and secure message authentication", section 4; here with 64-bit words, as in VMAC).
 * It is faster than SipHash, because it needs only one multiplication for every two words, whereas
 * SipHash needs a round for each word.
 *
 * For two different blocks, only one in 2^64 keys yields the same hash. Therefore a SipHash of the
 * hash can authenticate the block, provided that the hash and the key are secret.
 *
 * The functions are pure. Words are in the byte order of the machine. */
#ifndef MCP_NH_H
#define MCP_NH_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"

enum {
    MCP_NH_WORDS = 16,
    MCP_NH_BLOCK = 8 * MCP_NH_WORDS, /* bytes */
    MCP_NH_KEPT = 64                 /* keys, a power of two */
};

struct mcp_nh_key {
    uint64_t word[MCP_NH_WORDS];
};

struct mcp_nh_sum {
    uint64_t low, high;
};

/* Derives the NH key from a secret. Each word of the key is the SipHash-2-4 of the index of this
 * word, as one byte. This takes 90 ns, as long as hashing 1,400 bytes. */
static inline struct mcp_nh_key mcp_nh_key_of(const struct mcp_secret *secret)
{
    struct mcp_nh_key key;
    for (uint64_t w = 0; w < MCP_NH_WORDS; ++w) {
        key.word[w] = mcp_sip_end(mcp_sip_begin(secret), 2, 4, w | UINT64_C(1) << 56);
    }
    return key;
}

/* A direct-mapped cache of keys, indexed by the numbers of their users. It is empty if all 0. */
struct mcp_nh_keys {
    struct {
        struct mcp_secret of;
        struct mcp_nh_key key;
        bool made;
    } kept[MCP_NH_KEPT];
};

/* Returns the key of the present secret of `number`, which may have changed. */
static inline const struct mcp_nh_key *mcp_nh_kept(struct mcp_nh_keys *keys, uint32_t number,
                                                   const struct mcp_secret *secret)
{
    const uint32_t at = number % MCP_NH_KEPT;
    const struct mcp_secret *of = &keys->kept[at].of;
    if (!keys->kept[at].made || of->word[0] != secret->word[0] || of->word[1] != secret->word[1]) {
        keys->kept[at].of = *secret;
        keys->kept[at].key = mcp_nh_key_of(secret);
        keys->kept[at].made = true;
    }
    return &keys->kept[at].key;
}

/* Computes sum += a * b, modulo 2^128. */
static inline void mcp_nh_add(struct mcp_nh_sum *sum, uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)a * b;
    const uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64);
#else
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = (a0 * b0 >> 32) + (uint32_t)(a1 * b0) + a0 * b1;
    const uint64_t low = a * b, high = a1 * b1 + (a1 * b0 >> 32) + (middle >> 32);
#endif
    sum->low += low;
    sum->high += high + (sum->low < low);
}

static inline struct mcp_nh_sum mcp_nh(const struct mcp_nh_key *key, const uint8_t *block)
{
    struct mcp_nh_sum sum = {0, 0};
    for (int w = 0; w < MCP_NH_WORDS; w += 2) {
        uint64_t pair[2];
        __builtin_memcpy(pair, block + 8 * w, sizeof(pair));
        mcp_nh_add(&sum, pair[0] + key->word[w], pair[1] + key->word[w + 1]);
    }
    return sum;
}

#endif
