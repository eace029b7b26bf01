/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the parser of hellos, the addresses that processes publish in the modex at start-up
 * (hello.c). A failure means that a process misreads the hello of another process, such as one of
 * another version or byte order, and overruns a buffer or uses a wrong NIC.
 *
 * Invariants: each hello is read as it was written; other bytes are rejected. (hello_fuzz.c covers
 * damaged hellos.)
 */
#include "coll_nicbarr/hello.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static void fill_random(uint64_t *random, void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        ((uint8_t *)data)[i] = (uint8_t)crew_random(random);
    }
}

/* Returns a random hello with this set of NICs, and a reason of `why` bytes. */
static struct nicbarr_hello some_hello(uint64_t *random, uint32_t nics, size_t why)
{
    struct nicbarr_hello hello;
    memset(&hello, 0, sizeof(hello));
    hello.identity = crew_random(random);
    hello.digest = crew_random(random);
    hello.number = (uint32_t)crew_random(random);
    hello.later = 0 == crew_below(random, 2);
    if (0 == crew_below(random, 2)) {
        fill_random(random, &hello.key, sizeof(hello.key));
    }
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        if (0 != (nics >> nic & 1)) {
            struct myr_nic_name *name = &hello.nic[nic];
            name->key = crew_random(random) | 1;
            name->count = crew_below(random, MYR_NIC_ADDRESSES + 1);
            fill_random(random, name->address, name->count * sizeof(name->address[0]));
        }
    }
    memset(hello.why, 'y', why);
    return hello;
}

static void expect_equal(const struct nicbarr_hello *one, const struct nicbarr_hello *other)
{
    assert_int_equal(one->identity, other->identity);
    assert_int_equal(one->digest, other->digest);
    assert_int_equal(one->number, other->number);
    assert_int_equal(one->later, other->later);
    assert_memory_equal(&one->key, &other->key, sizeof(one->key));
    assert_memory_equal(&one->nic[1], &other->nic[1], sizeof(one->nic) - sizeof(one->nic[0]));
    assert_string_equal(one->why, other->why);
}

/* Read from an allocation of exactly this size, so that memory checkers detect reads beyond it. */
static bool read_exactly(const uint8_t *bytes, size_t count, struct nicbarr_hello *hello)
{
    uint8_t *copy = malloc(0 == count ? 1 : count);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    const bool good = nicbarr_hello_read(copy, count, hello);
    free(copy);
    return good;
}

TEST(reads_what_was_written)
{
    uint64_t random = crew_seed();
    const size_t longest = sizeof(((struct nicbarr_hello *)0)->why) - 1;
    const size_t reasons[] = {0, 1, longest};
    for (uint32_t nics = 0; nics < 1U << NICBARR_NICS_MOST; nics += 2) {
        for (size_t i = 0; i < 3; ++i) {
            uint8_t bytes[NICBARR_HELLO_BYTES];
            struct nicbarr_hello back;
            const struct nicbarr_hello hello = some_hello(&random, nics, reasons[i]);
            memset(&back, 'x', sizeof(back));
            const size_t count = nicbarr_hello_write(&hello, bytes);
            assert_true(count <= sizeof(bytes));
            assert_true(read_exactly(bytes, count, &back));
            expect_equal(&hello, &back);
        }
    }
}

TEST(wrong_length)
{
    uint64_t random = crew_seed();
    uint8_t bytes[NICBARR_HELLO_BYTES + 1] = {0};
    struct nicbarr_hello back;
    const struct nicbarr_hello hello = some_hello(&random, 1U << 1 | 1U << 2, 20);
    const size_t count = nicbarr_hello_write(&hello, bytes);
    for (size_t less = 0; less < count; ++less) {
        assert_false(read_exactly(bytes, less, &back));
    }
    assert_false(read_exactly(bytes, count + 1, &back));
}

/* A reason that is too long, and too many addresses, although the bytes for them are present. */
TEST(lengths_beyond_the_bounds)
{
    uint64_t random = crew_seed();
    uint8_t bytes[2 * NICBARR_HELLO_BYTES] = {0}, shorter[NICBARR_HELLO_BYTES];
    struct nicbarr_hello back;
    const size_t longest = sizeof(back.why) - 1;
    struct nicbarr_hello hello = some_hello(&random, 0, longest);
    size_t count = nicbarr_hello_write(&hello, bytes), at = 0;
    hello.why[longest - 1] = '\0';
    (void)nicbarr_hello_write(&hello, shorter);
    while (bytes[at] == shorter[at]) { /* find the reason's length */
        ++at;
    }
    while (0 != ++bytes[at]) {
        assert_false(read_exactly(bytes, ++count, &back));
    }
    hello = some_hello(&random, 1U << 1, 0);
    for (hello.nic[1].count = 0; hello.nic[1].count < 2 * MYR_NIC_ADDRESSES; ++hello.nic[1].count) {
        count = nicbarr_hello_write(&hello, bytes); /* reads into the next NIC's addresses */
        assert_int_equal(read_exactly(bytes, count, &back),
                         hello.nic[1].count <= MYR_NIC_ADDRESSES);
    }
}

TEST(other_format_or_byte_order)
{
    uint64_t random = crew_seed();
    uint8_t bytes[NICBARR_HELLO_BYTES];
    struct nicbarr_hello back;
    const struct nicbarr_hello hello = some_hello(&random, 0, 0);
    const size_t count = nicbarr_hello_write(&hello, bytes);
    for (uint32_t b = 0; b < 32; ++b) {
        bytes[b / 8] ^= (uint8_t)(1 << b % 8);
        assert_false(read_exactly(bytes, count, &back));
        bytes[b / 8] ^= (uint8_t)(1 << b % 8);
    }
    assert_true(read_exactly(bytes, count, &back));
    for (uint32_t b = 0; b < 2; ++b) {
        const uint8_t first = bytes[b];
        bytes[b] = bytes[3 - b];
        bytes[3 - b] = first;
    }
    assert_false(read_exactly(bytes, count, &back));
}
