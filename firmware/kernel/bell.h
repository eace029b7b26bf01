/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket by which a host, or its myrd --kernel, rings the kernel's NIC.
 *
 * A doorbell has to get as far as the NIC's interface, where the program takes it. A packet to
 * another host does not where the system does not know that host's hardware address, as of one
 * that is down. So a doorbell that must not be lost goes to a multicast address, whose hardware
 * address follows from it. It is one of the link (RFC 4727: for experiments), which no router hands
 * on, and to which nobody listens. Where this host lets none out (a firewall), it goes to a peer.
 *
 * On a barrier's path doorbells go to a peer, until one is lost: to a multicast address Linux looks
 * for the way with each packet. A process that will sleep on the socket rings by way of a peer in
 * any case: it is woken by a packet that comes from there, and a firewall that lets answers alone
 * in takes it for one.
 *
 * Doorbells have no UDP checksum: the program turns them into others, for which it would be wrong.
 * Nor need those have one by which the program wakes who sleeps.
 */
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
    int socket;            /* UDP; -1: none */
    bool multicasts;       /* this system lets it send them */
    struct mcp_address at; /* where they go to */
};

static inline bool mcp_bell_is_bare(int bell, int family)
{
    const int one = 1;
    return AF_INET == family
               ? 0 == setsockopt(bell, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one))
               : 0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof(one)) &&
                     0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_RX, &one, sizeof(one));
}

/* Multicasts leave by this interface, and do not come back. */
static inline bool mcp_bell_goes_by(int bell, int family, uint32_t interface)
{
    const struct ip_mreqn by = {.imr_ifindex = (int)interface};
    const int number = (int)interface, none = 0;
    return AF_INET == family
               ? 0 == setsockopt(bell, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) &&
                     0 == setsockopt(bell, IPPROTO_IP, IP_MULTICAST_LOOP, &none, sizeof(none))
               : 0 == setsockopt(bell, IPPROTO_IPV6, IPV6_MULTICAST_IF, &number, sizeof(number)) &&
                     0 == setsockopt(bell, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &none, sizeof(none));
}

/* Where doorbells go to, for a NIC at this address and port (network byte order). */
static inline struct mcp_address mcp_bell_place(const struct mcp_ip *own, uint16_t port)
{
    const struct mcp_ip of_4 = mcp_ip_of_4(htonl(0xe00000fe));
    const struct mcp_ip of_6 = {{htonl(0xff020000), 0, 0, htonl(0x0114)}};
    return mcp_address_of(mcp_ip_is_4(own) ? &of_4 : &of_6, port);
}

/* At the NIC's own address, as packets from another one of the host's are no doorbells; for a NIC
 * at this interface and port. False, with errno: there is none to be had. The caller closes the
 * socket in any case. */
static inline bool mcp_bell_make(struct mcp_bell *bell, const struct mcp_ip *own,
                                 uint32_t interface, uint16_t port)
{
    const int family = mcp_ip_family(own);
    const struct mcp_address from = mcp_address_of(own, 0);
    bell->at = mcp_bell_place(own, port);
    bell->socket = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bell->multicasts = bell->socket >= 0 && mcp_bell_goes_by(bell->socket, family, interface);
    return bell->socket >= 0 && mcp_bell_is_bare(bell->socket, family) &&
           0 == bind(bell->socket, &from.at.any, mcp_address_bytes(&from));
}

/* Send it there; NULL: to whom the socket is connected. (An error of an earlier packet is reported
 * now, and keeps this packet back: try again.) */
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

/* To the multicast address, else to the peer, which is as above. */
static inline bool mcp_bell_ring(const struct mcp_bell *bell, const void *words, size_t bytes,
                                 const struct mcp_address *peer)
{
    return (bell->multicasts && mcp_bell_ring_to(bell, words, bytes, &bell->at)) ||
           mcp_bell_ring_to(bell, words, bytes, peer);
}

#endif
