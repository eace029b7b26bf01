/* SPDX-License-Identifier: BSD-3-Clause */
/* A network layer address, used in the exchange between hosts and in the NICs' programs.
 * soft/addresses.h has its operations. */
#ifndef MCP_IP_H
#define MCP_IP_H

#include <stdint.h>

/* An IPv6 or IPv4-mapped address (::ffff:10.0.0.1) in network byte order. All 0 means none. */
struct mcp_ip {
    uint32_t word[4];
};

#endif
