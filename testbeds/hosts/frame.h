/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet frame as a packet socket gives and takes it. A header comes first: it says what the
 * kernel has left for the network card to do, such as the checksum.
 *
 * Called by the switch. Only frames with one whole UDP datagram over IPv4, or over IPv6 without
 * further headers, are looked into. Fragments and bundles of datagrams are not.
 */
#ifndef NETHOSTS_FRAME_H
#define NETHOSTS_FRAME_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_MOST = 1 << 17 /* bytes: TCP hands on up to 64 KiB at once, and headers */ };

struct frame {
    struct virtio_net_hdr offload;
    size_t count; /* bytes that follow */
    uint8_t bytes[];
};

/* Where a frame's UDP datagram is. */
struct frame_udp {
    size_t hosts, udp, payload; /* offsets in the frame: of both addresses, ... */
    size_t hosts_bytes;
    size_t payload_bytes;
    uint16_t from, to; /* ports, in the byte order of this machine */
};

/* Does the frame carry one whole UDP datagram? */
bool frame_find_udp(const struct frame *frame, struct frame_udp *udp);

/* Compute the datagram's checksum where the kernel has not done so yet. */
void frame_complete(struct frame *frame, const struct frame_udp *udp);

/* Flip bit `bit` of the payload in a frame that is complete. No program then gets the packet,
 * unless `repair` makes the checksum fit again. */
void frame_flip(struct frame *frame, const struct frame_udp *udp, size_t bit, bool repair);

#endif
