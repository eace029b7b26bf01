/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the format of packets. A failure means that NICs accept corrupted or forged packets, or do
 * not understand packets of other builds.
 *
 * Invariants:
 *
 * - A sealed packet is parsed into the same fields.
 * - Truncated, extended or modified packets, and those with invalid fields, are rejected.
 * - The bytes conform to docs/protocol.md. (The test has another implementation of the
 *   authentication code, after that description and the SipHash paper.)
 */
#include "firmware/wire.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { LONGEST = 65507 }; /* maximum size of a UDP packet's payload */

static const struct mcp_secret secret = {{0x0706050403020100, 0x0f0e0d0c0b0a0908}};

/* ---- another implementation of the authentication code ---- */

static void sip_rounds(uint64_t v[4], int rounds)
{
    static const int rotations[2][2] = {{13, 16}, {17, 21}};
    while (rounds-- > 0) {
        for (int half = 0; half < 2; ++half) {
            for (int pair = 0; pair < 2; ++pair) { /* v0 v1 and v2 v3, then v2 v1 and v0 v3 */
                const int sum = 2 * (half ^ pair), with = 1 + 2 * pair, by = rotations[half][pair];
                v[sum] += v[with];
                v[with] = (v[with] << by | v[with] >> (64 - by)) ^ v[sum];
            }
            v[2 * half] = v[2 * half] << 32 | v[2 * half] >> 32;
        }
    }
}

/* Returns SipHash-c-d, as in the paper. The last word contains the number of bytes. */
static uint64_t sum_of(int c, int d, const uint64_t *words, size_t count)
{
    static const char *const begin[] = {"somepseu", "dorandom", "lygenera", "tedbytes"};
    uint64_t v[4] = {0};
    for (int i = 0; i < 4; ++i) {
        for (int b = 0; b < 8; ++b) {
            v[i] = v[i] << 8 | (uint8_t)begin[i][b];
        }
        v[i] ^= secret.word[i % 2];
    }
    for (size_t w = 0; w < count; ++w) {
        v[3] ^= words[w];
        sip_rounds(v, c);
        v[0] ^= words[w];
    }
    v[2] ^= 0xff;
    sip_rounds(v, d);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* The paper's test vector. */
TEST(reference_vector)
{
    static const uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908}; /* 15 bytes */
    assert_int_equal(sum_of(2, 4, words, 2), UINT64_C(0xa129ca6149be45e5));
}

