/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of soft NICs, and the addresses of this machine on the networks that NICs may use.
 *
 * There are two representations. Hosts exchange a network layer address (struct mcp_ip) and a port.
 * In packets, sources and destinations are socket addresses (struct mcp_address), so that no
 * conversion is needed on the path of a barrier. All functions except those that query this machine
 * are pure. */
#ifndef MCP_SOFT_ADDRESSES_H
#define MCP_SOFT_ADDRESSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "firmware/ip.h"

/* ---- network layer addresses ---- */

enum {
    MCP_IP_BITS = 128,
    MCP_IP_BEFORE_4 = 96,               /* number of bits before an IPv4 address */
    MCP_IP_TEXT = INET6_ADDRSTRLEN,     /* size of an address as text */
    MCP_NETWORK_TEXT = MCP_IP_TEXT + 4, /* size of an address with its prefix as text */
};

static inline struct mcp_ip mcp_ip_of_4(uint32_t ip)
{
    return (struct mcp_ip){{0, 0, htonl(0xffff), ip}};
}

static inline bool mcp_ip_is_4(const struct mcp_ip *ip)
{
    return 0 == ip->word[0] && 0 == ip->word[1] && htonl(0xffff) == ip->word[2];
}

/* Returns the IPv4 address (network byte order) in `ip`, or 0 if it is not IPv4. */
static inline uint32_t mcp_ip_to_4(const struct mcp_ip *ip)
{
    return mcp_ip_is_4(ip) ? ip->word[3] : 0;
}

static inline struct mcp_ip mcp_ip_none(void)
{
    return (struct mcp_ip){{0}};
}

static inline bool mcp_ip_is_none(const struct mcp_ip *ip)
{
    return 0 == (ip->word[0] | ip->word[1] | ip->word[2] | ip->word[3]);
}

static inline bool mcp_same_ip(const struct mcp_ip *a, const struct mcp_ip *b)
{
    return 0 == memcmp(a, b, sizeof(*a));
}

/* Returns whether both addresses are in the same network, that is, whether their first `prefix`
 * bits (of 128) are equal. An IPv4 address and an IPv6 address are never in the same network. */
bool mcp_same_network(const struct mcp_ip *a, const struct mcp_ip *b, uint8_t prefix);

/* Formats the address in the usual notation, 10.0.0.1 or fd00::1; returns text. */
const char *mcp_ip_text(const struct mcp_ip *ip, char text[MCP_IP_TEXT]);

/* Returns the prefix length in the usual notation, which for IPv4 counts from its own first bit. */
static inline uint8_t mcp_prefix_written(const struct mcp_ip *ip, uint8_t prefix)
{
    return mcp_ip_is_4(ip) && prefix >= MCP_IP_BEFORE_4 ? (uint8_t)(prefix - MCP_IP_BEFORE_4)
                                                        : prefix;
}

/* Formats address and prefix, as in 10.0.0.1/24; returns text. */
const char *mcp_network_text(const struct mcp_ip *ip, uint8_t prefix, char text[MCP_NETWORK_TEXT]);

/* Formats an address and a port (network byte order), as in 10.0.0.1:9 or [fd00::1]:9. */
enum { MCP_ADDRESS_TEXT = MCP_IP_TEXT + 8 };
const char *mcp_address_text(const struct mcp_ip *ip, uint16_t port, char text[MCP_ADDRESS_TEXT]);

/* ---- socket addresses ---- */

/* A socket address. Unused bytes are 0, so that addresses can be compared with memcmp(). */
struct mcp_address {
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } at;
};

/* Returns an address for a socket of that family: AF_INET, which reaches only IPv4, or AF_INET6,
 * which may reach both. The port is in network byte order. */
struct mcp_address mcp_address_for(int family, const struct mcp_ip *ip, uint16_t port);

static inline int mcp_ip_family(const struct mcp_ip *ip)
{
    return mcp_ip_is_4(ip) ? AF_INET : AF_INET6;
}

/* Returns an address for a socket of the address's own family. */
static inline struct mcp_address mcp_address_of(const struct mcp_ip *ip, uint16_t port)
{
    return mcp_address_for(mcp_ip_family(ip), ip, port);
}

/* Returns the length of the address in use. */
static inline socklen_t mcp_address_bytes(const struct mcp_address *address)
{
    return AF_INET6 == address->at.any.sa_family ? sizeof(address->at.ip6)
                                                 : sizeof(address->at.ip4);
}

struct mcp_ip mcp_address_ip(const struct mcp_address *address);

/* Returns the prefix length of a mask of that family, in bits of 128 (struct mcp_local_address). */
uint8_t mcp_mask_prefix(const struct sockaddr *mask, int family);

/* Returns whether a socket address has this IP address, regardless of its port. Returns false for
 * NULL and for an address of another family. */
bool mcp_sockaddr_is(const struct sockaddr *address, const struct mcp_ip *ip);

/* Returns the port in network byte order. It has the same offset in both families' structures. */
static inline uint16_t mcp_address_port(const struct mcp_address *address)
{
    return address->at.ip4.sin_port;
}

static inline bool mcp_same_address(const struct mcp_address *a, const struct mcp_address *b)
{
    return 0 == memcmp(a, b, sizeof(*a));
}

/* ---- addresses of this machine ---- */

struct mcp_local_address {
    struct mcp_ip ip;
    uint8_t prefix; /* bits of the network part, of 128 */
};

/* Finds at most `most` addresses of interfaces that are up, and returns their number; 0 if the list
 * is invalid (mcp_networks_wrong()).
 *
 * `networks` is a list of permitted interfaces ("eth1") or networks ("10.0.0.0/8", "fd00::/64"),
 * separated by commas, in order of preference. NULL or "" permits all interfaces except loopback
 * and point-to-point ones, but interfaces without carrier are used only if no interface has
 * carrier. The function finds the IPv4 addresses of each interface or, if it has none, its IPv6
 * addresses. Link-local IPv6 addresses are excluded, because they are meaningless without an
 * interface. */
uint32_t mcp_local_addresses(const char *networks, struct mcp_local_address *addresses,
                             uint32_t most);

/* Returns the index of the interface that has this address, or 0 if there is none. Unless `name` is
 * NULL, the name of the interface is written to name[IF_NAMESIZE]. */
uint32_t mcp_interface_of(const struct mcp_ip *ip, char *name);

/* Returns whether the list is invalid, and writes the reason to why[bytes]. A list is invalid if it
 * is empty, or contains a word that is not an interface, an address or a network. */
bool mcp_networks_wrong(const char *networks, char *why, size_t bytes);

#endif
