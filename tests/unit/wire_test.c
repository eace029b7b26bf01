/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire format. Invariants: what was sealed is taken apart again into the same fields; no packet
 * that is cut short, prolonged, or differs in a bit is taken; nothing whose fields cannot be is
 * taken; the bytes are those that docs/protocol.md describes (the check is computed here a second
 * time, from that description).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "firmware/wire.h"
#include "tests/unit/crew.h"

enum { LONGEST = 65507 }; /* bytes of a packet: what UDP takes */

/* ---- the check, once more ---- */

static uint64_t stir(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ (h >> 32);
}

/* Word number `i` of some bytes, filled up with zeros. */
static uint64_t word_of(const uint8_t *bytes, size_t count, size_t i)
{
    uint64_t word = 0;
    memcpy(&word, bytes + 8 * i, count - 8 * i < 8 ? count - 8 * i : 8);
    return word;
}

static uint64_t stir_rest(uint64_t h, const uint8_t *bytes, size_t count)
{
    size_t i = 0;
    for (; 8 * (i + 1) <= count; ++i) {
        h = stir(h, word_of(bytes, count, i));
    }
    return stir(h, word_of(bytes, count, i) ^ (uint64_t)(count % 8) << 56);
}

static uint32_t check_of(const uint8_t *packet, size_t head, size_t bytes)
{
    uint8_t plain[MCP_MESSAGE_BYTES];
    memcpy(plain, packet, head);
    memset(plain + 4, 0, 4); /* the check itself */
    const uint8_t *payload = packet + head;
    const size_t count = bytes - head;
    uint64_t h = stir_rest(count, plain, head);
    size_t done = 0;
    if (count >= 64) {
        uint64_t chain[4] = {h, h + 1, h + 2, h + 3};
        for (; count - done >= 32; done += 32) {
            for (size_t i = 0; i < 4; ++i) {
                chain[i] = stir(chain[i], word_of(payload, count, done / 8 + i));
            }
        }
        h = stir(stir(stir(chain[0], chain[1]), chain[2]), chain[3]);
    }
    if (0 != count) {
        h = stir_rest(h, payload + done, count - done);
    }
    return (uint32_t)(h >> 32);
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
    mcp_seal(&sealed, packet.byte + packet.head, payload_bytes);
    memcpy(packet.byte, &sealed, packet.head);
}

/* Have the check fit whatever else is in the packet. */
static void make_fit(void)
{
    const uint32_t check = check_of(packet.byte, packet.head, packet.bytes);
    memcpy(packet.byte + offsetof(struct mcp_header, check), &check, sizeof(check));
}

/* Taken? From memory of just its size, at an odd address, into a header full of other things. */
static bool taken(size_t bytes, struct mcp_header *header)
{
    uint8_t *copy = malloc(bytes + 1);
    assert_non_null(copy);
    memcpy(copy + 1, packet.byte, bytes);
    memset(header, 0xee, sizeof(*header));
    const bool is = mcp_parse(copy + 1, bytes, header);
    assert_memory_equal(copy + 1, packet.byte, bytes);
    free(copy);
    return is;
}

