/* SPDX-License-Identifier: BSD-3-Clause */
/* UDP datagrams in Ethernet frames; see frame.h. */
#include "testbeds/hosts/frame.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
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

/* Parses an IPv4 or IPv6 header that is followed by a whole UDP datagram. Returns the length of the
 * header, or 0 if the frame contains anything else. */
static size_t header_4(const struct frame *frame, struct frame_udp *udp)
{
    struct iphdr header;
    memcpy(&header, frame->bytes + ETH_HLEN, sizeof(header));
    udp->hosts = ETH_HLEN + offsetof(struct iphdr, saddr);
    udp->hosts_bytes = 2 * sizeof(header.saddr);
    return 4 != header.version || (size_t)header.ihl * 4 < sizeof(header) ||
                   IPPROTO_UDP != header.protocol ||
                   0 != (ntohs(header.frag_off) & (IP_MF | IP_OFFMASK))
               ? 0
               : (size_t)header.ihl * 4;
}

static size_t header_6(const struct frame *frame, struct frame_udp *udp)
{
    struct ip6_hdr header;
    memcpy(&header, frame->bytes + ETH_HLEN, sizeof(header));
    udp->hosts = ETH_HLEN + offsetof(struct ip6_hdr, ip6_src);
    udp->hosts_bytes = 2 * sizeof(header.ip6_src);
    return 6 != header.ip6_vfc >> 4 || IPPROTO_UDP != header.ip6_nxt ? 0 : sizeof(header);
}

bool frame_find_udp(const struct frame *frame, struct frame_udp *udp)
{
    const size_t before = ETH_HLEN + sizeof(struct udphdr);
    size_t header = 0;
    if (VIRTIO_NET_HDR_GSO_NONE != frame->offload.gso_type || frame->count < before) {
        return false;
    }
    const uint16_t type = word_at(frame, ETH_HLEN - 2);
    if (ETHERTYPE_IP == type && frame->count >= before + sizeof(struct iphdr)) {
        header = header_4(frame, udp);
    } else if (ETHERTYPE_IPV6 == type && frame->count >= before + sizeof(struct ip6_hdr)) {
        header = header_6(frame, udp);
    }
    if (0 == header || frame->count < before + header) {
        return false;
    }
    udp->udp = ETH_HLEN + header;
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

/* Returns the sum of 16-bit words for checksums; an odd byte is padded with 0. */
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
    uint32_t sum = sum_of(frame, udp->hosts, udp->hosts_bytes);
    sum += IPPROTO_UDP + (uint32_t)bytes;
    sum += sum_of(frame, udp->udp, bytes);
    while (sum >> 16 != 0) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    /* A checksum of 0 is sent as 0xffff, because 0 means that there is no checksum. */
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
