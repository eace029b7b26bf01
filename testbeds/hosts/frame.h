/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet frame in the form in which packet sockets receive and send it. Before the frame there
 * is a header that describes the work that the kernel leaves to the network card, such as the
 * checksum.
 *
 * Called by the switch. Only frames with one whole UDP datagram over IPv4, or over IPv6 without
 * extension headers, are parsed. Fragments and segmentation offload are not supported.
 */
#ifndef NETHOSTS_FRAME_H
#define NETHOSTS_FRAME_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_MOST = 1 << 17 /* bytes: TCP passes segments of up to 64 KiB, plus headers */ };

struct frame {
    struct virtio_net_hdr offload;
    size_t count; /* length of `bytes` */
    uint8_t bytes[];
};

/* The position of the UDP datagram in a frame. */
struct frame_udp {
    size_t hosts, udp, payload; /* offsets in the frame; `hosts`: of both IP addresses */
    size_t hosts_bytes;
    size_t payload_bytes;
    uint16_t from, to; /* ports, in host byte order */
};

/* Returns whether the frame carries one whole UDP datagram, and finds its position. */
bool frame_find_udp(const struct frame *frame, struct frame_udp *udp);

/* Computes the datagram's checksum if the kernel has left that to the card. */
void frame_complete(struct frame *frame, const struct frame_udp *udp);

/* Flips bit `bit` of the payload of a complete frame. With `repair` the checksum is recomputed, so
 * that a program receives the damaged packet, which the kernel drops otherwise. */
void frame_flip(struct frame *frame, const struct frame_udp *udp, size_t bit, bool repair);

#endif
