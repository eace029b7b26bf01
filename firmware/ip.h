/* SPDX-License-Identifier: BSD-3-Clause */
/* A network layer address, as exchanged between hosts and used in the programs of the NICs.
 * soft/addresses.h declares its operations. */
#ifndef MCP_IP_H
#define MCP_IP_H

#include <stdint.h>

/* An IPv6 or IPv4-mapped address (::ffff:10.0.0.1) in network byte order. All 0 means none. */
struct mcp_ip {
    uint32_t word[4];
};

#endif
