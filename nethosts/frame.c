/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and damaging UDP in Ethernet frames; see frame.h. */
#include "nethosts/frame.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>

static uint16_t word_at(const struct frame *frame, size_t offset)
{
    uint16_t word;
    memcpy(&word, frame->bytes + offset, sizeof(word));
    return ntohs(word);
}

static void put_word(struct frame *frame, size_t offset, uint16_t word)
{
    word = htons(word);
    memcpy(frame->bytes + offset, &word, sizeof(word));
}

bool frame_find_udp(const struct frame *frame, struct frame_udp *udp)
{
    const size_t ip = ETH_HLEN;
    if (VIRTIO_NET_HDR_GSO_NONE != frame->offload.gso_type ||
        frame->count < ip + sizeof(struct iphdr) + sizeof(struct udphdr) ||
        ETHERTYPE_IP != word_at(frame, ETH_HLEN - 2)) {
        return false;
    }
    struct iphdr header;
    memcpy(&header, frame->bytes + ip, sizeof(header));
    const size_t ip_bytes = (size_t)header.ihl * 4;
    if (4 != header.version || ip_bytes < sizeof(header) || IPPROTO_UDP != header.protocol ||
        0 != (ntohs(header.frag_off) & (IP_MF | IP_OFFMASK)) ||
        frame->count < ip + ip_bytes + sizeof(struct udphdr)) {
        return false;
    }
    udp->ip = ip;
    udp->udp = ip + ip_bytes;
    udp->payload = udp->udp + sizeof(struct udphdr);
    udp->from = word_at(frame, udp->udp);
    udp->to = word_at(frame, udp->udp + 2);
    const size_t bytes = word_at(frame, udp->udp + 4);
    if (bytes < sizeof(struct udphdr) || udp->udp + bytes > frame->count) {
        return false;
    }
    udp->payload_bytes = bytes - sizeof(struct udphdr);
    return true;
}

/* The sum of 16-bit words that both checksums are made of; an odd byte is filled up with 0. */
static uint32_t sum_of(const struct frame *frame, size_t from, size_t bytes)
{
    uint32_t sum = 0;
    for (; bytes >= 2; from += 2, bytes -= 2) {
        sum += word_at(frame, from);
    }
    return 0 == bytes ? sum : sum + ((uint32_t)frame->bytes[from] << 8);
}

static void put_checksum(struct frame *frame, const struct frame_udp *udp)
{
    const size_t checksum = udp->udp + offsetof(struct udphdr, check);
    const size_t bytes = sizeof(struct udphdr) + udp->payload_bytes;
    put_word(frame, checksum, 0);
    uint32_t sum = sum_of(frame, udp->ip + offsetof(struct iphdr, saddr), 8);
    sum += IPPROTO_UDP + (uint32_t)bytes;
    sum += sum_of(frame, udp->udp, bytes);
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    /* 0 would mean that there is none. */
    put_word(frame, checksum, 0xffff == sum ? 0xffff : (uint16_t)~sum);
}

void frame_complete(struct frame *frame, const struct frame_udp *udp)
{
    if (0 != (frame->offload.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
        put_checksum(frame, udp);
    }
    frame->offload = (struct virtio_net_hdr){.flags = 0};
}

void frame_flip(struct frame *frame, const struct frame_udp *udp, size_t bit, bool repair)
{
    frame->bytes[udp->payload + bit / 8] ^= (uint8_t)(1U << bit % 8);
    if (repair) {
        put_checksum(frame, udp);
    }
}
