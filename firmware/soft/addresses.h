/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of soft NICs, and the addresses of this machine on the networks that NICs may use.
 *
 * Hosts exchange a network layer address (struct mcp_ip) and a port. Sources and destinations of
 * packets are socket addresses (struct mcp_address), so that no conversion is needed on a barrier's
 * path. All functions are pure, except those that query this machine. */
#ifndef MCP_SOFT_ADDRESSES_H
#define MCP_SOFT_ADDRESSES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "firmware/ip.h"

/* ---- of the network layer ---- */

enum {
    MCP_IP_BITS = 128,
    MCP_IP_BEFORE_4 = 96,               /* bits before an IPv4 address */
    MCP_IP_TEXT = INET6_ADDRSTRLEN,     /* bytes of an address as text, */
    MCP_NETWORK_TEXT = MCP_IP_TEXT + 4, /* ... and with its prefix */
};

static inline struct mcp_ip mcp_ip_of_4(uint32_t ip)
{
    return (struct mcp_ip){{0, 0, htonl(0xffff), ip}};
}

static inline bool mcp_ip_is_4(const struct mcp_ip *ip)
{
    return 0 == ip->word[0] && 0 == ip->word[1] && htonl(0xffff) == ip->word[2];
}

/* The IPv4 address (network byte order) in `ip`; 0: it is not IPv4. */
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

/* Are both addresses in the same network, the first `prefix` bits of 128? IPv4 and IPv6 have none
 * in common. */
bool mcp_same_network(const struct mcp_ip *a, const struct mcp_ip *b, uint8_t prefix);

/* The usual notation: 10.0.0.1 or fd00::1; returns text. */
const char *mcp_ip_text(const struct mcp_ip *ip, char text[MCP_IP_TEXT]);

/* The prefix length in the usual notation, which counts those of IPv4 from its first bit. */
static inline uint8_t mcp_prefix_written(const struct mcp_ip *ip, uint8_t prefix)
{
    return mcp_ip_is_4(ip) && prefix >= MCP_IP_BEFORE_4 ? (uint8_t)(prefix - MCP_IP_BEFORE_4)
                                                        : prefix;
}

/* Address and prefix, 10.0.0.1/24; returns text. */
const char *mcp_network_text(const struct mcp_ip *ip, uint8_t prefix, char text[MCP_NETWORK_TEXT]);

/* An address and a port (network byte order) as text: 10.0.0.1:9 or [fd00::1]:9. */
enum { MCP_PLACE_TEXT = MCP_IP_TEXT + 8 };
const char *mcp_place_text(const struct mcp_ip *ip, uint16_t port, char text[MCP_PLACE_TEXT]);

/* ---- as sockets have it ---- */

/* Unused bytes are 0. */
struct mcp_address {
    union {
        struct sockaddr any;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
    } at;
};

/* An address for a socket of that family: AF_INET, which reaches IPv4 alone, or AF_INET6, which may
 * reach both. The port is in network byte order. */
struct mcp_address mcp_address_for(int family, const struct mcp_ip *ip, uint16_t port);

static inline int mcp_ip_family(const struct mcp_ip *ip)
{
    return mcp_ip_is_4(ip) ? AF_INET : AF_INET6;
}

/* The same for a socket of the address's own family. */
static inline struct mcp_address mcp_address_of(const struct mcp_ip *ip, uint16_t port)
{
    return mcp_address_for(mcp_ip_family(ip), ip, port);
}

/* The length of the address in use. */
static inline socklen_t mcp_address_bytes(const struct mcp_address *address)
{
    return AF_INET6 == address->at.any.sa_family ? sizeof(address->at.ip6)
                                                 : sizeof(address->at.ip4);
}

struct mcp_ip mcp_address_ip(const struct mcp_address *address);

/* The prefix length of a mask of that family, of 128 (struct mcp_local_address). */
uint8_t mcp_mask_prefix(const struct sockaddr *mask, int family);

/* Compare without the port. False for NULL and for another family. */
bool mcp_sockaddr_is(const struct sockaddr *address, const struct mcp_ip *ip);

/* (The port has the same offset in both.) */
static inline uint16_t mcp_address_port(const struct mcp_address *address)
{
    return address->at.ip4.sin_port;
}

static inline bool mcp_same_address(const struct mcp_address *a, const struct mcp_address *b)
{
    return 0 == memcmp(a, b, sizeof(*a));
}

/* ---- this machine's ---- */

struct mcp_local_address {
    struct mcp_ip ip;
    uint8_t prefix; /* bits of the network part, of 128 */
};

/* Find at most `most` addresses of interfaces that are up. `networks` lists the permitted ones,
 * separated by commas, in order of preference: interfaces ("eth1") or networks ("10.0.0.0/8",
 * "fd00::/64"). NULL or "": all but loopback and point-to-point ones; those without carrier only if
 * none has it. For each interface it finds the IPv4 addresses, or the IPv6 addresses if there is no
 * IPv4 address. Link-local IPv6 addresses are excluded, since they are meaningless without an
 * interface. Returns the number of addresses; 0 if the list is invalid (mcp_networks_wrong()). */
uint32_t mcp_local_addresses(const char *networks, struct mcp_local_address *addresses,
                             uint32_t most);

/* The index of the interface that has this address; 0 if none has it. Its name is written to
 * name[IF_NAMESIZE], unless that is NULL. */
uint32_t mcp_interface_of(const struct mcp_ip *ip, char *name);

/* Is the list invalid? It is if it has no word, or a word that is neither an interface nor an
 * address nor a network. Then the reason is written to why[bytes]. */
bool mcp_networks_wrong(const char *networks, char *why, size_t bytes);

#endif
