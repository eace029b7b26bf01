/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire of the soft NIC: UDP over IPv4 or IPv6.
 *
 * All processes that run a NIC share its socket. The socket's family is AF_INET, unless the NIC has
 * an IPv6 address. Outgoing packets are collected in an outbox and passed to the kernel in as few
 * calls as possible. Incoming packets are received in batches.
 *
 * Only complete datagrams arrive here: the kernel has reassembled fragments, and has dropped
 * packets with a wrong length or checksum (in Linux, ip_rcv(), udp_rcv(), ipv6_rcv() and
 * udpv6_rcv() do so). */
#ifndef MCP_SOFT_UDP_H
#define MCP_SOFT_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "firmware/soft/addresses.h"
#include "firmware/wire.h"

enum {
    MCP_UDP_OUTBOX = 64,       /* maximum number of packets gathered */
    MCP_UDP_CHAIN_MOST = 65535 /* maximum bytes of a chain of datagrams that the kernel takes or
                                  returns (GSO, GRO) */
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
    bool chains; /* whether the kernel accepts chains of datagrams (UDP_SEGMENT), as far as is known
                  */
    uint32_t gathered;
    struct mcp_udp_packet outbox[MCP_UDP_OUTBOX];
    uint8_t *inbox;              /* MCP_UDP_CHAIN_MOST bytes */
    struct mcp_udp_batch *batch; /* for flushing; too large for the stacks of small threads */
};

/* Creates a socket bound to `port` (host byte order; 0 for any). If the NIC has only one address,
 * the socket is bound to this address, otherwise to the wildcard address. Returns -1, with errno,
 * on failure. */
int mcp_udp_socket(const struct mcp_local_address *addresses, uint32_t count, uint16_t port);

/* Returns the port to which a socket is bound (network byte order), or 0 if it is not a UDP
 * socket. */
uint16_t mcp_udp_port(int socket);

/* Enables the reception of chains (UDP_GRO), for messages. */
void mcp_udp_want_chains(int socket);

/* Returns the size (bytes) of the largest packet that reaches this address without fragmentation,
 * as far as this machine knows, or 0 if there is no route. For IPv6, the result is reduced by the
 * amount by which the IPv6 header is longer than that of IPv4. */
uint32_t mcp_udp_mtu(const struct mcp_ip *to);

/* Opens the wire on a socket from mcp_udp_socket(). mcp_udp_close() closes the socket, too. Returns
 * false if out of memory. */
bool mcp_udp_open(struct mcp_udp *udp, int socket);
void mcp_udp_close(struct mcp_udp *udp);

/* Adds a sealed packet to the outbox. Its payload must not change before the outbox is flushed;
 * otherwise the packet would be damaged. */
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

/* Flushes the outbox. Returns the number of packets that the kernel did not accept. */
uint32_t mcp_udp_flush(struct mcp_udp *udp);

enum { MCP_UDP_NOTHING = -1 };

/* Receives a datagram or, if `chains` is set, a chain of datagrams, without blocking, and calls
 * `each` for each packet. Returns the total number of bytes, or MCP_UDP_NOTHING if nothing has
 * arrived. An empty datagram, which any host can send, is a packet of 0 bytes. (If a chain arrives
 * while `chains` is not set, it is treated as a single damaged packet.) */
typedef void (*mcp_udp_fn)(void *context, const struct mcp_address *from, const void *packet,
                           size_t bytes);
long mcp_udp_take(struct mcp_udp *udp, bool chains, mcp_udp_fn each, void *context);

#endif
