/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the parser of a user's list of networks (firmware/soft/addresses.c). A failure means that
 * such a list selects wrong interfaces, or is rejected although it is valid.
 *
 * Invariants:
 *
 * - All notations of an address are equal.
 * - Two addresses are in one network if no bit of the network part differs.
 * - An invalid word in a list is reported, and such a list yields no address.
 * - A valid list yields the addresses that it names.
 */
#include <arpa/inet.h>

#include "firmware/soft/addresses.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/test.h"

/* ---- addresses ---- */

TEST(all_forms)
{
    static const struct form {
        const char *text, *network, *ip_port;
        uint8_t prefix;
        bool is_4;
    } forms[] = {
        {"10.0.0.1", "10.0.0.1/24", "10.0.0.1:4660", 120, true},
        {"0.0.0.0", "0.0.0.0/0", "0.0.0.0:4660", 96, true},
        {"255.255.255.255", "255.255.255.255/32", "255.255.255.255:4660", 128, true},
        {"fd00::1", "fd00::1/64", "[fd00::1]:4660", 64, false},
        {"::1", "::1/128", "[::1]:4660", 128, false},
        {"::", "::/0", "[::]:4660", 0, false},
        {"2001:db8:ffff:ffff:ffff:ffff:ffff:fffe", "2001:db8:ffff:ffff:ffff:ffff:ffff:fffe/127",
         "[2001:db8:ffff:ffff:ffff:ffff:ffff:fffe]:4660", 127, false},
    };
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); ++f) {
        char text[MCP_IP_TEXT], network[MCP_NETWORK_TEXT], ip_port[MCP_ADDRESS_TEXT];
        const struct mcp_ip ip = ip_of(forms[f].text);
        assert_string_equal(mcp_ip_text(&ip, text), forms[f].text);
        assert_string_equal(mcp_network_text(&ip, forms[f].prefix, network), forms[f].network);
        assert_string_equal(mcp_address_text(&ip, htons(0x1234), ip_port), forms[f].ip_port);
        assert_int_equal(mcp_ip_is_4(&ip), forms[f].is_4);
        assert_int_equal(mcp_ip_is_none(&ip), 0 == strcmp(forms[f].text, "::"));
        for (int family = AF_INET;; family = AF_INET6) { /* IPv4 addresses have both families */
            if (AF_INET6 == family || forms[f].is_4) {
                const struct mcp_address address = mcp_address_for(family, &ip, htons(0x1234)),
                                         other = mcp_address_for(family, &ip, htons(0x1235));
                const struct mcp_ip back = mcp_address_ip(&address);
                assert_true(mcp_same_ip(&ip, &back));
                assert_int_equal(mcp_address_port(&address), htons(0x1234));
                assert_true(mcp_same_address(&address, &address));
                assert_false(mcp_same_address(&address, &other));
            }
            if (AF_INET6 == family) {
                break;
            }
        }
    }
}

/* Networks are compared for all prefixes, and for all single bits in which addresses may differ. */
TEST(networks_compare_their_prefix)
{
    static const char *const texts[] = {"10.0.0.1", "fd00:1:2:3:4:5:6:7", "::", "::1"};
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); ++t) {
        const struct mcp_ip ip = ip_of(texts[t]);
        for (uint32_t prefix = 0; prefix <= MCP_IP_BITS; ++prefix) {
            assert_true(mcp_same_network(&ip, &ip, (uint8_t)prefix));
            for (uint32_t bit = 0; bit < MCP_IP_BITS; ++bit) {
                struct mcp_ip other = ip;
                other.word[bit / 32] ^= htonl(UINT32_C(1) << (31 - bit % 32));
                assert_int_equal(mcp_same_network(&ip, &other, (uint8_t)prefix),
                                 bit >= prefix && mcp_ip_is_4(&ip) == mcp_ip_is_4(&other));
            }
        }
    }
}

/* ---- lists ---- */