static bool taken_whole(void)
{
    struct mcp_header header;
    return taken(packet.bytes, &header);
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
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

static bool carries(uint8_t type)
{
    return MCP_ARRIVE == type || MCP_DATA == type;
}

static const size_t payloads[] = {0,  1,  3,  7,  8,   9,   15,   16,   31,   32,
                                  33, 63, 64, 65, 100, 128, 1000, 1472, 9000, 65000};
enum { PAYLOADS = sizeof(payloads) / sizeof(payloads[0]) };

typedef void (*packet_fn)(const struct mcp_header *sample, size_t payload_bytes);

static void fill_payload(uint64_t *random, size_t payload_bytes, size_t head)
{
    for (size_t i = 0; i < payload_bytes; ++i) {
        packet.byte[head + i] = (uint8_t)crew_random(random);
    }
}

/* Every sample with payloads of up to `most` bytes that its type may have. The same bytes each
 * time: of all damaged packets one in 2^32 has a check that fits. */
static void for_all(packet_fn fn, size_t most)
{
    uint64_t random = 1;
    for (size_t s = 0; s < SAMPLES; ++s) {
        for (size_t p = 0; p < PAYLOADS && payloads[p] <= most; ++p) {
            if (0 == payloads[p] ? MCP_DATA != samples[s].type : carries(samples[s].type)) {
                fill_payload(&random, payloads[p], mcp_header_bytes(samples[s].type));
                make(&samples[s], payloads[p]);
                fn(&samples[s], payloads[p]);
            }
        }
    }
}

/* ---- what is taken ---- */

static void expect_round_trip(const struct mcp_header *sample, size_t payload_bytes)
{
    struct mcp_header header, expected = *sample;
    assert_true(taken(packet.bytes, &header));
    assert_int_equal(header.check, check_of(packet.byte, packet.head, packet.bytes));
    expected.magic = MCP_MAGIC;
    expected.version = MCP_WIRE_VERSION;
    expected.check = header.check;
    assert_memory_equal(&header, &expected, sizeof(header)); /* what the type does not have is 0 */
    assert_int_equal(packet.bytes, mcp_header_bytes(header.type) + payload_bytes);
}

static void round_trip(void **state)
{
    (void)state;
    for_all(expect_round_trip, SIZE_MAX);
}

/* Whatever the fields are, as long as they are in their range. */
static void round_trip_of_any(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (int i = 0; i < 20000; ++i) {
        struct mcp_header sample = {.type = (uint8_t)(1 + crew_below(&random, MCP_FAIL))};
        sample.key = crew_random(&random);
        sample.collective.epoch = (uint32_t)crew_random(&random);
        sample.collective.slot = (uint16_t)crew_random(&random);
        sample.collective.node = (uint16_t)crew_random(&random);
        const size_t payload_bytes = MCP_ARRIVE == sample.type ? crew_below(&random, 200) : 0;
        fill_payload(&random, payload_bytes, MCP_COLLECTIVE_BYTES);
        make(&sample, payload_bytes);
        expect_round_trip(&sample, payload_bytes);
    }
}

/* Offsets as documented: other implementations go by them. */
static void layout(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct mcp_header, magic), 0);
    assert_int_equal(offsetof(struct mcp_header, version), 2);
    assert_int_equal(offsetof(struct mcp_header, type), 3);
    assert_int_equal(offsetof(struct mcp_header, check), 4);
    assert_int_equal(offsetof(struct mcp_header, key), 8);
    assert_int_equal(offsetof(struct mcp_header, collective.epoch), 16);
    assert_int_equal(offsetof(struct mcp_header, collective.slot), 20);
    assert_int_equal(offsetof(struct mcp_header, collective.node), 22);
    assert_int_equal(offsetof(struct mcp_header, message.source), 16);
    assert_int_equal(offsetof(struct mcp_header, message.sequence), 24);
    assert_int_equal(offsetof(struct mcp_header, message.expected), 28);
    assert_int_equal(offsetof(struct mcp_header, message.to_port), 32);
    assert_int_equal(offsetof(struct mcp_header, message.from_port), 34);
    assert_int_equal(offsetof(struct mcp_header, message.port_key), 36);
    assert_int_equal(offsetof(struct mcp_header, message.length), 40);
    assert_int_equal(offsetof(struct mcp_header, message.round), 44);
    assert_int_equal(offsetof(struct mcp_header, message.flags), 46);
    assert_int_equal(offsetof(struct mcp_header, message.detail), 47);
    assert_int_equal(sizeof(struct mcp_header), 48);
    assert_int_equal(MCP_MAGIC, 0x4d59);
    assert_int_equal(MCP_WIRE_VERSION, 2);
    static const uint8_t types[] = {MCP_ARRIVE, MCP_ASK,  MCP_DONE, MCP_LATER,
                                    MCP_FAIL,   MCP_DATA, MCP_ACK,  MCP_REFUSE};
    for (uint8_t t = 0; t < sizeof(types); ++t) {
        assert_int_equal(types[t], t + 1);
        assert_int_equal(mcp_header_bytes(types[t]), types[t] <= MCP_FAIL ? 24 : 48);
    }
}

