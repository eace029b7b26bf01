/* SPDX-License-Identifier: BSD-3-Clause */
/* Common secrets of nodes, based on libsodium: key agreement, and encryption of secrets
 * ("sealing"). seal.c implements them; in a build without libsodium, seal_none.c replaces it, and
 * there are no keys.
 *
 * The processes of a job on a node share a key pair in the segment of the node, which only their
 * user can read, and publish the public key. Two nodes agree on a key once: each computes it from
 * its own key pair and the public key of the other node (X25519; 50 us). With this key, sealing or
 * opening a secret takes a microsecond (XSalsa20, Poly1305). No third party can read a sealed
 * secret, and changes are detected. This does not protect against an attacker who replaces the
 * public keys in transit.
 *
 * The packets of messages between two NICs are authenticated with a secret that each NIC derives
 * from the key on which the two nodes have agreed (BLAKE2b), so the secret is never sent. One
 * secret for each pair of nodes is sufficient, because a node has at most one NIC for messages.
 *
 * Threads: any. */
#ifndef MYR_SEAL_H
#define MYR_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "firmware/siphash.h"

struct myr_segment;

/* A node's public key; all 0 if it has none. */
struct myr_public_key {
    uint8_t byte[32];
};

struct myr_key_pair {
    struct myr_public_key public;
    uint8_t private[32];
};

/* The key on which two nodes agree. */
struct myr_agreed_key {
    uint8_t byte[32];
};

/* A number that is used only for one sealing. It need not be secret. */
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

/* Gets the key pair of the node, which the first caller generates. If this is impossible, the pair
 * is all 0, and secrets are sent in the clear. */
void myr_key_pair_of(struct myr_segment *segment, struct myr_key_pair *pair);

/* Returns whether this build can seal anything. */
bool myr_seals(void);

/* Computes the key agreed with another node. Returns false if that node has no key. */
bool myr_agree(const struct myr_key_pair *own, const struct myr_public_key *other,
               struct myr_agreed_key *key);

/* Derives the secret of the connection between the NICs of the two nodes. */
void myr_connection_secret(const struct myr_agreed_key *key, struct mcp_secret *secret);

void myr_nonce_draw(struct myr_nonce *nonce);

void myr_seal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
              const struct mcp_secret *secret, struct myr_sealed *sealed);

/* Opens a sealed secret. Returns false if it was sealed with another key, or was changed since. */
bool myr_unseal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
                const struct myr_sealed *sealed, struct mcp_secret *secret);

#endif
