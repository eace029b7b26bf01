/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process says of itself (hello.c): all words come back as they were, and bytes that are no
 * words are refused, or give words that are within their bounds. The seed of the random ones is
 * printed; NICBARR_SEED sets it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_nicbarr/hello.h"
#include "tests/unit/crew.h"

static void fill_random(uint64_t *random, void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        ((uint8_t *)data)[i] = (uint8_t)crew_random(random);
    }
}

/* Words of any kind: with any of the NICs, with `why` bytes of a reason. */
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

/* Reads exactly the bytes, in memory of their own: a checker of memory sees one that is too many.
 */
static bool read_them(const uint8_t *bytes, size_t count, struct nicbarr_hello *hello)
{
    uint8_t *copy = malloc(0 == count ? 1 : count);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    const bool good = nicbarr_hello_read(copy, count, hello);
    free(copy);
    return good;
}

static void comes_back(void **state)
{
    (void)state;
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
            assert_true(read_them(bytes, count, &back));
            expect_equal(&hello, &back);
        }
    }
}

/* Each shorter piece, and one byte more. */
static void of_another_length(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    uint8_t bytes[NICBARR_HELLO_BYTES + 1] = {0};
    struct nicbarr_hello back;
    const struct nicbarr_hello hello = some_hello(&random, 1U << 1 | 1U << 2, 20);
    const size_t count = nicbarr_hello_write(&hello, bytes);
    for (size_t less = 0; less < count; ++less) {
        assert_false(read_them(bytes, less, &back));
    }
    assert_false(read_them(bytes, count + 1, &back));
}

/* A reason without an end, and more addresses than there is room for, though all bytes are there.
 */
static void too_much(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    uint8_t bytes[2 * NICBARR_HELLO_BYTES] = {0}, shorter[NICBARR_HELLO_BYTES];
    struct nicbarr_hello back;
    const size_t longest = sizeof(back.why) - 1;
    struct nicbarr_hello hello = some_hello(&random, 0, longest);
    size_t count = nicbarr_hello_write(&hello, bytes), at = 0;
    hello.why[longest - 1] = '\0';
    (void)nicbarr_hello_write(&hello, shorter);
    while (bytes[at] == shorter[at]) { /* up to where its length is */
        ++at;
    }
    while (0 != ++bytes[at]) {
        assert_false(read_them(bytes, ++count, &back));
    }
    hello = some_hello(&random, 1U << 1, 0);
    for (hello.nic[1].count = 0; hello.nic[1].count < 2 * MYR_NIC_ADDRESSES; ++hello.nic[1].count) {
        count = nicbarr_hello_write(&hello, bytes); /* those behind are the next NIC's */
        assert_int_equal(read_them(bytes, count, &back), hello.nic[1].count <= MYR_NIC_ADDRESSES);
    }
}

/* Those of a machine with the other byte order, and of another format. */
static void of_another_order(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    uint8_t bytes[NICBARR_HELLO_BYTES];
    struct nicbarr_hello back;
    const struct nicbarr_hello hello = some_hello(&random, 0, 0);
    const size_t count = nicbarr_hello_write(&hello, bytes);
    for (uint32_t b = 0; b < 32; ++b) {
        bytes[b / 8] ^= (uint8_t)(1 << b % 8);
        assert_false(read_them(bytes, count, &back));
        bytes[b / 8] ^= (uint8_t)(1 << b % 8);
    }
    assert_true(read_them(bytes, count, &back));
    for (uint32_t b = 0; b < 2; ++b) {
        const uint8_t first = bytes[b];
        bytes[b] = bytes[3 - b];
        bytes[3 - b] = first;
    }
    assert_false(read_them(bytes, count, &back));
}

/* All is within its bounds, wherever the bytes come from. */
static void expect_bounds(const struct nicbarr_hello *hello)
{
    assert_non_null(memchr(hello->why, '\0', sizeof(hello->why)));
    assert_int_equal(hello->nic[0].key, 0);
    for (uint32_t nic = 1; nic < NICBARR_NICS_MOST; ++nic) {
        assert_true(hello->nic[nic].count <= MYR_NIC_ADDRESSES);
        assert_true(0 != hello->nic[nic].key || 0 == hello->nic[nic].count);
    }
}

static void garbage(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    uint32_t taken = 0;
    for (int round = 0; round < 200000; ++round) {
        uint8_t bytes[NICBARR_HELLO_BYTES];
        struct nicbarr_hello back;
        size_t count = crew_below(&random, sizeof(bytes) + 1);
        if (0 == round % 2) {
            fill_random(&random, bytes, sizeof(bytes));
        } else { /* good words, with some bytes changed */
            const struct nicbarr_hello hello =
                some_hello(&random, crew_below(&random, 1U << NICBARR_NICS_MOST) & ~1U, 5);
            count = nicbarr_hello_write(&hello, bytes);
            for (uint32_t changes = 1 + crew_below(&random, 3); changes > 0; --changes) {
                bytes[crew_below(&random, (uint32_t)count)] ^=
                    (uint8_t)(1 + crew_below(&random, 255));
            }
        }
        if (read_them(bytes, count, &back)) {
            ++taken;
            expect_bounds(&back);
        }
    }
    assert_true(taken > 0); /* a changed identity, say, is as good as another one */
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back), cmocka_unit_test(of_another_length),
        cmocka_unit_test(too_much),   cmocka_unit_test(of_another_order),
        cmocka_unit_test(garbage),
    };
    return cmocka_run_group_tests_name("hello", tests, NULL, NULL);
}
