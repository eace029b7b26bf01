/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket by which a host, or its myrd --kernel, rings the kernel's NIC. A doorbell goes to
 * another NIC (mcp_address_of()), so it leaves by that interface, where the program takes it. Its
 * packets have no UDP checksum: the program turns them into others, for which it would be wrong.
 * Nor need those have one by which the program wakes who sleeps on it.
 */
#ifndef MCP_KERNEL_BELL_H
#define MCP_KERNEL_BELL_H

#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"

static inline bool mcp_bell_is_bare(int bell, int family)
{
    const int one = 1;
    return AF_INET == family
               ? 0 == setsockopt(bell, SOL_SOCKET, SO_NO_CHECK, &one, sizeof(one))
               : 0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_TX, &one, sizeof(one)) &&
                     0 == setsockopt(bell, IPPROTO_UDP, UDP_NO_CHECK6_RX, &one, sizeof(one));
}

/* At the NIC's own address: packets from another one of the host's are no doorbells. -1, with
 * errno: there is none to be had. */
static inline int mcp_bell_make(const struct mcp_ip *own)
{
    const int family = mcp_ip_family(own);
    const struct mcp_address at = mcp_address_of(own, 0);
    const int bell = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bell >= 0 &&
        (!mcp_bell_is_bare(bell, family) || bind(bell, &at.at.any, mcp_address_bytes(&at)) < 0)) {
        close(bell);
        return -1;
    }
    return bell;
}

#endif
