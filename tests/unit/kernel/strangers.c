/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that packets which are not for the NIC pass unchanged, because otherwise it would disturb
 * the host's other traffic.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/doorbells.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/kernel/tests.h"
#include "tests/unit/test.h"

void frames_for_others(void **state)
{
    (void)state;
    struct frame frame;
    open_small(geteuid());
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
    make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
    mac_of(77, frame.ethernet.h_dest);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    memset(frame.ethernet.h_dest, 0xff, ETH_ALEN);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
    frame.ip.daddr = ip_of(77);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    expect_untouched();
    close_pair(&pair);
}

void foreign_packets(void **state)
{
    (void)state;
    struct frame frame;
    char packet[MOST_PAYLOAD];
    open_small(geteuid());
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
    make_frame(&frame, 1, OTHER_PORT, &header, MCP_COLLECTIVE_BYTES);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    assert_int_equal(recv(other_socket, packet, sizeof(packet), 0), MCP_COLLECTIVE_BYTES);
    assert_memory_equal(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
    frame.ip.protocol = IPPROTO_UDPLITE; /* the taps do not receive it, but it would be counted */
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_untouched();
    close_pair(&pair);
}

/* Functions that change single fields of a frame; numbers are in network byte order. */
static void other_version(struct frame *frame)
{
    frame->ip.version = 6;
}

static void with_options(struct frame *frame)
{
    frame->ip.ihl = 6;
}

static void shorter_ip(struct frame *frame)
{
    frame->ip.tot_len = htons((uint16_t)(ntohs(frame->ip.tot_len) - 1));
}

static void longer_ip(struct frame *frame)
{
    frame->ip.tot_len = htons((uint16_t)(ntohs(frame->ip.tot_len) + 1));
}

static void first_fragment(struct frame *frame)
{
    frame->ip.frag_off = htons(0x2000);
}

static void last_fragment(struct frame *frame)
{
    frame->ip.frag_off = htons(1);
}

static void reserved_bit(struct frame *frame)
{
    frame->ip.frag_off = htons(0x8000);
}

static void shorter_udp(struct frame *frame)
{
    frame->udp.len = htons((uint16_t)(ntohs(frame->udp.len) - 1));
}

static void longer_udp(struct frame *frame)
{
    frame->udp.len = htons((uint16_t)(ntohs(frame->udp.len) + 1));
}

static void no_udp_length(struct frame *frame)
{
    frame->udp.len = 0;
}

static void wrong_udp_check(struct frame *frame)
{
    frame->udp.check = 1;
}

/* All NICs have the same port, which no user of a host can bind. */
static void from_another_port(struct frame *frame)
{
    frame->udp.source = htons(OTHER_PORT);
}

/* The system accepts this checksum, but NICs send none over IPv4. */
static void right_udp_check(struct frame *frame)
{
    uint16_t words[(sizeof(frame->udp) + MCP_COLLECTIVE_BYTES) / 2];
    uint32_t sum = htons(IPPROTO_UDP) + frame->udp.len;
    memcpy(words, &frame->udp, sizeof(words));
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); ++w) {
        sum += words[w];
    }
    sum += (frame->ip.saddr & 0xffff) + (frame->ip.saddr >> 16);
    sum += (frame->ip.daddr & 0xffff) + (frame->ip.daddr >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    frame->udp.check = (uint16_t) ~(sum + (sum >> 16));
}

/* The system does not accept this over IPv6, and NICs always send a checksum. */
static void no_udp_check(struct frame *frame)
{
    (void)frame;
    bare = true;
}

enum { OF_BOTH, OF_4, OF_6 };
static const struct {
    const char *what;
    void (*change)(struct frame *);
    int of;
} nearly[] = {
    {"IP version", other_version, OF_BOTH},
    {"IP options", with_options, OF_4},
    {"IP length, less", shorter_ip, OF_BOTH},
    {"IP length, more", longer_ip, OF_BOTH},
    {"first fragment", first_fragment, OF_4},
    {"last fragment", last_fragment, OF_4},
    {"reserved bit", reserved_bit, OF_4},
    {"UDP length, less", shorter_udp, OF_BOTH},
    {"UDP length, more", longer_udp, OF_BOTH},
    {"no UDP length", no_udp_length, OF_BOTH},
    {"wrong UDP check", wrong_udp_check, OF_4},
    {"right UDP check", right_udp_check, OF_4},
    {"from another port", from_another_port, OF_BOTH},
    {"no UDP check", no_udp_check, OF_6},
};

/* Frames that differ from a valid one in one field are passed unchanged and not counted. At last
 * the valid one is accepted. */
