/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Constructs packets: a message of this NIC replaces the packet that triggered it. */
#ifndef MCP_PROGRAM_SEND_H
#define MCP_PROGRAM_SEND_H

#include "firmware/kernel/program/checks.h"

/* The mark (skb->mark) of packets that the program itself has sent, which the egress hook removes.
 * Processes need CAP_NET_ADMIN to set marks. */
enum { OURS = 0x6d796d79 };

/* Fills in a packet from the port of the NIC, with `bytes` of payload, except for the Ethernet
 * addresses, the message, and the UDP checksum. */
static __always_inline void fill_frame(struct made_frame *frame, address from, address to,
                                       uint16_t to_port, uint32_t bytes)
{
    const uint16_t length = bpf_htons((uint16_t)(UDP_BYTES + bytes));
    frame->body.udp = (struct udphdr){.source = nic.port, .dest = to_port, .len = length};
    if (six) {
        struct ipv6hdr *ip = &frame->head_of_6.ip;
        frame->head_of_6.ethernet.h_proto = bpf_htons(ETH_P_IPV6);
        *(any_word *)ip = bpf_htonl(6U << 28);
        ip->payload_len = length;
        ip->nexthdr = IPPROTO_UDP;
        ip->hop_limit = HOPS;
        copy_address(ip->saddr.s6_addr32, from);
        copy_address(ip->daddr.s6_addr32, to);
        return;
    }
    const uint16_t all = bpf_htons((uint16_t)(sizeof(struct iphdr) + UDP_BYTES + bytes));
    const uint32_t from_ip = from[0], to_ip = to[0];
    frame->head.ethernet.h_proto = bpf_htons(ETH_P_IP);
    frame->head.ip = (struct iphdr){
        .version = 4,
        .ihl = 5,
        .tot_len = all,
        .frag_off = bpf_htons(UNCUT),
        .ttl = HOPS,
        .protocol = IPPROTO_UDP,
        .saddr = from_ip,
        .daddr = to_ip,
        .check = ip_check(from_ip, to_ip, all),
    };
}

/* Returns the address of the frame's first byte. */
static __always_inline struct ethhdr *begin_of(struct made_frame *frame)
{
    return six ? &frame->head_of_6.ethernet : &frame->head.ethernet;
}

/* Copies byte by byte, because the compiler does not know the values that the loader sets. */
static __always_inline void copy_own_mac(uint8_t *to)
{
    for (int i = 0; i < ETH_ALEN; ++i) {
        to[i] = nic.mac[i];
    }
}

/* Evaluates to whether `bytes` is a valid length of a payload, in such a way that the verifier also
 * knows the bounds of `bytes`. The verifier tracks bounds only for the register that was compared.
 * Therefore each bound has its own comparison, and barrier_var() prevents the compiler from
 * comparing a copy of the value in another register. */
#define IS_PAYLOAD(bytes)                                                                          \
    ({                                                                                             \
        barrier_var(bytes);                                                                        \
        bool is_ = (bytes) >= MCP_BLOCK_UNIT;                                                      \
        if (is_) {                                                                                 \
            barrier_var(bytes);                                                                    \
            is_ = (bytes) <= MCP_PAYLOAD_MOST;                                                     \
        }                                                                                          \
        is_;                                                                                       \
    })

/* Copies the packet's payload into this CPU's payload buffer. */
static __always_inline bool load_payload(struct __sk_buff *packet, uint32_t bytes)
{
    struct payload *payload = own_payload();
    return payload && IS_PAYLOAD(bytes) &&
           0 == bpf_skb_load_bytes(packet, FRAME_BYTES, payload, bytes);
}

/* Replaces the packet by the one that was built, with `bytes` of payload. */
static __always_inline bool put_packet(struct __sk_buff *packet, struct made *made, uint32_t bytes)
{
    const uint32_t length = (uint32_t)FRAME_BYTES + bytes;
    if (length != packet->len && bpf_skb_change_tail(packet, length, 0) < 0) {
        return false;
    }
    barrier_var(bytes);
    return bytes <= MCP_PAYLOAD_MOST &&
           0 == bpf_skb_store_bytes(packet, 0, begin_of(&made->frame), FRAME_BYTES + bytes, 0);
}

/* Seals the header (mcp_seal()), and replaces the packet by this message to the NIC with this IP
 * and hardware address. */
static __always_inline bool replace_packet(struct __sk_buff *packet, const uint8_t *mac, address ip,
                                           struct mcp_header *header,
                                           const struct mcp_secret *secret, uint32_t bytes)
{
    struct made *made = own_made();
    if (!made) {
        return false;
    }
    struct made_frame *frame = &made->frame;
    __builtin_memcpy(begin_of(frame)->h_dest, mac, ETH_ALEN);
    copy_own_mac(begin_of(frame)->h_source);
    fill_frame(frame, IN_PACKET(&nic.ip), ip, nic.port, bytes);
    header->magic = MCP_MAGIC;
    header->version = MCP_WIRE_VERSION;
    header->payload_bytes = bytes;
    header->check = check_of(header, secret);
    copy_words(frame->body.words, header);
    if (six) {
        /* Each message has a different flow label, because GRO may coalesce packets of one flow.
         * (Over IPv4, GRO does not coalesce packets without a checksum.) */
        *(any_word *)&frame->head_of_6.ip |= bpf_htonl(FLOW_LABEL) & (uint32_t)header->check;
        const uint16_t check = udp_check(sum_of(&frame->head_of_6.ip.saddr, &frame->body), bytes);
        frame->body.udp.check = 0 == check ? UINT16_MAX : check; /* 0 means none */
    }
    if (!put_packet(packet, made, bytes)) {
        COUNT(send_errors);
        return false;
    }
    COUNT(packets_sent);
    packet->mark = OURS;
    return true;
}

#endif
