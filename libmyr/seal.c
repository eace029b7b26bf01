/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealing secrets for transport; see seal.h. */
#include "libmyr/seal.h"

#include <sodium.h>
#include <string.h>

#include "libmyr/node/segment_inside.h"

enum {
    PAIR_RECORD = 0x70616972, /* scope of the record's key: "pair" */
    PAIR_MEMBERS = UINT32_MAX /* never left, so that it exists as long as the segment */
};

_Static_assert(sizeof(struct myr_public_key) == crypto_box_PUBLICKEYBYTES &&
                   sizeof(((struct myr_key_pair *)0)->private) == crypto_box_SECRETKEYBYTES &&
                   sizeof(struct myr_agreed_key) == crypto_box_BEFORENMBYTES &&
                   sizeof(struct myr_agreed_key) == crypto_secretbox_KEYBYTES &&
                   sizeof(struct myr_agreed_key) == crypto_kdf_KEYBYTES &&
                   sizeof(struct mcp_secret) >= crypto_kdf_BYTES_MIN &&
                   sizeof(struct myr_nonce) == crypto_secretbox_NONCEBYTES &&
                   sizeof(struct myr_sealed) ==
                       crypto_secretbox_MACBYTES + sizeof(struct mcp_secret),
               "libsodium's sizes");

struct node_pair {
    uint32_t drawn;
    struct myr_key_pair pair;
};

/* Reads the node's key pair. Returns false if there is none yet. */
static bool read_pair(struct myr_segment *segment, const struct node_pair *node,
                      struct myr_key_pair *pair)
{
    myr_segment_lock(segment);
    const bool drawn = 0 != node->drawn;
    if (drawn) {
        *pair = node->pair;
    }
    myr_segment_unlock(segment);
    return drawn;
}

/* Publishes a key pair. Since generating a pair takes a long time, it is done without the lock, and
 * several processes may generate one. All of them use the first pair that is published. */
static void publish_pair(struct myr_segment *segment, struct node_pair *node,
                         const struct myr_key_pair *pair)
{
    myr_segment_lock(segment);
    if (0 == node->drawn) {
        node->pair = *pair;
        node->drawn = 1;
    }
    myr_segment_unlock(segment);
}

void myr_key_pair_of(struct myr_segment *segment, struct myr_key_pair *pair)
{
    const struct myr_key key = {.scope = PAIR_RECORD};
    memset(pair, 0, sizeof(*pair));
    if (sodium_init() < 0) {
        return;
    }
    struct myr_record *record =
        myr_record_join(segment, &key, PAIR_MEMBERS, sizeof(struct node_pair), 0, NULL);
    if (NULL == record) {
        return;
    }
    struct node_pair *node = (struct node_pair *)record->slots;
    if (!read_pair(segment, node, pair)) {
        struct myr_key_pair fresh;
        if (0 == crypto_box_keypair(fresh.public.byte, fresh.private)) {
            publish_pair(segment, node, &fresh);
        }
        (void)read_pair(segment, node, pair);
    }
}

bool myr_seals(void)
{
    return sodium_init() >= 0;
}

bool myr_agree(const struct myr_key_pair *own, const struct myr_public_key *other,
               struct myr_agreed_key *key)
{
    return myr_has_key(&own->public) &&
           0 == crypto_box_beforenm(key->byte, other->byte, own->private);
}

void myr_connection_secret(const struct myr_agreed_key *key, struct mcp_secret *secret)
{
    (void)crypto_kdf_derive_from_key((uint8_t *)secret, sizeof(*secret), 1, "messages", key->byte);
}

void myr_nonce_draw(struct myr_nonce *nonce)
{
    randombytes_buf(nonce->byte, sizeof(nonce->byte));
}

void myr_seal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
              const struct mcp_secret *secret, struct myr_sealed *sealed)
{
    (void)crypto_secretbox_easy(sealed->byte, (const uint8_t *)secret, sizeof(*secret), nonce->byte,
                                key->byte);
}

bool myr_unseal(const struct myr_agreed_key *key, const struct myr_nonce *nonce,
                const struct myr_sealed *sealed, struct mcp_secret *secret)
{
    return 0 == crypto_secretbox_open_easy((uint8_t *)secret, sealed->byte, sizeof(sealed->byte),
                                           nonce->byte, key->byte);
}
