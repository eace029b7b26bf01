/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends frames to the NIC and receives frames from it.
 *
 * The tests build and read IPv4 frames on every network. On an IPv6 network these functions convert
 * frames in both directions: the last four bytes of an IPv6 address are those of the corresponding
 * IPv4 address. A correct UDP checksum over IPv6 is converted to 0, and a wrong one to another
 * value.
 */
#ifndef TESTS_UNIT_KERNEL_FRAMES_H
#define TESTS_UNIT_KERNEL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <netinet/udp.h>

#include "firmware/wire.h"
#include "tests/unit/kernel/network.h"

enum { MOST_PAYLOAD = MCP_COLLECTIVE_BYTES + MCP_PAYLOAD_MOST + 16 /* bytes */ };

struct frame {
    struct ethhdr ethernet;
    struct iphdr ip;
    struct udphdr udp;
    uint8_t payload[MOST_PAYLOAD];
} __attribute__((packed, aligned(2)));

enum { BEFORE_PAYLOAD = offsetof(struct frame, payload) };

struct frame_of_6 {
    struct ethhdr ethernet;
    struct ipv6hdr ip;
    struct udphdr udp;
    uint8_t payload[MOST_PAYLOAD];
} __attribute__((packed, aligned(2)));

/* A frame in the format in which it is on the wire. */
union on_wire {
    struct frame of_4;
    struct frame_of_6 of_6;
};

extern bool bare;                 /* frames over IPv6 are sent without a checksum */
extern bool was_bare;             /* the last frame received had none */
extern uint32_t version_and_flow; /* the first four bytes of that frame's IP header */

/* The payload of the packet that is being built or expected. */
extern uint8_t carried[MCP_PAYLOAD_MOST];

uint16_t ip_check(const struct iphdr *ip);

/* Build a frame from a peer's port to the NIC's. */
void make_frame(struct frame *frame, uint32_t node, uint16_t port, const void *payload,
                size_t bytes);

/* Set the checksum of the IP header. */
void seal_ip(struct frame *frame);

/* Convert a frame for the wire. Returns its length there. */
size_t go_to_wire(const struct frame *frame, size_t payload_bytes, union on_wire *on_wire);

/* Deliver a frame: unchanged through any tap, converted through any tap or to the NIC, or a
 * collective packet to the NIC. */
void inject_bytes(int tap, const struct sockaddr_ll *at, const void *frame, size_t bytes);
void inject_at(int tap, const struct sockaddr_ll *at, struct frame *frame, size_t payload_bytes);
void inject(struct frame *frame, size_t payload_bytes);
void inject_collective(uint32_t node, const struct mcp_header *header);

/* Build a collective packet from a peer, with `carried_bytes` bytes of payload. Returns its
 * length. */
size_t make_collective(struct frame *frame, uint32_t node, const struct mcp_header *header,
                       uint32_t carried_bytes);

/* Take the next UDP frame that a tap has received. Returns its length, or 0 if `wait` is not set
 * and there is none. */
size_t take(int tap, struct frame *frame, bool wait);

void drain(int from);

#endif
