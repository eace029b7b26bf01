/* SPDX-License-Identifier: BSD-3-Clause */
/* See frames.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "tests/unit/kernel/frames.h"
#include "tests/unit/test.h"

enum {
    LONGER =
        SIX ? sizeof(struct ipv6hdr) - sizeof(struct iphdr) : 0 /* additional bytes on the wire */
};

bool bare;
bool was_bare;
uint32_t version_and_flow;

uint8_t carried[MCP_PAYLOAD_MOST];

uint16_t ip_check(const struct iphdr *ip)
{
    uint16_t words[sizeof(*ip) / 2];
    uint32_t sum = 0;
    memcpy(words, ip, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

void make_frame(struct frame *frame, uint32_t node, uint16_t port, const void *payload,
                size_t bytes)
{
    memset(frame, 0, sizeof(*frame));
    mac_of(OWN, frame->ethernet.h_dest);
    mac_of(FIRST_PEER + node, frame->ethernet.h_source);
    frame->ethernet.h_proto = htons(ETH_P_IP);
    frame->ip.version = 4;
    frame->ip.ihl = 5;
    frame->ip.ttl = 64;
    frame->ip.protocol = IPPROTO_UDP;
    frame->ip.tot_len = htons((uint16_t)(sizeof(frame->ip) + sizeof(frame->udp) + bytes));
    frame->ip.saddr = peer_ip(node);
    frame->ip.daddr = ip_of(OWN);
    frame->udp.source = htons(port);
    frame->udp.dest = htons(port);
    frame->udp.len = htons((uint16_t)(sizeof(frame->udp) + bytes));
    memcpy(frame->payload, payload, bytes);
}

void seal_ip(struct frame *frame)
{
    struct iphdr ip = frame->ip;
    ip.check = 0;
    frame->ip.check = ip_check(&ip);
}

/* Returns the checksum of a UDP datagram over IPv6. It is 0 if the datagram already has the
 * right one. */
static uint16_t udp_check(const struct frame_of_6 *frame, size_t payload_bytes)
{
    uint16_t words[(sizeof(*frame) + 1) / 2] = {0};
    const size_t bytes = sizeof(frame->udp) + payload_bytes;
    uint64_t sum = htons(IPPROTO_UDP) + (uint64_t)frame->udp.len;
    memcpy(words, &frame->ip.saddr, 2 * sizeof(frame->ip.saddr));
    memcpy(words + sizeof(frame->ip.saddr), &frame->udp, bytes);
    for (size_t w = 0; w < sizeof(frame->ip.saddr) + (bytes + 1) / 2; ++w) {
        sum += words[w];
    }
    while (0 != sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

size_t go_to_wire(const struct frame *frame, size_t payload_bytes, union on_wire *on_wire)
{
    struct frame_of_6 *of_6 = &on_wire->of_6;
    if (!SIX) {
        memcpy(&on_wire->of_4, frame, BEFORE_PAYLOAD + payload_bytes);
        return BEFORE_PAYLOAD + payload_bytes;
    }
    memset(of_6, 0, offsetof(struct frame_of_6, payload));
    of_6->ethernet = frame->ethernet;
    of_6->ethernet.h_proto =
        htons(ETH_P_IP) == frame->ethernet.h_proto ? htons(ETH_P_IPV6) : frame->ethernet.h_proto;
    of_6->ip.version = 4 == frame->ip.version ? 6 : 4;
    of_6->ip.payload_len = htons((uint16_t)(ntohs(frame->ip.tot_len) - sizeof(frame->ip)));
    of_6->ip.nexthdr = frame->ip.protocol;
    of_6->ip.hop_limit = frame->ip.ttl;
    const struct mcp_ip from = address_of(frame->ip.saddr), to = address_of(frame->ip.daddr);
    memcpy(&of_6->ip.saddr, &from, sizeof(from));
    memcpy(&of_6->ip.daddr, &to, sizeof(to));
    of_6->udp = frame->udp;
    of_6->udp.check = 0;
    memcpy(of_6->payload, frame->payload, payload_bytes);
    const uint16_t right = bare ? 0 : udp_check(of_6, payload_bytes);
    of_6->udp.check = (uint16_t)((bare || 0 != right ? right : 0xffff) ^ frame->udp.check);
    return BEFORE_PAYLOAD + LONGER + payload_bytes;
}

/* Convert a frame of `bytes` bytes from the wire. Returns its length as an IPv4 frame. */
static size_t come_from_wire(const union on_wire *on_wire, size_t bytes, struct frame *frame)
{
    const struct frame_of_6 *of_6 = &on_wire->of_6;
    if (!SIX) {
        memcpy(frame, &on_wire->of_4, bytes);
        return bytes;
    }
    const size_t payload_bytes = bytes - offsetof(struct frame_of_6, payload);
    memset(frame, 0, BEFORE_PAYLOAD);
    frame->ethernet = of_6->ethernet;
    frame->ethernet.h_proto = htons(ETH_P_IP);
    frame->ip.version = 6 == of_6->ip.version ? 4 : 6;
    frame->ip.ihl = 5;
    frame->ip.tot_len = htons((uint16_t)(ntohs(of_6->ip.payload_len) + sizeof(frame->ip)));
    frame->ip.protocol = of_6->ip.nexthdr;
    frame->ip.ttl = of_6->ip.hop_limit;
    memcpy(&frame->ip.saddr, (const uint8_t *)&of_6->ip.saddr + 12, sizeof(frame->ip.saddr));
    memcpy(&frame->ip.daddr, (const uint8_t *)&of_6->ip.daddr + 12, sizeof(frame->ip.daddr));
    seal_ip(frame);
    frame->udp = of_6->udp;
    was_bare = 0 == of_6->udp.check;
    memcpy(&version_and_flow, &of_6->ip, sizeof(version_and_flow));
    frame->udp.check = was_bare ? 0 : udp_check(of_6, payload_bytes);
    memcpy(frame->payload, of_6->payload, payload_bytes);
    return BEFORE_PAYLOAD + payload_bytes;
}

void inject_bytes(int tap, const struct sockaddr_ll *at, const void *frame, size_t bytes)
{
    assert_int_equal(sendto(tap, frame, bytes, 0, (const struct sockaddr *)at, sizeof(*at)), bytes);
}

void inject_at(int tap, const struct sockaddr_ll *at, struct frame *frame, size_t payload_bytes)
{
    union on_wire on_wire;
    seal_ip(frame);
    const size_t bytes = go_to_wire(frame, payload_bytes, &on_wire);
    inject_bytes(tap, at, &on_wire, bytes);
}

void inject(struct frame *frame, size_t payload_bytes)
{
    inject_at(wire, &far, frame, payload_bytes);
}

size_t make_collective(struct frame *frame, uint32_t node, const struct mcp_header *header,
                       uint32_t carried_bytes)
{
    uint8_t packet[MCP_COLLECTIVE_BYTES + MCP_PAYLOAD_MOST];
    memcpy(packet, header, MCP_COLLECTIVE_BYTES);
    memcpy(packet + MCP_COLLECTIVE_BYTES, carried, carried_bytes);
    make_frame(frame, node, PORT, packet, MCP_COLLECTIVE_BYTES + carried_bytes);
    return MCP_COLLECTIVE_BYTES + carried_bytes;
}

void inject_collective(uint32_t node, const struct mcp_header *header)
{
    struct frame frame;
    const size_t bytes = make_collective(&frame, node, header, header->payload_bytes);
    inject(&frame, bytes);
}

size_t take(int tap, struct frame *frame, bool wait)
{
    for (;;) {
        union on_wire on_wire;
        const ssize_t bytes = recv(tap, &on_wire, sizeof(on_wire), wait ? 0 : MSG_DONTWAIT);
        if (bytes < 0 && EINTR != errno) {
            assert_int_equal(errno, EAGAIN);
            return 0;
        }
        if (bytes >= (ssize_t)BEFORE_PAYLOAD + LONGER &&
            IPPROTO_UDP == (SIX ? on_wire.of_6.ip.nexthdr : on_wire.of_4.ip.protocol)) {
            return come_from_wire(&on_wire, (size_t)bytes, frame);
        }
    }
}

void drain(int from)
{
    char packet[MOST_PAYLOAD];
    while (recv(from, packet, sizeof(packet), MSG_DONTWAIT) >= 0) {
        continue;
    }
}
