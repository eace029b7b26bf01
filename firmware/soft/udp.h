/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC's wire: UDP, over IPv4 or IPv6.
 *
 * One socket serves a NIC, whichever process uses it. Its family is AF_INET, unless the NIC has an
 * IPv6 address. Outgoing packets are gathered in an outbox
 * and handed to the kernel in as few calls as possible. Incoming packets are taken in batches.
 *
 * Only whole datagrams come here: the kernel has put fragments together, and has dropped what has a
 * wrong length or checksum (Linux's ip_rcv() and udp_rcv(); ipv6_rcv() and udpv6_rcv()).
 */
#ifndef MCP_SOFT_UDP_H
#define MCP_SOFT_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "firmware/soft/addresses.h"
#include "firmware/wire.h"

enum {
    MCP_UDP_OUTBOX = 64, /* packets gathered at the most */
    MCP_UDP_CHAIN_MOST =
        65535 /* the kernel takes or gives a chain of datagrams up to this many bytes */
};

struct mcp_udp_packet {
    struct mcp_address to;
    struct mcp_header header;
    const void *payload;
    size_t payload_bytes;
};

struct mcp_udp {
    int socket;
    int family;  /* of the socket */
    bool chains; /* the kernel takes chains of datagrams (UDP_SEGMENT), as far as is known */
    uint32_t gathered;
    struct mcp_udp_packet outbox[MCP_UDP_OUTBOX];
    uint8_t *inbox; /* MCP_UDP_CHAIN_MOST bytes */
};

/* A socket at `port` (host byte order; 0: any) of the one address, or, where there are several, of
 * all that this machine has of their families. -1 with errno. */
int mcp_udp_socket(const struct mcp_local_address *addresses, uint32_t count, uint16_t port);

/* The port a socket is bound to (network byte order), 0 if it is no UDP socket. */
uint16_t mcp_udp_port(int socket);

/* Let datagrams come as chains from now on, as they do where messages are sent. */
void mcp_udp_want_chains(int socket);

/* The largest packet that gets to this address whole, as far as this machine knows; 0: there is no
 * way. Bytes, of IPv6 without those by which its header is longer than IPv4's. */
uint32_t mcp_udp_mtu(const struct mcp_ip *to);

/* Use `socket`, one of mcp_udp_socket(); mcp_udp_close() closes it. False when out of memory. */
bool mcp_udp_open(struct mcp_udp *udp, int socket);
void mcp_udp_close(struct mcp_udp *udp);

/* Gather a packet, which is sealed. If its payload changes before the outbox is flushed, the packet
 * is damaged. */
static inline void mcp_udp_gather(struct mcp_udp *udp, const struct mcp_address *to,
                                  const struct mcp_header *header, const void *payload,
                                  size_t payload_bytes)
{
    udp->outbox[udp->gathered++] = (struct mcp_udp_packet){*to, *header, payload, payload_bytes};
}

static inline bool mcp_udp_full(const struct mcp_udp *udp)
{
    return MCP_UDP_OUTBOX == udp->gathered;
}

/* Send the gathered packets. Returns how many the kernel did not take. */
uint32_t mcp_udp_flush(struct mcp_udp *udp);

enum { MCP_UDP_NOTHING = -1 };

/*
 * Take a datagram without waiting, or a chain of them where `chains` may come. Calls `each` for its
 * packets. Returns the bytes of all, or MCP_UDP_NOTHING if nothing has come. Anybody can send an
 * empty datagram; it is a packet of 0 bytes. (A chain that is taken as one datagram is a damaged
 * packet.)
 */
typedef void (*mcp_udp_fn)(void *context, const struct mcp_address *from, const void *packet,
                           size_t bytes);
long mcp_udp_take(struct mcp_udp *udp, bool chains, mcp_udp_fn each, void *context);

#endif
