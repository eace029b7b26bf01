/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Packet layouts, and the recognition of nicbarr's packets. */
#ifndef MCP_PROGRAM_PACKETS_H
#define MCP_PROGRAM_PACKETS_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>

#include "firmware/kernel/program/maps.h"

/* A collective packet on the wire consists of a header (struct head or, over IPv6, struct
 * head_of_6), a body, and a payload. A doorbell has the same layout. The words of the body are a
 * struct mcp_header, up to and including its collective part, or, in a doorbell, a struct
 * mcp_doorbell. */
enum { WORDS = MCP_COLLECTIVE_BYTES / 4 };
struct head {
    struct ethhdr ethernet;
    struct iphdr ip;
} __attribute__((packed, aligned(2)));
struct head_of_6 {
    struct ethhdr ethernet;
    struct ipv6hdr ip;
} __attribute__((packed, aligned(2)));
struct body {
    struct udphdr udp;
    uint32_t words[WORDS];
} __attribute__((packed, aligned(2)));

#define HEAD_BYTES (six ? sizeof(struct head_of_6) : sizeof(struct head))
#define FRAME_BYTES (HEAD_BYTES + sizeof(struct body))

/* A packet under construction, with aligned fields. The headers of both IPv4 and IPv6 end where the
 * body begins. */
struct made_frame {
    uint16_t zero;
    union {
        struct head_of_6 head_of_6;
        struct {
            uint8_t apart[sizeof(struct head_of_6) - sizeof(struct head)];
            struct head head;
        };
    };
    struct body body;
} __attribute__((aligned(8)));

/* A payload that is being checked or sealed. */
enum { PAYLOAD_WORDS = MCP_PAYLOAD_MOST / 8 };
struct payload {
    uint64_t word[PAYLOAD_WORDS];
};

/* Each CPU has a buffer for packets, because the stack is too small. The buffer contains the
 * payload of the received packet, or the complete packet to be sent. Programs at these hooks do not
 * preempt each other, so there is only one writer. */
struct made {
    struct made_frame frame;
    struct payload payload; /* adjacent to the frame */
};

_Static_assert(sizeof(uint16_t) + sizeof(struct head_of_6) + sizeof(struct body) ==
                   offsetof(struct made, payload),
               "a payload follows its frame");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct made);
} all_made SEC(".maps");

/* A word without type-based alias analysis: in a packet, in a map, or in loader constants. */
typedef uint32_t any_word __attribute__((may_alias));

/* An address as it is in packets: four words for IPv6, one for IPv4. */
typedef const volatile any_word *address;

static __always_inline void copy_words(void *to, const void *from)
{
    for (int i = 0; i < WORDS; ++i) {
        ((any_word *)to)[i] = ((const any_word *)from)[i];
    }
}

/* The part of a struct mcp_ip that packets contain. */
#define IN_PACKET(ip) (six ? &(ip)->word[0] : &(ip)->word[3])

static __always_inline void copy_address(any_word *to, address from)
{
    to[0] = from[0];
    if (six) {
        to[1] = from[1];
        to[2] = from[2];
        to[3] = from[3];
    }
}

static __always_inline bool is_own(address ip)
{
    address own = IN_PACKET(&nic.ip);
    return ip[0] == own[0] &&
           (!six || 0 == ((ip[1] ^ own[1]) | (ip[2] ^ own[2]) | (ip[3] ^ own[3])));
}

enum { UDP_BYTES = sizeof(struct body), UNCUT = 0x4000, HOPS = 64, FLOW_LABEL = 0xfffff };

static __always_inline const struct iphdr *ip_of(const struct ethhdr *frame)
{
    return &((const struct head *)frame)->ip;
}

static __always_inline const struct ipv6hdr *ip6_of(const struct ethhdr *frame)
{
    return &((const struct head_of_6 *)frame)->ip;
}

static __always_inline const struct body *body_of(const struct ethhdr *frame)
{
    return (const void *)frame + HEAD_BYTES;
}

static __always_inline address source_of(const struct ethhdr *frame)
{
    return six ? ip6_of(frame)->saddr.s6_addr32 : &ip_of(frame)->saddr;
}

static __always_inline address destination_of(const struct ethhdr *frame)
{
    return six ? ip6_of(frame)->daddr.s6_addr32 : &ip_of(frame)->daddr;
}

/* Returns the payload bytes of a packet of nicbarr. For other packets the result may exceed
 * MCP_PAYLOAD_MOST. */
static __always_inline uint32_t payload_bytes(const struct __sk_buff *packet)
{
    return packet->len - (uint32_t)FRAME_BYTES;
}

/* Returns whether a packet of nicbarr can have a payload of this length. */
static __always_inline bool may_be_ours(uint32_t bytes)
{
    return 0 == bytes ||
           (bytes <= MCP_PAYLOAD_MOST && 0 == bytes % MCP_BLOCK_UNIT && 0 != carrying);
}

/* Returns whether the headers are those of a nicbarr packet with a payload of this length. Packets
 * that the kernel's UDP implementation would reject do not qualify. Neither does an IPv4 packet
 * with a UDP checksum, because nicbarr sends none over IPv4. */
static __always_inline bool has_shape(const struct ethhdr *frame, uint32_t bytes)
{
    const uint16_t length = bpf_htons((uint16_t)(UDP_BYTES + bytes));
    if (six) {
        const struct ipv6hdr *ip = ip6_of(frame);
        return 6 == ip->version && IPPROTO_UDP == ip->nexthdr && length == ip->payload_len &&
               length == body_of(frame)->udp.len;
    }
    const struct iphdr *ip = ip_of(frame);
    return 4 == ip->version && 5 == ip->ihl && IPPROTO_UDP == ip->protocol &&
           bpf_htons((uint16_t)(sizeof(*ip) + UDP_BYTES + bytes)) == ip->tot_len &&
           0 == (ip->frag_off & bpf_htons((uint16_t)~UNCUT)) && length == body_of(frame)->udp.len &&
           0 == body_of(frame)->udp.check;
}

/* Returns the frame of the packet, or NULL if it is not in the format of nicbarr. A packet with a
 * VLAN tag does not qualify, because each VLAN is a separate network. */
static __always_inline const struct ethhdr *frame_of(struct __sk_buff *packet)
{
    const uint32_t bytes = payload_bytes(packet);
    if (!may_be_ours(bytes) ||
        packet->protocol != (six ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP))) {
        return NULL;
    }
    if (packet->data + FRAME_BYTES > packet->data_end) {
        (void)bpf_skb_pull_data(packet, FRAME_BYTES);
    }
    const struct ethhdr *frame = (struct ethhdr *)(long)packet->data;
    if ((const void *)frame + FRAME_BYTES > (void *)(long)packet->data_end ||
        !has_shape(frame, bytes) || 0 != packet->vlan_present) {
        return NULL;
    }
    return frame;
}

/* Returns this CPU's packet; never NULL. */
static __always_inline struct made *own_made(void)
{
    const uint32_t zero = 0;
    return bpf_map_lookup_elem(&all_made, &zero);
}

static __always_inline struct payload *own_payload(void)
{
    struct made *made = own_made();
    return made ? &made->payload : NULL;
}

#endif
