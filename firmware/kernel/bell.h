/* SPDX-License-Identifier: BSD-3-Clause */
/* The doorbell is a UDP socket through which a host, or its myrd --kernel, notifies the kernel NIC.
 *
 * The NIC's program consumes doorbells at the network interface, so a doorbell packet must reach
 * this interface. It does not if it is addressed to a host whose hardware address cannot be
 * resolved, for example because that host is down. Therefore a doorbell that must not be lost is
 * sent to a multicast address, whose hardware address need not be resolved. The address is
 * link-local (RFC 4727, for experiments), so no router forwards the packet, and nobody listens to
 * it. If a firewall on this host blocks multicasts, the doorbell is sent to a peer instead.
 *
 * Linux looks up the route of each multicast packet, which takes time. Therefore doorbells on the
 * path of a barrier are addressed to a peer, until one of them is lost. A process that will sleep
 * on the socket always addresses a peer: the packet that will wake the process has this peer as its
 * source, so a stateful firewall accepts it as a reply.
 *
 * Doorbells have no UDP checksum, because the program rewrites them into other packets, for which
 * the checksum would be wrong. For the same reason, the packets that wake sleeping processes have
 * no checksum. */
#ifndef MCP_KERNEL_BELL_H
#define MCP_KERNEL_BELL_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "os/calls.h"

struct mcp_bell {
    int socket;            /* UDP; -1 if there is none */
    bool multicasts;       /* whether this system permits multicasts */
    struct mcp_address at; /* destination of the multicasts */
};

/* Disables UDP checksums in both directions. Over IPv4, a received checksum of 0 is always
 * accepted. */
static inline bool mcp_bell_disable_checksums(int bell, int family)
{
    const int one = 1;
    return AF_INET == family
               ? 0 == setsockopt(bell, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one))
               : 0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof(one)) &&
                     0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_RX, &one, sizeof(one));
}

/* Sends multicasts through this interface, without loopback. */
static inline bool mcp_bell_set_interface(int bell, int family, uint32_t interface)
{
    const struct ip_mreqn by = {.imr_ifindex = (int)interface};
    const int number = (int)interface, none = 0;
    return AF_INET == family
               ? 0 == setsockopt(bell, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) &&
                     0 == setsockopt(bell, IPPROTO_IP, IP_MULTICAST_LOOP, &none, sizeof(none))
               : 0 == setsockopt(bell, IPPROTO_IPV6, IPV6_MULTICAST_IF, &number, sizeof(number)) &&
                     0 == setsockopt(bell, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &none, sizeof(none));
}

/* Returns the multicast destination of doorbells, for a NIC at this address and port (network byte
 * order). */
static inline struct mcp_address mcp_bell_address(const struct mcp_ip *own, uint16_t port)
{
    const struct mcp_ip of_4 = mcp_ip_of_4(htonl(0xe00000fe));
    const struct mcp_ip of_6 = {{htonl(0xff020000), 0, 0, htonl(0x0114)}};
    return mcp_address_of(mcp_ip_is_4(own) ? &of_4 : &of_6, port);
}

/* Creates a doorbell for a NIC with this interface, address and port. The socket is bound to the
 * NIC's address, because the program accepts doorbells from no other address of the host. Returns
 * false, with errno, on failure. The caller closes the socket in any case. */
static inline bool mcp_bell_make(struct mcp_bell *bell, const struct mcp_ip *own,
                                 uint32_t interface, uint16_t port)
{
    const int family = mcp_ip_family(own);
    const struct mcp_address from = mcp_address_of(own, 0);
    bell->at = mcp_bell_address(own, port);
    bell->socket = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bell->multicasts = bell->socket >= 0 && mcp_bell_set_interface(bell->socket, family, interface);
    return bell->socket >= 0 && mcp_bell_disable_checksums(bell->socket, family) &&
           0 == bind(bell->socket, &from.at.any, mcp_address_bytes(&from));
}

/* Sends a doorbell to the address `to` or, if it is NULL, to the peer to which the socket is
 * connected. (If an earlier packet has caused an error, the kernel reports this error instead of
 * sending the new packet; the call is then retried.) */
static inline bool mcp_bell_ring_to(const struct mcp_bell *bell, const void *words, size_t bytes,
                                    const struct mcp_address *to)
{
    long sent = -1;
    for (int tries = 0; tries < 3 && (long)bytes != sent; ++tries) {
        sent = os_send_to(bell->socket, words, bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                          NULL == to ? NULL : &to->at.any, NULL == to ? 0 : mcp_address_bytes(to));
    }
    return (long)bytes == sent;
}

/* Sends a doorbell to the multicast address, or to the peer if multicasts are blocked. */
static inline bool mcp_bell_ring(const struct mcp_bell *bell, const void *words, size_t bytes,
                                 const struct mcp_address *peer)
{
    return (bell->multicasts && mcp_bell_ring_to(bell, words, bytes, &bell->at)) ||
           mcp_bell_ring_to(bell, words, bytes, peer);
}

#endif
