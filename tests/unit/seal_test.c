/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the encryption of groups' secrets for their exchange between nodes (seal.c). A failure
 * means that the secrets can be read or modified on the network, or that nodes cannot exchange
 * them.
 *
 * Invariants:
 *
 * - All processes of a segment share one key pair, and each segment has a different key pair.
 * - Two nodes agree on a key. Only they can open what one of them sealed, and changing any bit
 *   makes opening fail.
 * - A build without libsodium has no keys.
 */
#include "libmyr/groups/secrets.h"
#include "libmyr/node/segment.h"
#include "libmyr/seal.h"
#include "tests/unit/test.h"

enum { NODES = 3 };

static struct myr_segment *segment[NODES];
static struct myr_key_pair pair[NODES];

static int begin(void **state)
{
    (void)state;
    for (int n = 0; n < NODES; ++n) {
        if (MYR_OK != myr_segment_join(NULL, 1 << 20, &segment[n], NULL)) {
            return -1;
        }
        myr_key_pair_of(segment[n], &pair[n]);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (int n = 0; n < NODES; ++n) {
        myr_segment_leave(segment[n]);
    }
    return 0;
}

#define IN_SEGMENTS(name) TEST_IN(name, begin, end)

static bool sodium(void)
{
    return myr_has_key(&pair[0].public);
}

IN_SEGMENTS(a_pair_for_each_node)
{
    struct myr_key_pair again;
    for (int n = 0; n < NODES; ++n) {
        myr_key_pair_of(segment[n], &again);
        assert_memory_equal(&again, &pair[n], sizeof(again));
        assert_int_equal(myr_has_key(&pair[n].public), myr_seals());
        for (int other = 0; sodium() && other < n; ++other) {
            assert_memory_not_equal(&pair[n].public, &pair[other].public, sizeof(pair[n].public));
            assert_memory_not_equal(pair[n].private, pair[other].private, sizeof(pair[n].private));
        }
    }
}

IN_SEGMENTS(only_the_other_can_open)
{
    struct myr_agreed_key here, there, elsewhere;
    struct myr_nonce nonce;
    struct myr_sealed sealed, again;
    struct mcp_secret secret, opened = {{0, 0}};
    if (!sodium()) {
        assert_false(myr_agree(&pair[0], &pair[1].public, &here));
        return;
    }
    assert_true(myr_agree(&pair[0], &pair[1].public, &here));
    assert_true(myr_agree(&pair[1], &pair[0].public, &there));
    assert_true(myr_agree(&pair[2], &pair[0].public, &elsewhere));
    assert_memory_equal(&here, &there, sizeof(here));
    assert_true(myr_secret_draw(&secret));
    myr_nonce_draw(&nonce);
    myr_seal(&here, &nonce, &secret, &sealed);
    assert_true(myr_unseal(&there, &nonce, &sealed, &opened));
    assert_memory_equal(&opened, &secret, sizeof(secret));
    assert_false(myr_unseal(&elsewhere, &nonce, &sealed, &opened));
    for (size_t at = 0; at + sizeof(uint64_t) <= sizeof(sealed); ++at) { /* not in plain text */
        assert_memory_not_equal(sealed.byte + at, &secret.word[0], sizeof(uint64_t));
        assert_memory_not_equal(sealed.byte + at, &secret.word[1], sizeof(uint64_t));
    }
    for (uint32_t bit = 0; bit < 8 * sizeof(sealed); ++bit) {
        again = sealed;
        again.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(myr_unseal(&there, &nonce, &again, &opened));
    }
    for (uint32_t bit = 0; bit < 8 * sizeof(nonce); ++bit) {
        struct myr_nonce other = nonce;
        other.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(myr_unseal(&there, &other, &sealed, &opened));
    }
    /* Sealing the same secret again gives another text. */
    myr_nonce_draw(&nonce);
    myr_seal(&here, &nonce, &secret, &again);
    assert_memory_not_equal(&again, &sealed, sizeof(sealed));
}

/* The secret that authenticates messages: equal on both nodes, and different for each pair. */
IN_SEGMENTS(connections)
{
    struct myr_agreed_key key;
    struct mcp_secret secret[NODES][NODES];
    for (int n = 0; sodium() && n < NODES; ++n) {
        for (int other = 0; other < NODES; ++other) {
            assert_true(myr_agree(&pair[n], &pair[other].public, &key));
            myr_connection_secret(&key, &secret[n][other]);
            /* reveals no part of the key */
            for (size_t at = 0; at + sizeof(uint64_t) <= sizeof(key); ++at) {
                assert_memory_not_equal(key.byte + at, &secret[n][other].word[0], sizeof(uint64_t));
                assert_memory_not_equal(key.byte + at, &secret[n][other].word[1], sizeof(uint64_t));
            }
        }
    }
    for (int n = 1; sodium() && n < NODES; ++n) {
        assert_memory_equal(&secret[n][0], &secret[0][n], sizeof(secret[0][0]));
        assert_memory_not_equal(&secret[n][0], &secret[n][3 - n], sizeof(secret[0][0]));
    }
}

/* An all-zero key means that there is none, and agreeing on it fails. */
IN_SEGMENTS(no_key)
{
    static const struct myr_public_key none;
    static const struct myr_key_pair nobody;
    struct myr_agreed_key key;
    assert_false(myr_has_key(&none));
    assert_false(myr_agree(&pair[0], &none, &key));
    assert_false(myr_agree(&nobody, &pair[0].public, &key));
}