TEST(invalid_words_are_reported)
{
    static const char *const invalid[][2] = {
        {"10.0.0.0/99", "10.0.0.0/99"},
        {"10.0.0.0/33", "10.0.0.0/33"},
        {"lo,10.0.0.0/-1", "10.0.0.0/-1"},
        {"10.0.0.0/", "10.0.0.0/"},
        {"10.0.0.0/8x, lo", "10.0.0.0/8x"},
        {"10.0.0/8", "10.0.0/8"},
        {"eth1/8", "eth1/8"},
        {"127.0.0.1, an-interface-so-long", "an-interface-so-long"},
        {"10.0.0.0/00000000000000000000000000000000000000000000000000000000000000000",
         "10.0.0.0/000000000000000000000000000000000000000000000000000000"},
        {"fd00::/129", "fd00::/129"},
        {"fd00::/64x", "fd00::/64x"},
        {"fd00::/", "fd00::/"},
        {"fd00:::/64", "fd00:::/64"},
        {"fd00::1::2/64", "fd00::1::2/64"},
        {"fd00::/-1", "fd00::/-1"},
        {"fe80::1%eth0/64", "fe80::1%eth0/64"},
        {"::ffff:10.0.0.0/129", "::ffff:10.0.0.0/129"},
        {"[fd00::]/64", "[fd00::]/64"},
        {"2001:0db8:0000:0000:0000:0000:0000:0001/129",
         "2001:0db8:0000:0000:0000:0000:0000:0001/129"},
        {",", ","},
        {" ,, ", " ,, "},
    };
    for (size_t w = 0; w < sizeof(invalid) / sizeof(invalid[0]); ++w) {
        char why[200], expected[200];
        struct mcp_local_address address;
        assert_true(mcp_networks_wrong(invalid[w][0], why, sizeof(why)));
        snprintf(expected, sizeof(expected), "\"%s\" is neither ", invalid[w][1]);
        assert_memory_equal(why, expected, strlen(expected));
        assert_int_equal(mcp_local_addresses(invalid[w][0], &address, 1), 0);
    }
}

TEST(valid_lists_are_accepted)
{
    static const char *const valid[] = {NULL,
                                        "",
                                        "eth1",
                                        "10.0.0.0/8,eth1",
                                        "0.0.0.0/0",
                                        "10.1.2.3",
                                        ",lo",
                                        "10.1.2.3/32 eth1,",
                                        "fd00::/64,10.0.0.0/8",
                                        "::/0",
                                        "::1",
                                        "fd00::1/128",
                                        "2001:0db8:0000:0000:0000:0000:0000:0001/128",
                                        "::ffff:10.0.0.0/104"};
    for (size_t r = 0; r < sizeof(valid) / sizeof(valid[0]); ++r) {
        char why[200];
        assert_false(mcp_networks_wrong(valid[r], why, sizeof(why)));
    }
}

/* Every network namespace has a loopback interface. If it is down, the test is skipped. */
TEST(finds_named_addresses)
{
    struct mcp_local_address all[8], address[2];
    if (0 == mcp_local_addresses("lo", all, 8)) {
        skip();
    }
    static const char *const lists[] = {"127.0.0.1",        "127.0.0.1/32",
                                        "127.0.0.0/8",      "127.0.0.1,127.0.0.1/31",
                                        "::ffff:127.0.0.1", "::ffff:127.0.0.0/104"};
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); ++l) {
        assert_int_equal(mcp_local_addresses(lists[l], address, 2), 1);
        assert_int_equal(mcp_ip_to_4(&address[0].ip), htonl(INADDR_LOOPBACK));
        assert_int_equal(address[0].prefix, MCP_IP_BEFORE_4 + 8);
    }
    assert_int_equal(mcp_local_addresses("240.0.0.0/8", address, 2), 0);
    assert_int_equal(mcp_local_addresses("no-such", address, 2), 0);
    assert_int_equal(mcp_local_addresses("0.0.0.0/0", address, 1), 1); /* not more than fit */
    if (1 == mcp_local_addresses("::1", address, 2)) {
        assert_int_equal(address[0].prefix, MCP_IP_BITS);
        assert_int_equal(mcp_local_addresses("127.0.0.1,::1/128", address, 2), 2);
        assert_int_equal(mcp_local_addresses("::/0,127.0.0.1", all, 8) > 1, 1);
    }
}