void packets_that_only_look_right(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 11;
    struct frame good, frame;
    open_small(geteuid());
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
    make_frame(&good, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
    seal_ip(&good);
    for (size_t n = 0; n < sizeof(nearly) / sizeof(nearly[0]); ++n) {
        if (OF_BOTH != nearly[n].of && (OF_6 == nearly[n].of) != SIX) {
            continue;
        }
        frame = good;
        nearly[n].change(&frame);
        inject(&frame, MCP_COLLECTIVE_BYTES);
        bare = false;
        print_message("%s\n", nearly[n].what);
        expect_passed(&frame, MCP_COLLECTIVE_BYTES);
        expect_untouched();
    }
    for (uint32_t bit = 0; !SIX && bit < 16; ++bit) {
        frame = good;
        frame.ip.check ^= (uint16_t)(1 << bit);
        inject_bytes(wire, &far, &frame, BEFORE_PAYLOAD + MCP_COLLECTIVE_BYTES);
        expect_passed(&frame, MCP_COLLECTIVE_BYTES);
        expect_untouched();
    }
    event_packet(&pair, header, &random);
    close_pair(&pair);
}

/* A VLAN is another network, even with the same addresses. (The system removes the tag before
 * the program gets the packet.) */
void packets_of_vlans(void **state)
{
    (void)state;
    enum { TAG = 4, BEFORE_TAG = 2 * ETH_ALEN };
    static const uint16_t tags[] = {5, 4094, 0x6000 /* a priority without a VLAN */};
    struct frame frame;
    union on_wire on_wire;
    uint8_t tagged[sizeof(on_wire) + TAG];
    open_small(geteuid());
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
    make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
    seal_ip(&frame);
    for (size_t t = 0; t < sizeof(tags) / sizeof(tags[0]); ++t) {
        const uint16_t tag[] = {htons(ETH_P_8021Q), htons(tags[t])};
        const size_t bytes = go_to_wire(&frame, MCP_COLLECTIVE_BYTES, &on_wire);
        memcpy(tagged, &on_wire, BEFORE_TAG);
        memcpy(tagged + BEFORE_TAG, tag, TAG);
        memcpy(tagged + BEFORE_TAG + TAG, (const uint8_t *)&on_wire + BEFORE_TAG,
               bytes - BEFORE_TAG);
        inject_bytes(wire, &far, tagged, bytes + TAG);
        expect_passed(&frame, MCP_COLLECTIVE_BYTES);
        expect_untouched();
    }
    close_pair(&pair);
}

static void send_to_port(int from, uint16_t port, const void *payload)
{
    const struct mcp_address peer = udp_address(peer_ip(1), port);
    assert_int_equal(
        sendto(from, payload, MCP_COLLECTIVE_BYTES, 0, &peer.at.any, mcp_address_bytes(&peer)),
        MCP_COLLECTIVE_BYTES);
}

/* A process that uses the NIC's port cannot send packets that look like a NIC's. With another
 * port it can. */
void forged_packets(void **state)
{
    (void)state;
    struct frame frame;
    open_small(geteuid());
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 0);
    ++count.dropped_implausible;
    send_to_port(nic_socket, PORT, &header);
    expect_untouched();
    send_to_port(other_socket, PORT, &header);
    assert_int_equal(take(wire, &frame, true), BEFORE_PAYLOAD + MCP_COLLECTIVE_BYTES);
    assert_memory_equal(frame.payload, &header, MCP_COLLECTIVE_BYTES);
    assert_int_equal(ntohs(frame.udp.source), OTHER_PORT);
    expect_untouched();
    close_pair(&pair);
}

/* A packet with the contents of a doorbell and the right key is not a doorbell if it is not sent
 * to a NIC's port. */
void doorbells_to_other_ports(void **state)
{
    (void)state;
    open_small(geteuid());
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        const struct mcp_doorbell doorbell = make_doorbell(pair.key, what, 1);
        send_to_port(other_socket, OTHER_PORT, &doorbell);
        expect_left(&doorbell, sizeof(doorbell));
        expect_untouched();
    }
    close_pair(&pair);
}

/* Neither is it a doorbell if it has a checksum, because it could not be converted into a packet
 * of the NIC. */
void doorbells_with_checksums(void **state)
{
    (void)state;
    const int zero = 0;
    open_small(geteuid());
    assert_int_equal(setsockopt(pair.bell, SIX ? IPPROTO_UDP : SOL_SOCKET,
                                SIX ? UDP_NO_CHECK6_TX : SO_NO_CHECK, &zero, sizeof(zero)),
                     0);
    const struct mcp_doorbell doorbell = make_doorbell(pair.key, MCP_RING_START, 1);
    ring(pair.bell, pair.key, MCP_RING_START, 1);
    expect_left(&doorbell, sizeof(doorbell));
    expect_untouched();
    close_pair(&pair);
}

/* This host forwards packets that look like doorbells or like a NIC's, unchanged. */
static void forward(const void *payload)
{
    struct frame frame;
    make_frame(&frame, 1, PORT, payload, MCP_COLLECTIVE_BYTES);
    memcpy(frame.ethernet.h_dest, (const uint8_t[]){0x02, 0x4e, 0x42, 0, 0, 3}, ETH_ALEN);
    frame.ip.saddr = htonl(0x0a4f0009);
    frame.ip.daddr = peer_ip(1);
    inject_at(behind, &beyond, &frame, MCP_COLLECTIVE_BYTES);
    expect_left(payload, MCP_COLLECTIVE_BYTES);
    expect_untouched();
}

void forwarded_packets(void **state)
{
    (void)state;
    enum { NOBODY = 65534 }; /* user ID of packets without a socket */
    open_small(NOBODY);
    const struct mcp_doorbell doorbell = make_doorbell(pair.key, MCP_RING_START, 1);
    const struct mcp_doorbell unknown = make_doorbell(pair.key + 2, MCP_RING_START, 1);
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 0);
    forward(&doorbell);
    forward(&unknown);
    forward(&header);
    close_pair(&pair);
}
