/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the message authentication codes of packets. A failure means that they are predictable or
 * differ between nodes, so that forged packets are accepted or correct ones dropped.
 *
 * SipHash-2-4 is checked with its authors' test vectors. The vector of 15 bytes is in their paper;
 * the others are from the reference implementation. The words derived from a communicator's secret
 * are checked as well.
 */
#include "firmware/siphash.h"
#include "libmyr/groups/secrets.h"
#include "tests/unit/test.h"

enum { VECTORS = 64 };

/* [n]: the hash of the bytes 0, 1, ... n - 1, with the secret 0, 1, ... 15. */
static const uint64_t vectors[VECTORS] = {
    0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
    0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
    0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
    0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
    0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
    0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8,
    0xb8ad50c6f649af94, 0xbce192de8a85b8ea, 0x17d835b85bbb15f3, 0x2f2e6163076bcfad,
    0xde4daaaca71dc9a5, 0xa6a2506687956571, 0xad87a3535c49ef28, 0x32d892fad841c342,
    0x7127512f72f27cce, 0xa7f32346f95978e3, 0x12e0b01abb051238, 0x15e034d40fa197ae,
    0x314dffbe0815a3b4, 0x027990f029623981, 0xcadcd4e59ef40c4d, 0x9abfd8766a33735c,
    0x0e3ea96b5304a7d0, 0xad0c42d6fc585992, 0x187306c89bc215a9, 0xd4a60abcf3792b95,
    0xf935451de4f21df2, 0xa9538f0419755787, 0xdb9acddff56ca510, 0xd06c98cd5c0975eb,
    0xe612a3cb9ecba951, 0xc766e62cfcadaf96, 0xee64435a9752fe72, 0xa192d576b245165a,
    0x0a8787bf8ecb74b2, 0x81b3e73d20b49b6f, 0x7fa8220ba3b2ecea, 0x245731c13ca42499,
    0xb78dbfaf3a8d83bd, 0xea1ad565322a1a0b, 0x60e61c23a3795013, 0x6606d7e446282b93,
    0x6ca4ecb15c5f91e1, 0x9f626da15c9625f3, 0xe51b38608ef25f57, 0x958a324ceb064572,
};

static const struct mcp_secret counting = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

static uint64_t sum_of(const struct mcp_secret *secret, const uint8_t *bytes, size_t count)
{
    struct mcp_sip sip = mcp_sip_begin(secret);
    uint64_t word = 0; /* in little-endian order */
    for (size_t b = 0; b < count; ++b) {
        word |= (uint64_t)bytes[b] << 8 * (b % 8);
        if (7 == b % 8) {
            mcp_sip_word(&sip, 2, word);
            word = 0;
        }
    }
    return mcp_sip_end(sip, 2, 4, word | (uint64_t)count << 56);
}

TEST(reference_vectors)
{
    uint8_t bytes[VECTORS];
    for (size_t count = 0; count < VECTORS; ++count) {
        bytes[count] = (uint8_t)count;
        assert_int_equal(sum_of(&counting, bytes, count), vectors[count]);
    }
}

/* The keys and secrets of a communicator's groups are all different, are the same for all
 * processes that have the communicator's secret, and depend on its bits. */
TEST(derived_words)
{
    enum { GROUPS = 200, WORDS = 3 * GROUPS };
    static uint64_t words[2 * WORDS];
    for (uint32_t variant = 0; variant < 2; ++variant) {
        struct mcp_secret of = counting;
        of.word[1] ^= variant;
        for (uint32_t g = 0; g < GROUPS; ++g) {
            struct mcp_secret secret, again;
            uint64_t *three = &words[variant * WORDS + 3 * g];
            three[0] = myr_secret_derive(&of, g, &secret);
            assert_int_equal(myr_secret_derive(&of, g, &again), three[0]);
            assert_memory_equal(&secret, &again, sizeof(secret));
            memcpy(&three[1], &secret, sizeof(secret));
        }
    }
    for (uint32_t w = 0; w < 2 * WORDS; ++w) {
        for (uint32_t other = 0; other < w; ++other) {
            assert_true(words[w] != words[other]);
        }
        assert_true(0 != words[w]);
    }
}

TEST(random_secrets)
{
    struct mcp_secret one = {{0, 0}}, other = {{0, 0}};
    assert_true(myr_secret_draw(&one) && myr_secret_draw(&other));
    assert_true(one.word[0] != other.word[0] && one.word[1] != other.word[1]);
    assert_true(one.word[0] != one.word[1]);
}
