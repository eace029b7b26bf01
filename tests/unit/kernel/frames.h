/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes over the wire, and comes from there.
 *
 * In here a packet is one of IPv4, whatever the network. It is made one of IPv6 where it goes to
 * the wire, and is made one of IPv4 where it comes from there. An address of IPv6 ends with the one
 * of IPv4 that it stands for. A right checksum of UDP's over IPv6 is none in here (0); a wrong one
 * is not.
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

/* What is, or was, on the wire. */
union on_wire {
    struct frame of_4;
    struct frame_of_6 of_6;
};

extern bool bare;                 /* packets over IPv6 go to the wire without a checksum */
extern bool was_bare;             /* the last one that came had none */
extern uint32_t version_and_flow; /* of that */

/* What follows the header that is under way: header.payload_bytes of it. */
extern uint8_t carried[MCP_PAYLOAD_MOST];

uint16_t ip_check(const struct iphdr *ip);

/* A frame from a peer's port to ours. */
void make_frame(struct frame *frame, uint32_t node, uint16_t port, const void *payload,
                size_t bytes);

/* The checksum of its IP header. */
void seal_ip(struct frame *frame);

/* As it goes to the wire; returns its bytes. */
size_t go_to_wire(const struct frame *frame, size_t payload_bytes, union on_wire *on_wire);

/* A frame comes in: at this tap, as it is; made one of the network; and at the NIC. */
void inject_bytes(int tap, const struct sockaddr_ll *at, const void *frame, size_t bytes);
void inject_at(int tap, const struct sockaddr_ll *at, struct frame *frame, size_t payload_bytes);
void inject(struct frame *frame, size_t payload_bytes);
void inject_collective(uint32_t node, const struct mcp_header *header);

/* A collective packet of a peer's, with so many bytes behind the header; returns its bytes. */
size_t make_collective(struct frame *frame, uint32_t node, const struct mcp_header *header,
                       uint32_t behind_it);

/* The next UDP frame that a tap has seen, and its bytes; with `wait` it waits for it, else there
 * may be none (0). */
size_t take(int tap, struct frame *frame, bool wait);

/* Take all that has come, and throw it away. */
void drain(int from);

#endif
