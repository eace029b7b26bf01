/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces seal.c in a build without libsodium: there are no keys, so nothing is sealed; see
 * seal.h. */
#include "libmyr/seal.h"

#include <string.h>

void myr_key_pair_of(struct myr_segment *segment, struct myr_key_pair *pair)
{
    (void)segment;
    memset(pair, 0, sizeof(*pair));
}

bool myr_seals(void)
{
    return false;
}

bool myr_agree(const struct myr_key_pair *own, const struct myr_public_key *other,
               struct myr_agreed_key *key)
{
    (void)own;
    (void)other;
    (void)key;
    return false;
}

void myr_connection_secret(const struct myr_agreed_key *key, struct mcp_secret *secret)
{
    (void)key;
    memset(secret, 0, sizeof(*secret));
}

void myr_nonce_draw(struct myr_nonce *nonce)
{
    memset(nonce, 0, sizeof(*nonce));
}

void myr_seal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
              const struct mcp_secret *secret, struct myr_sealed *sealed)
{
    (void)key;
    (void)nonce;
    (void)secret;
    memset(sealed, 0, sizeof(*sealed));
}

bool myr_unseal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
                const struct myr_sealed *sealed, struct mcp_secret *secret)
{
    (void)key;
    (void)nonce;
    (void)sealed;
    (void)secret;
    return false;
}
