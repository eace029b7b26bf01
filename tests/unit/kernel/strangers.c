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
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* Frames that differ from a valid one: `add` is added to the 16 bits of this field. */
#define FIELD(member) offsetof(struct frame, member)
enum { OF_BOTH, OF_4, OF_6 };
static const struct {
    const char *what;
    size_t at;
    uint16_t add;
    int of;
} nearly[] = {
    {"MAC address", FIELD(ethernet.h_dest) + 4, 76, OF_BOTH},
    {"IP address", FIELD(ip.daddr) + 2, 76, OF_BOTH},
    {"IP version", FIELD(ip), 0x2000, OF_BOTH},
    {"IP options", FIELD(ip), 0x0100, OF_4},
    {"IP length, less", FIELD(ip.tot_len), UINT16_MAX, OF_BOTH},
    {"IP length, more", FIELD(ip.tot_len), 1, OF_BOTH},
    {"first fragment", FIELD(ip.frag_off), 0x2000, OF_4},
    {"last fragment", FIELD(ip.frag_off), 1, OF_4},
    {"reserved bit", FIELD(ip.frag_off), 0x8000, OF_4},
    {"UDP length, less", FIELD(udp.len), UINT16_MAX, OF_BOTH},
    {"UDP length, more", FIELD(udp.len), 1, OF_BOTH},
    {"no UDP length", FIELD(udp.len),
     (uint16_t) - (MCP_COLLECTIVE_BYTES + (int)sizeof(struct udphdr)), OF_BOTH},
    {"UDP checksum", FIELD(udp.check), 1, OF_4},
    {"to another port", FIELD(udp.dest), OTHER_PORT - PORT, OF_BOTH},
    /* All NICs have the same port, which no user of a host can bind. */
    {"from another port", FIELD(udp.source), OTHER_PORT - PORT, OF_BOTH},
    /* Over IPv6 the system does not accept such a packet, and NICs always send a checksum. */
    {"no UDP checksum", FIELD(udp.check), 0, OF_6},
};

static void add_to_field(struct frame *frame, size_t at, uint16_t add)
{
    uint8_t *bytes = (uint8_t *)frame + at;
    const uint16_t sum = (uint16_t)((bytes[0] << 8 | bytes[1]) + add);
    bytes[0] = (uint8_t)(sum >> 8);
    bytes[1] = (uint8_t)sum;
}

/* Such frames are passed unchanged and not counted. At last the valid one is accepted. */
TEST(packets_that_only_look_right)
{
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
        add_to_field(&frame, nearly[n].at, nearly[n].add);
        bare = 0 == nearly[n].add;
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
    frame = good;
    frame.ip.protocol = IPPROTO_UDPLITE; /* the taps do not receive it, but it would be counted */
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_untouched();
    event_packet(&pair, header, &random);
    close_pair(&pair);
}

/* A VLAN is another network, even with the same addresses. (The system removes the tag before
 * the program gets the packet.) */
TEST(packets_of_vlans)
{
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
TEST(forged_packets)
{
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
 * to a NIC's port, or if it has a checksum, because it could not be converted into a packet of the
 * NIC. */
TEST(packets_that_are_no_doorbells)
{
    const int zero = 0;
    open_small(geteuid());
    assert_int_equal(setsockopt(pair.bell, SIX ? IPPROTO_UDP : SOL_SOCKET,
                                SIX ? UDP_NO_CHECK6_TX : SO_NO_CHECK, &zero, sizeof(zero)),
                     0);
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        const struct mcp_doorbell doorbell = make_doorbell(pair.key, what, 1);
        send_to_port(other_socket, OTHER_PORT, &doorbell);
        expect_left(&doorbell, sizeof(doorbell));
        ring(pair.bell, pair.key, what, 1);
        expect_left(&doorbell, sizeof(doorbell));
        expect_untouched();
    }
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

TEST(forwarded_packets)
{
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
