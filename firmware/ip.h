/* SPDX-License-Identifier: BSD-3-Clause */
/* A network layer address, for the exchange between hosts and for the NICs' programs.
 * soft/addresses.h has its operations. */
#ifndef MCP_IP_H
#define MCP_IP_H

#include <stdint.h>

/* IPv6, or IPv4-mapped (::ffff:10.0.0.1); network byte order. All 0: none. */
struct mcp_ip {
    uint32_t word[4];
};

#endif