/* A seal does not depend on what stood in its place. */
static void sealed_twice(void **state)
{
    (void)state;
    for (size_t s = 0; s < SAMPLES; ++s) {
        struct mcp_header once = samples[s];
        mcp_seal(&once, NULL, 0);
        struct mcp_header twice = once;
        mcp_seal(&twice, NULL, 0);
        assert_memory_equal(&once, &twice, sizeof(once));
    }
}

/* ---- what is not ---- */

static void expect_whole_only(const struct mcp_header *sample, size_t payload_bytes)
{
    (void)sample, (void)payload_bytes;
    const size_t whole = packet.bytes;
    struct mcp_header header;
    for (size_t bytes = 0; bytes < whole; ++bytes) {
        assert_false(taken(bytes, &header));
    }
    for (size_t bytes = whole + 1; bytes < whole + 70; ++bytes) {
        packet.byte[bytes - 1] = 0; /* zeros are what a weak check does not see */
        assert_false(taken(bytes, &header));
    }
}

static void whole_only(void **state)
{
    (void)state;
    for_all(expect_whole_only, 1500);
}

static void expect_no_flip(const struct mcp_header *sample, size_t payload_bytes)
{
    (void)sample, (void)payload_bytes;
    assert_true(taken_whole());
    for (size_t bit = 0; bit < 8 * packet.bytes; ++bit) {
        packet.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(taken_whole());
        packet.byte[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(taken_whole());
}

static void no_flip(void **state)
{
    (void)state;
    for_all(expect_no_flip, 1500);
}

/* Words in another order, and words of zeros in another number. */
static void order(void **state)
{
    (void)state;
    uint64_t random = 1;
    const size_t bytes = 256, head = MCP_MESSAGE_BYTES;
    fill_payload(&random, bytes, head);
    make(&samples[3], bytes);
    for (size_t a = 0; a < bytes; a += 8) {
        for (size_t b = a + 8; b < bytes; b += 8) {
            uint8_t word[8];
            memcpy(word, packet.byte + head + a, 8);
            memcpy(packet.byte + head + a, packet.byte + head + b, 8);
            memcpy(packet.byte + head + b, word, 8);
            assert_false(taken_whole());
            memcpy(packet.byte + head + b, packet.byte + head + a, 8);
            memcpy(packet.byte + head + a, word, 8);
        }
    }
    assert_true(taken_whole());
    memset(packet.byte + head, 0, bytes);
    uint32_t checks[256];
    for (size_t count = 1; count < bytes; ++count) {
        make(&samples[3], count);
        memcpy(&checks[count], packet.byte + 4, 4);
        for (size_t before = 1; before < count; ++before) {
            assert_int_not_equal(checks[before], checks[count]);
        }
    }
}

/* Each of the first four bytes, with a check that fits. */
static void foreign_formats(void **state)
{
    (void)state;
    for (uint32_t value = 0; value < 0x10000; ++value) {
        make(&samples[0], 0);
        const uint16_t magic = (uint16_t)value;
        memcpy(packet.byte, &magic, sizeof(magic));
        make_fit();
        assert_int_equal(taken_whole(), MCP_MAGIC == value);
    }
    for (uint32_t value = 0; value < 0x100; ++value) {
        make(&samples[0], 0);
        packet.byte[2] = (uint8_t)value;
        make_fit();
        assert_int_equal(taken_whole(), MCP_WIRE_VERSION == value);
        make(&samples[4], 0); /* long enough for all types */
        memset(packet.byte + MCP_COLLECTIVE_BYTES, 0, MCP_COLLECTIVE_BYTES);
        packet.byte[3] = (uint8_t)value;
        packet.head = mcp_header_bytes((uint8_t)value);
        make_fit();
        /* An ASK or DONE has no payload, a REFUSE has a reason, and a message begins. */
        assert_int_equal(taken_whole(), MCP_ARRIVE == value || MCP_ACK == value);
    }
}

/* A DATA is a part of its message, the whole of an empty one, or void. */
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

static void data_ranges(void **state)
{
    (void)state;
    static const uint32_t edges[] = {0, 1, 2, 15, 16, 17, 18, 0x7fffffff, 0xfffffff0, 0xffffffff};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    uint32_t good = 0;
    for (uint32_t l = 0; l < EDGES; ++l) {
        for (uint32_t flags = 0; flags < 0x100; ++flags) {
            for (size_t payload_bytes = 0; payload_bytes < 20; ++payload_bytes) {
                struct mcp_header sample = samples[3];
                sample.message.length = edges[l];
                sample.message.flags = (uint8_t)flags;
                make(&sample, payload_bytes);
                const bool should = data_possible(edges[l], (uint8_t)flags, payload_bytes);
                assert_int_equal(taken_whole(), should);
                good += should;
            }
        }
    }
    assert_true(good > 0);
}

static void refuse_ranges(void **state)
{
    (void)state;
    for (uint32_t reason = 0; reason < 0x100; ++reason) {
        struct mcp_header sample = samples[5];
        sample.message.detail = (uint8_t)reason;
        make(&sample, 0);
        assert_int_equal(taken_whole(), reason >= MCP_NOT_READY && reason < MCP_REASONS);
        sample.message.flags = 1;
        make(&sample, 0);
        assert_false(taken_whole());
    }
}

static void ack_ranges(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags < 0x100; ++flags) {
        struct mcp_header sample = samples[4];
        sample.message.flags = (uint8_t)flags;
        make(&sample, 0);
        assert_int_equal(taken_whole(), 0 == (flags & ~(uint32_t)(MCP_GAP | MCP_READY)));
    }
}

static void no_payload(void **state)
{
    (void)state;
    memset(packet.byte, 0, sizeof(packet.byte));
    for (size_t s = 0; s < SAMPLES; ++s) {
        for (size_t payload_bytes = 1; payload_bytes < 100; ++payload_bytes) {
            make(&samples[s], payload_bytes);
            assert_int_equal(taken_whole(), carries(samples[s].type));
        }
    }
}

/* Random bytes behind a good beginning: taken if and only if the check happens to fit. */
static void noise(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (int i = 0; i < 100000; ++i) {
        make(&samples[crew_below(&random, SAMPLES)], 0);
        packet.head = packet.bytes; /* for check_of(), which is for whole headers */
        const uint32_t keep = crew_below(&random, 5);
        for (size_t b = keep; b < packet.bytes; ++b) {
            packet.byte[b] = (uint8_t)crew_random(&random);
        }
        const size_t bytes = 1 + crew_below(&random, (uint32_t)packet.bytes);
        const uint8_t type = packet.byte[3];
        struct mcp_header header;
        const bool is = taken(bytes, &header);
        const bool known = type > 0 && type < MCP_TYPES && bytes >= mcp_header_bytes(type);
        assert_true(!is || known);
        if (is) {
            assert_int_equal(check_of(packet.byte, mcp_header_bytes(type), bytes), header.check);
        }
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),       cmocka_unit_test(round_trip),
        cmocka_unit_test(sealed_twice), cmocka_unit_test(round_trip_of_any),
        cmocka_unit_test(whole_only),   cmocka_unit_test(no_flip),
        cmocka_unit_test(order),        cmocka_unit_test(foreign_formats),
        cmocka_unit_test(data_ranges),  cmocka_unit_test(refuse_ranges),
        cmocka_unit_test(ack_ranges),   cmocka_unit_test(no_payload),
        cmocka_unit_test(noise),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
