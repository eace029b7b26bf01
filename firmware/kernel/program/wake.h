/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Wakes a host that sleeps on a socket, by redirecting the packet that triggered the wake-up to
 * this socket. */
#ifndef MCP_PROGRAM_WAKE_H
#define MCP_PROGRAM_WAKE_H

#include "firmware/kernel/program/hold.h"
#include "firmware/kernel/program/send.h"

/* Records that the host sleeps on the socket of its doorbell (MCP_RING_SLEEP). */
static __always_inline void record_sleeper(struct __sk_buff *packet, struct mcp_kernel_group *group,
                                           uint64_t key, const struct ethhdr *frame)
{
    const uint16_t from = body_of(frame)->udp.source;
    struct bpf_sock *socket = packet->sk ? bpf_sk_fullsock(packet->sk) : NULL;
    uint64_t *sleeps_for =
        socket ? bpf_sk_storage_get(&sleepers, socket, NULL, BPF_SK_STORAGE_GET_F_CREATE) : NULL;
    if (sleeps_for) {
        *sleeps_for = key;
        if (lock_group(group, key)) {
            copy_address(IN_PACKET(&group->wake_ip), destination_of(frame));
            group->wake_to = from;
            unlock_group(group);
        }
    }
}

/* Returns whether the wake-up packet would reach the socket that has sent the doorbell. This socket
 * may have been closed meanwhile, and another user's socket may have been bound to the same
 * port. */
static __always_inline bool finds_sleeper(struct __sk_buff *packet, uint64_t key, address ip,
                                          uint16_t to)
{
    struct bpf_sock_tuple tuple = {0};
    if (six) {
        copy_address(tuple.ipv6.saddr, ip);
        copy_address(tuple.ipv6.daddr, IN_PACKET(&nic.ip));
        tuple.ipv6.sport = nic.port;
        tuple.ipv6.dport = to;
    } else {
        copy_address(&tuple.ipv4.saddr, ip);
        copy_address(&tuple.ipv4.daddr, IN_PACKET(&nic.ip));
        tuple.ipv4.sport = nic.port;
        tuple.ipv4.dport = to;
    }
    struct bpf_sock *socket =
        bpf_sk_lookup_udp(packet, &tuple, six ? sizeof(tuple.ipv6) : sizeof(tuple.ipv4),
                          (uint64_t)BPF_F_CURRENT_NETNS, 0);
    if (!socket) {
        return false;
    }
    const uint64_t *sleeps_for = bpf_sk_storage_get(&sleepers, socket, NULL, 0);
    const bool found = sleeps_for && key == *sleeps_for;
    bpf_sk_release(socket);
    return found;
}

/* If a host of the group sleeps on a socket, rewrites the packet into a packet to this socket,
 * without a UDP checksum. A received packet (`incoming`) then reaches the socket by itself, whereas
 * a doorbell is an outgoing packet and must be redirected. */
APART int wake_sleeper(struct __sk_buff *packet, struct mcp_kernel_group *group, uint64_t key,
                       bool incoming)
{
    struct made *made = own_made();
    struct mcp_ip from;
    if (!lock_group(group, key)) {
        return DROP;
    }
    copy_address(IN_PACKET(&from), IN_PACKET(&group->wake_ip));
    const uint16_t to_port = group->wake_to;
    group->wake_to = 0;
    unlock_group(group);
    if (!made || 0 == to_port || !finds_sleeper(packet, key, IN_PACKET(&from), to_port)) {
        return DROP;
    }
    copy_own_mac(begin_of(&made->frame)->h_dest);
    copy_own_mac(begin_of(&made->frame)->h_source);
    fill_frame(&made->frame, IN_PACKET(&from), IN_PACKET(&nic.ip), to_port, 0);
    packet->mark = 0;
    if (!put_packet(packet, made, 0)) {
        return DROP;
    }
    return incoming ? PASS : (int)bpf_redirect(nic.interface, BPF_F_INGRESS);
}

#endif
