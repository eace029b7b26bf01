/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of networks that a NIC may use (firmware/soft/addresses.c). Invariants: a list with a
 * word that cannot be meant finds no address, and the word is told; all others find what they name.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <string.h>

#include <cmocka.h>

#include "firmware/soft/addresses.h"

static void what_cannot_be_meant_is_told(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"10.0.0.0/99", "10.0.0.0/99"},
        {"10.0.0.0/33", "10.0.0.0/33"},
        {"lo,10.0.0.0/-1", "10.0.0.0/-1"},
        {"10.0.0.0/", "10.0.0.0/"},
        {"10.0.0.0/8x, lo", "10.0.0.0/8x"},
        {"10.0.0/8", "10.0.0/8"},
        {"eth1/8", "eth1/8"},
        {"127.0.0.1, an-interface-so-long", "an-interface-so-long"},
        {"10.0.0.0/000000000000000000000000000000000000000000000",
         "10.0.0.0/0000000000000000000000"},
        {",", ","},
        {" ,, ", " ,, "},
    };
    for (size_t w = 0; w < sizeof(wrong) / sizeof(wrong[0]); ++w) {
        char word[MCP_NETWORK_WORD];
        struct mcp_local_address address;
        assert_true(mcp_networks_wrong(wrong[w][0], word));
        assert_string_equal(word, wrong[w][1]);
        assert_int_equal(mcp_local_addresses(wrong[w][0], &address, 1), 0);
    }
}

static void others_are_right(void **state)
{
    (void)state;
    static const char *const right[] = {NULL,        "",         "eth1", "10.0.0.0/8,eth1",
                                        "0.0.0.0/0", "10.1.2.3", ",lo",  "10.1.2.3/32 eth1,"};
    for (size_t r = 0; r < sizeof(right) / sizeof(right[0]); ++r) {
        char word[MCP_NETWORK_WORD];
        assert_false(mcp_networks_wrong(right[r], word));
    }
}

/* Loopback is there in each network namespace, if it is up. */
static void finds_what_is_named(void **state)
{
    (void)state;
    struct mcp_local_address all[8], address[2];
    if (0 == mcp_local_addresses("lo", all, 8)) {
        skip();
    }
    static const char *const lists[] = {"127.0.0.1", "127.0.0.1/32", "127.0.0.0/8",
                                        "127.0.0.1,127.0.0.1/31"};
    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); ++l) {
        assert_int_equal(mcp_local_addresses(lists[l], address, 2), 1);
        assert_int_equal(address[0].ip, htonl(INADDR_LOOPBACK));
        assert_int_equal(address[0].prefix, 8);
    }
    assert_int_equal(mcp_local_addresses("240.0.0.0/8", address, 2), 0);
    assert_int_equal(mcp_local_addresses("no-such", address, 2), 0);
    assert_int_equal(mcp_local_addresses("0.0.0.0/0", address, 1), 1); /* no more than asked for */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_meant_is_told),
        cmocka_unit_test(others_are_right),
        cmocka_unit_test(finds_what_is_named),
    };
    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
