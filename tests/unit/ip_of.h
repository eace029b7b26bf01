/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses IP addresses in tests. */
#ifndef TESTS_UNIT_IP_OF_H
#define TESTS_UNIT_IP_OF_H

#include <arpa/inet.h>

#include "firmware/soft/addresses.h"
#include "tests/unit/test.h"

static inline struct mcp_ip ip_of(const char *text)
{
    struct mcp_ip ip;
    struct in_addr ip4;
    if (1 == inet_pton(AF_INET, text, &ip4)) {
        return mcp_ip_of_4(ip4.s_addr);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &ip), 1);
    return ip;
}

#endif