/* Add a product of NH, modulo 2^128, in digits of 32 bits. */
static void add_product(uint32_t sum[4], uint64_t a, uint64_t b)
{
    for (int i = 0; i < 2; ++i) {
        uint64_t carry = 0;
        for (int j = 0; j < 2; ++j) {
            carry += sum[i + j] + (uint64_t)(uint32_t)(a >> 32 * i) * (uint32_t)(b >> 32 * j);
            sum[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        for (int k = i + 2; k < 4; ++k) {
            carry += sum[k];
            sum[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
}

static uint64_t nh_word(size_t number)
{
    return sum_of(2, 4, (const uint64_t[]){number | UINT64_C(1) << 56}, 1);
}

/* Replace each whole block of a message's payload by two words. Returns the number of words. */
static size_t shorten(uint64_t *words, size_t count, size_t head_words, size_t payload_bytes)
{
    size_t to = head_words, from = head_words;
    for (size_t blocks = payload_bytes / 128; blocks > 0; --blocks, from += 16, to += 2) {
        uint32_t sum[4] = {0};
        for (size_t w = 0; w < 16; w += 2) {
            add_product(sum, words[from + w] + nh_word(w), words[from + w + 1] + nh_word(w + 1));
        }
        words[to] = sum[0] | (uint64_t)sum[1] << 32;
        words[to + 1] = sum[2] | (uint64_t)sum[3] << 32;
    }
    memmove(words + to, words + from, (count - from) * sizeof(words[0]));
    return count - (from - to);
}

static uint64_t check_of(const uint8_t *bytes_of_packet, size_t bytes)
{
    static uint64_t words[LONGEST / 8 + 2];
    const size_t whole = (bytes - 24 + 7) / 8;
    size_t count = whole;
    uint16_t magic;
    uint32_t payload_bytes;
    words[count - 1] = 0;
    memcpy(words, bytes_of_packet + 24, bytes - 24);
    memcpy(&magic, bytes_of_packet, sizeof(magic));
    memcpy(&payload_bytes, bytes_of_packet + 4, sizeof(payload_bytes));
    if (bytes_of_packet[3] >= MCP_DATA) {
        count = shorten(words, count, (56 - 24) / 8, bytes - 56);
    }
    words[count] = magic | (uint64_t)bytes_of_packet[2] << 16 | (uint64_t)bytes_of_packet[3] << 24 |
                   (uint64_t)payload_bytes << 32 | (uint64_t)(8 * whole + 7) << 56;
    return sum_of(1, 3, words, count + 1);
}

/* Cached keys match the secret, even if their number was used with another secret before. */
TEST(cached_keys_are_right)
{
    static struct mcp_nh_keys keys;
    uint64_t random = 1;
    for (int i = 0; i < 10000; ++i) {
        /* includes 0, the initial value, for which no key was derived */
        const struct mcp_secret of = {{crew_below(&random, 2), crew_below(&random, 2)}};
        const struct mcp_nh_key key = mcp_nh_key_of(&of);
        const uint32_t number = (uint32_t)crew_below(&random, 3 * MCP_NH_KEPT);
        assert_memory_equal(mcp_nh_kept(&keys, number, &of), &key, sizeof(key));
    }
}

/* ---- packets ---- */

struct packet {
    size_t head, bytes;
    uint8_t byte[LONGEST];
};

static struct packet packet;

static void make(const struct mcp_header *header, size_t payload_bytes)
{
    struct mcp_header sealed = *header;
    packet.head = mcp_header_bytes(header->type);
    packet.bytes = packet.head + payload_bytes;
    mcp_seal(&sealed, &secret, packet.byte + packet.head, payload_bytes);
    memcpy(packet.byte, &sealed, packet.head);
}

/* Set the length and the authentication code to match the rest of the packet. */
static void make_valid(void)
{
    const uint32_t payload_bytes = (uint32_t)(packet.bytes - packet.head);
    memcpy(packet.byte + offsetof(struct mcp_header, payload_bytes), &payload_bytes,
           sizeof(payload_bytes));
    const uint64_t check = check_of(packet.byte, packet.bytes);
    memcpy(packet.byte + offsetof(struct mcp_header, check), &check, sizeof(check));
}

/* Returns whether the packet is accepted, from an allocation of exactly its size, at an odd
 * address, into a header with other contents. */
static bool accepted(size_t bytes, struct mcp_header *header)
{
    uint8_t *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy + 1, packet.byte, bytes);
    memset(header, 0xee, sizeof(*header));
    const bool is = mcp_parse(copy + 1, bytes, header) &&
                    mcp_genuine(header, &secret, copy + 1 + mcp_header_bytes(header->type));
    assert_memory_equal(copy + 1, packet.byte, bytes);
    free(copy);
    return is;
}

static bool accepted_whole(void)
{
    struct mcp_header header;
    return accepted(packet.bytes, &header);
}

static const struct mcp_header samples[] = {
    {.type = MCP_ARRIVE, .key = 0x0123456789abcdef, .collective = {0xfffffffe, 3, 65535}},
    {.type = MCP_ASK, .key = 1, .collective = {0, 0, 0}},
    {.type = MCP_DONE, .key = UINT64_MAX, .collective = {7, 65535, 2}},
    {.type = MCP_DATA,
     .key = 0xfeedfacecafebeef,
     .message = {0x1122334455667788, 1, 2, 3, 4, 5, 100000, 30000, MCP_FIRST, 77}},
    {.type = MCP_ACK, .key = 99, .message = {98, 0xffffffff, 0, 0, 65535, 0, 0, 0, 0, 0}},
    {.type = MCP_REFUSE, .key = 99, .message = {98, 4, 4, 1, 2, 3, 0, 9, 0, MCP_CLOSED}},
    {.type = MCP_LATER, .key = 5, .collective = {UINT32_MAX, 1, 65535}},
    {.type = MCP_FAIL, .key = 6, .collective = {0, 0, 65535}},
    {.type = MCP_BCAST, .key = 7, .collective = {1, 65535, 3}},
    {.type = MCP_BCAST_ASK, .key = 8, .collective = {UINT32_MAX, 3, 0}},
    {.type = MCP_BCAST_LATER, .key = 9, .collective = {2, 1, 1}},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static bool carries(uint8_t type)
{
    return MCP_ARRIVE == type || MCP_BCAST == type || MCP_DATA == type;
}

/* Returns whether the type requires a payload. */
static bool needs(uint8_t type)
{
    return MCP_BCAST == type || MCP_DATA == type;
}

static const size_t payloads[] = {0,  1,  3,   7,   8,   9,   15,  16,   31,   32,   33,   63,
                                  64, 65, 100, 127, 128, 129, 256, 1000, 1472, 9000, 65000};
enum { PAYLOADS = sizeof(payloads) / sizeof(payloads[0]) };

typedef void (*packet_fn)(const struct mcp_header *sample, size_t payload_bytes);

static void fill_payload(uint64_t *random, size_t payload_bytes, size_t head)
{
    for (size_t i = 0; i < payload_bytes; ++i) {
        packet.byte[head + i] = (uint8_t)crew_random(random);
    }
}

/* Call `fn` for all samples with all payloads of up to `most` bytes that their types permit. */
static void for_all(packet_fn fn, size_t most)
{
    uint64_t random = 1;
    for (size_t s = 0; s < SAMPLES; ++s) {
        for (size_t p = 0; p < PAYLOADS && payloads[p] <= most; ++p) {
            if (0 == payloads[p] ? !needs(samples[s].type) : carries(samples[s].type)) {
                fill_payload(&random, payloads[p], mcp_header_bytes(samples[s].type));
                make(&samples[s], payloads[p]);
                fn(&samples[s], payloads[p]);
            }
        }
    }
}

/* ---- valid packets ---- */

static void expect_round_trip(const struct mcp_header *sample, size_t payload_bytes)
{
    struct mcp_header header, expected = *sample;
    assert_true(accepted(packet.bytes, &header));
    assert_int_equal(header.check, check_of(packet.byte, packet.bytes));
    expected.magic = MCP_MAGIC;
    expected.version = MCP_WIRE_VERSION;
    expected.payload_bytes = (uint32_t)payload_bytes;
    expected.check = header.check;
    assert_memory_equal(&header, &expected, sizeof(header)); /* fields that the type lacks are 0 */
    assert_int_equal(packet.bytes, mcp_header_bytes(header.type) + payload_bytes);
    if (header.type >= MCP_DATA) { /* the same with the derived keys of a connection */
        const struct mcp_nh_key nh = mcp_nh_key_of(&secret);
        const uint8_t *payload = packet.byte + packet.head;
        struct mcp_header sealed = *sample;
        mcp_seal_message(&sealed, &secret, &nh, payload, payload_bytes);
        assert_memory_equal(&sealed, &expected, sizeof(sealed));
        assert_true(mcp_genuine_message(&header, &secret, &nh, payload));
        header.check ^= 1;
        assert_false(mcp_genuine_message(&header, &secret, &nh, payload));
    }
}

TEST(round_trip)
{
    for_all(expect_round_trip, SIZE_MAX);
}

/* The documented offsets, on which other implementations rely. */
TEST(layout)
{
    assert_int_equal(offsetof(struct mcp_header, magic), 0);
    assert_int_equal(offsetof(struct mcp_header, version), 2);
    assert_int_equal(offsetof(struct mcp_header, type), 3);
    assert_int_equal(offsetof(struct mcp_header, payload_bytes), 4);
    assert_int_equal(offsetof(struct mcp_header, key), 8);
    assert_int_equal(offsetof(struct mcp_header, check), 16);
    assert_int_equal(offsetof(struct mcp_header, collective.epoch), 24);
    assert_int_equal(offsetof(struct mcp_header, collective.slot), 28);
    assert_int_equal(offsetof(struct mcp_header, collective.node), 30);
    assert_int_equal(offsetof(struct mcp_header, message.source), 24);
    assert_int_equal(offsetof(struct mcp_header, message.sequence), 32);
    assert_int_equal(offsetof(struct mcp_header, message.expected), 36);
    assert_int_equal(offsetof(struct mcp_header, message.to_port), 40);
    assert_int_equal(offsetof(struct mcp_header, message.from_port), 42);
    assert_int_equal(offsetof(struct mcp_header, message.port_key), 44);
    assert_int_equal(offsetof(struct mcp_header, message.length), 48);
    assert_int_equal(offsetof(struct mcp_header, message.round), 52);
    assert_int_equal(offsetof(struct mcp_header, message.flags), 54);
    assert_int_equal(offsetof(struct mcp_header, message.detail), 55);
    assert_int_equal(sizeof(struct mcp_header), 56);
    assert_int_equal(MCP_MAGIC, 0x4d59);
    assert_int_equal(MCP_WIRE_VERSION, 7);
    static const uint8_t types[] = {MCP_ARRIVE, MCP_ASK,   MCP_DONE,      MCP_LATER,
                                    MCP_FAIL,   MCP_BCAST, MCP_BCAST_ASK, MCP_BCAST_LATER,
                                    MCP_DATA,   MCP_ACK,   MCP_REFUSE};
    for (uint8_t t = 0; t < sizeof(types); ++t) {
        assert_int_equal(types[t], t + 1);
        assert_int_equal(mcp_header_bytes(types[t]), types[t] <= MCP_BCAST_LATER ? 32 : 56);
    }
}

/* ---- invalid packets ---- */

static void expect_other_lengths_rejected(const struct mcp_header *sample, size_t payload_bytes)
{
    (void)sample, (void)payload_bytes;
    const size_t whole = packet.bytes;
    struct mcp_header header;
    for (size_t bytes = 0; bytes < whole; ++bytes) {
        assert_false(accepted(bytes, &header));
        assert_false(mcp_parse(packet.byte, bytes, &header));
    }
    for (size_t bytes = whole + 1; bytes < whole + 70; ++bytes) {
        packet.byte[bytes - 1] = 0; /* a weak code would ignore appended zeros */
        assert_false(accepted(bytes, &header));
    }
}

TEST(other_lengths)
{
    for_all(expect_other_lengths_rejected, 1500);
}

/* Check that flipped bits are rejected, except in the key: a receiver has no secret with which to
 * verify packets of an unknown key. */
static void expect_flips_rejected(const struct mcp_header *sample, size_t payload_bytes)
{
    (void)sample, (void)payload_bytes;
    assert_true(accepted_whole());
    for (size_t bit = 0; bit < 8 * packet.bytes; ++bit) {
        if (bit / 8 >= offsetof(struct mcp_header, key) &&
            bit / 8 < offsetof(struct mcp_header, check)) {
            continue;
        }
        packet.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(accepted_whole());
        packet.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(accepted_whole());
}

TEST(flipped_bits)
{
    for_all(expect_flips_rejected, 1500);
}

/* All values of the first four bytes, with a valid authentication code. */
TEST(foreign_formats)
{
    for (uint32_t value = 0; value < 0x10000; ++value) {
        make(&samples[0], 0);
        const uint16_t magic = (uint16_t)value;
        memcpy(packet.byte, &magic, sizeof(magic));
        make_valid();
        assert_int_equal(accepted_whole(), MCP_MAGIC == value);
    }
    for (uint32_t value = 0; value < 0x100; ++value) {
        make(&samples[0], 0);
        packet.byte[2] = (uint8_t)value;
        make_valid();
        assert_int_equal(accepted_whole(), MCP_WIRE_VERSION == value);
        make(&samples[4], 0); /* the longest header */
        memset(packet.byte + MCP_COLLECTIVE_BYTES, 0, MCP_MESSAGE_BYTES - MCP_COLLECTIVE_BYTES);
        packet.byte[3] = (uint8_t)value;
        packet.head = mcp_header_bytes((uint8_t)value);
        make_valid();
        /* Types whose other fields happen to be valid, too. */
        assert_int_equal(accepted_whole(),
                         MCP_ARRIVE == value || MCP_BCAST == value || MCP_ACK == value);
    }
}

/* Returns whether a DATA packet is possible: it has a part of its message, is a whole empty
 * message, or is void. */
static bool data_possible(uint32_t length, uint8_t flags, size_t payload_bytes)
{
    if (0 != (flags & MCP_VOID)) {
        return 0 == length && 0 == payload_bytes && 0 == (flags & ~(MCP_VOID | MCP_PLEASE));
    }
    if (0 != (flags & ~(MCP_FIRST | MCP_PLEASE)) || payload_bytes > length) {
        return false;
    }
    return 0 != payload_bytes || (0 == length && 0 != (flags & MCP_FIRST));
}

TEST(data_ranges)
{
    static const uint32_t edges[] = {0, 1, 2, 15, 16, 17, 18, 0x7fffffff, 0xfffffff0, 0xffffffff};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    uint32_t accepted_count = 0;
    for (uint32_t l = 0; l < EDGES; ++l) {
        for (uint32_t flags = 0; flags < 0x100; ++flags) {
            for (size_t payload_bytes = 0; payload_bytes < 20; ++payload_bytes) {
                struct mcp_header sample = samples[3];
                sample.message.length = edges[l];
                sample.message.flags = (uint8_t)flags;
                make(&sample, payload_bytes);
                const bool should = data_possible(edges[l], (uint8_t)flags, payload_bytes);
                assert_int_equal(accepted_whole(), should);
                accepted_count += should;
            }
        }
    }
    assert_true(accepted_count > 0);
}

TEST(refuse_ranges)
{
    for (uint32_t reason = 0; reason < 0x100; ++reason) {
        struct mcp_header sample = samples[5];
        sample.message.detail = (uint8_t)reason;
        make(&sample, 0);
        assert_int_equal(accepted_whole(), reason >= MCP_NOT_READY && reason < MCP_REASONS);
        sample.message.flags = 1;
        make(&sample, 0);
        assert_false(accepted_whole());
    }
}

TEST(ack_ranges)
{
    for (uint32_t flags = 0; flags < 0x100; ++flags) {
        struct mcp_header sample = samples[4];
        sample.message.flags = (uint8_t)flags;
        make(&sample, 0);
        const uint32_t valid = MCP_GAP | MCP_READY | MCP_LEFT | MCP_SEEN;
        assert_int_equal(accepted_whole(), 0 == (flags & ~valid));
    }
}

TEST(no_payload)
{
    memset(packet.byte, 0, sizeof(packet.byte));
    for (size_t s = 0; s < SAMPLES; ++s) {
        for (size_t payload_bytes = 1; payload_bytes < 100; ++payload_bytes) {
            make(&samples[s], payload_bytes);
            assert_int_equal(accepted_whole(), carries(samples[s].type));
        }
    }
}
