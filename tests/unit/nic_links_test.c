/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the NIC's table of links, which counts the references to each peer's address. A failure
 * means that a NIC sends packets to wrong peers, or refuses peers while its table has free entries.
 * A random sequence of holds and drops is compared with a reference count per address.
 *
 * Invariants: each address has one link, and different addresses have different links; a held link
 * keeps its address; a hold fails only if all entries are held.
 */
#include "libmyr/soft/nic_links.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { KNOWN = MYR_SOFT_LINKS + 500, OPERATIONS = 400000 };

static struct myr_soft_links links;
static uint32_t held[KNOWN]; /* number of references of each address */
static mcp_link link_to[KNOWN];

static struct mcp_address address_of(uint32_t number)
{
    /* Some differ only in the port. Half are IPv6 addresses and differ in one word. */
    const uint32_t host = number / 3 * UINT32_C(0x01000193);
    struct mcp_ip ip = mcp_ip_of_4(host);
    if (number % 2 > 0) {
        ip = (struct mcp_ip){{htonl(0xfd000000), 0, 0, 0}};
        ip.word[number % 4] = host;
    }
    return mcp_address_for(AF_INET6, &ip, (uint16_t)(number % 3 + 1));
}

static void begin(void)
{
    memset(&links, 0, sizeof(links));
    memset(held, 0, sizeof(held));
}

static uint32_t all_held(void)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < KNOWN; ++n) {
        count += 0 != held[n];
    }
    return count;
}

/* Hold a link. Returns false if the table is full. */
static bool hold(uint32_t number)
{
    const struct mcp_address address = address_of(number);
    const mcp_link link = myr_soft_links_hold(&links, &address);
    if (MCP_LINK_SENDER == link) {
        assert_int_equal(held[number], 0);
        return false;
    }
    assert_true(link < MYR_SOFT_LINKS);
    assert_true(mcp_same_address(&address, &links.address[link]));
    if (0 != held[number]) {
        assert_int_equal(link, link_to[number]);
    }
    link_to[number] = link;
    ++held[number];
    return true;
}

static void drop(uint32_t number)
{
    myr_soft_links_drop(&links, link_to[number]);
    --held[number];
}

static void expect_all(void)
{
    static uint8_t seen[MYR_SOFT_LINKS];
    memset(seen, 0, sizeof(seen));
    for (uint32_t n = 0; n < KNOWN; ++n) {
        const struct mcp_address address = address_of(n);
        if (0 != held[n]) {
            assert_true(mcp_same_address(&address, &links.address[link_to[n]]));
            assert_int_equal(seen[link_to[n]]++, 0);
        }
    }
    assert_int_equal(myr_soft_links_count(&links), all_held());
}

TEST(full_and_empty_again)
{
    begin();
    for (uint32_t round = 0; round < 3; ++round) {
        uint32_t n = 0;
        while (n < KNOWN && hold(n)) {
            ++n;
        }
        assert_int_equal(n, MYR_SOFT_LINKS - 1);
        assert_true(hold(0)); /* it has an entry */
        assert_false(hold(n));
        drop(0);
        assert_false(hold(n)); /* still referenced */
        drop(0);
        assert_true(hold(n));
        drop(n);
        assert_true(hold(0));
        expect_all();
        while (n > 0) {
            drop(--n);
        }
        expect_all();
    }
}

TEST(at_random)
{
    uint64_t random = crew_seed();
    begin();
    for (uint32_t t = 0; t < OPERATIONS; ++t) {
        /* Alternate between phases of growth and shrinking. */
        const bool more = crew_below(&random, 10) < (t / 50000 % 2 ? 3 : 7);
        const uint32_t number = crew_below(&random, KNOWN);
        if (more && !hold(number)) {
            assert_int_equal(all_held(), MYR_SOFT_LINKS - 1);
        } else if (!more && 0 != held[number]) {
            drop(number);
        }
        if (0 == t % 20000) {
            expect_all();
        }
    }
    expect_all();
    myr_soft_links_drop(&links, MCP_LINK_SENDER); /* not an entry: ignored */
    expect_all();
}
