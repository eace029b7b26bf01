/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of soft NICs, and the addresses of this machine on the networks that NICs may use. */
#ifndef MCP_SOFT_ADDRESSES_H
#define MCP_SOFT_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a NIC is on the network: IPv4 and UDP port, both in network byte order. */
struct mcp_address {
    uint32_t ip;
    uint16_t port;
    uint16_t zero;
};

static inline bool mcp_same_address(const struct mcp_address *a, const struct mcp_address *b)
{
    return a->ip == b->ip && a->port == b->port;
}

struct mcp_local_address {
    uint32_t ip;    /* network byte order */
    uint8_t prefix; /* bits of the network part */
};

/*
 * Find at most `most` IPv4 addresses of interfaces that are up. `networks` names the permitted
 * ones, separated by commas, best first: interfaces ("eth1") or networks ("10.0.0.0/8"). NULL or
 * "": all that run but loopback and point-to-point ones. Returns how many it found; none where the
 * list is wrong (mcp_networks_wrong()).
 */
uint32_t mcp_local_addresses(const char *networks, struct mcp_local_address *addresses,
                             uint32_t most);

/* Has such a list a word that can be neither an interface nor an address or network, or no word at
 * all? It is in `word` then, cut to its length. */
enum { MCP_NETWORK_WORD = 32 };
bool mcp_networks_wrong(const char *networks, char word[MCP_NETWORK_WORD]);

/* Are both addresses (network byte order) in the same network of `prefix` bits? */
bool mcp_same_network(uint32_t a, uint32_t b, uint8_t prefix);

#endif
