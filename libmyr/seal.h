/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How nodes come to common secrets, with libsodium: what they agree on without sending it, and what
 * they send sealed. (seal.c; without libsodium seal_none.c, where nobody has any keys.)
 *
 * The processes of a job on a node share a pair of keys, in the node's segment, which only their
 * user can read. The public one they tell everybody. Two nodes agree on a key once, each from its
 * own pair and the other's public key (X25519; that takes 50 us). With that, sealing or opening a
 * secret takes a microsecond (XSalsa20, Poly1305): nobody else can read it, and who changes it is
 * noticed. It does not help where somebody changes the public keys on their way.
 *
 * Two NICs sign their messages' packets with a secret that follows from the key on which their
 * nodes agree (BLAKE2b), so it need not travel. Each node has one such NIC at the most, in its
 * segment.
 *
 * Threads: any.
 */
#ifndef MYR_SEAL_H
#define MYR_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"

struct myr_segment;

/* All 0: none. */
struct myr_public_key {
    uint8_t byte[32];
};

struct myr_key_pair {
    struct myr_public_key public;
    uint8_t private[32];
};

/* What two nodes agree on. */
struct myr_agreed_key {
    uint8_t byte[32];
};

/* A number that is new for each time that something is sealed. It need not be kept secret. */
struct myr_nonce {
    uint8_t byte[24];
};

struct myr_sealed {
    uint8_t byte[16 + sizeof(struct mcp_secret)];
};

static inline bool myr_has_key(const struct myr_public_key *key)
{
    uint8_t any = 0;
    for (uint32_t i = 0; i < sizeof(key->byte); ++i) {
        any |= key->byte[i];
    }
    return 0 != any;
}

/* The node's pair; who comes first draws it. All 0 where that cannot be: secrets travel as they
 * are. */
void myr_key_pair_of(struct myr_segment *segment, struct myr_key_pair *pair);

/* Can this build seal anything? */
bool myr_seals(void);

/* Agree with another node. False if its key is none. */
bool myr_agree(const struct myr_key_pair *own, const struct myr_public_key *other,
               struct myr_agreed_key *key);

/* The secret of the connection between the two nodes' NICs. */
void myr_connection_secret(const struct myr_agreed_key *key, struct mcp_secret *secret);

void myr_nonce_draw(struct myr_nonce *nonce);

void myr_seal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
              const struct mcp_secret *secret, struct myr_sealed *sealed);

/* False if it was sealed by somebody else, or changed since. */
bool myr_unseal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
                const struct myr_sealed *sealed, struct mcp_secret *secret);

#endif
