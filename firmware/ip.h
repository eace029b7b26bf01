/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address of the network layer, as hosts tell each other theirs, and as the programs of NICs
 * know it. What is done with one is in soft/addresses.h.
 */
#ifndef MCP_IP_H
#define MCP_IP_H

#include <stdint.h>

/* IPv6, or IPv4 as IPv6 writes it (::ffff:10.0.0.1); network byte order. All 0: none. */
struct mcp_ip {
    uint32_t word[4];
};

#endif
