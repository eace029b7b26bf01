/* SPDX-License-Identifier: BSD-3-Clause */
/* See expected.h. */
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>

#include "tests/unit/kernel/expected.h"
#include "tests/unit/test.h"

struct mcp_counters count;

/* Returns whether the counters have the expected values. As counters only grow, one above the
 * expected value is an error, and one below may still change. */
static bool counted(void)
{
    struct mcp_counters now;
    bool all = true;
    mcp_kernel_count(kernel, &now);
#define COMPARE(name, text)                                                                        \
    if (now.name > count.name) {                                                                   \
        fail_msg("%s: %llu, expected %llu", #name, (unsigned long long)now.name,                   \
                 (unsigned long long)count.name);                                                  \
    }                                                                                              \
    all = all && now.name == count.name;
    MCP_COUNTERS(COMPARE)
#undef COMPARE
    return all;
}

void expect_count(void)
{
    while (!counted()) {
        sched_yield();
    }
}

void expect_message(const struct sent *expected)
{
    struct frame frame;
    struct mcp_header header;
    uint8_t own[ETH_ALEN], peer[ETH_ALEN];
    const struct mcp_message *message = &expected->message;
    const size_t bytes = MCP_COLLECTIVE_BYTES + message->bytes;
    assert_int_equal(take(wire, &frame, true), BEFORE_PAYLOAD + bytes);
    mac_of(OWN, own);
    mac_of(ntohl(message->to) & 0xff, peer);
    assert_memory_equal(frame.ethernet.h_source, own, ETH_ALEN);
    assert_memory_equal(frame.ethernet.h_dest, peer, ETH_ALEN);
    struct iphdr ip = frame.ip;
    assert_int_equal(ip_check(&ip), 0);
    assert_int_equal(ip.saddr, ip_of(OWN));
    assert_int_equal(ip.daddr, message->to);
    assert_int_equal(ntohs(ip.tot_len), BEFORE_PAYLOAD + bytes - ETH_HLEN);
    assert_int_equal(ntohs(frame.udp.source), PORT);
    assert_int_equal(ntohs(frame.udp.dest), PORT);
    assert_int_equal(ntohs(frame.udp.len), sizeof(frame.udp) + bytes);
    assert_int_equal(frame.udp.check, 0);
    assert_int_equal(SIX && was_bare, 0);
    assert_true(mcp_parse(frame.payload, bytes, &header));
    assert_int_equal(header.type, message->header.type);
    assert_int_equal(header.key, message->header.key);
    assert_int_equal(header.collective.epoch, message->header.collective.epoch);
    assert_int_equal(header.collective.slot, message->header.collective.slot);
    assert_int_equal(header.collective.node, message->header.collective.node);
    assert_memory_equal(frame.payload + MCP_COLLECTIVE_BYTES, expected->payload, message->bytes);
    assert_int_equal(header.check, message->header.check);
    if (SIX) { /* the flow label is derived from the hash in the header */
        const uint32_t flow = ntohl((uint32_t)header.check) & 0xfffff;
        assert_int_equal(ntohl(version_and_flow), 6U << 28 | flow);
    }
}

void expect_passed(const struct frame *frame, size_t payload_bytes)
{
    struct frame seen;
    assert_int_equal(take(passed, &seen, true), BEFORE_PAYLOAD + payload_bytes);
    assert_memory_equal(&seen, frame, BEFORE_PAYLOAD + payload_bytes);
}

void expect_left(const void *payload, size_t bytes)
{
    struct frame frame;
    assert_int_equal(take(wire, &frame, true), BEFORE_PAYLOAD + bytes);
    assert_memory_equal(frame.payload, payload, bytes);
}

void expect_silence(void)
{
    struct frame frame, seen;
    const struct mcp_address peer = udp_address(peer_ip(0), 9);
    assert_int_equal(
        sendto(other_socket, "end of test", 12, 0, &peer.at.any, mcp_address_bytes(&peer)), 12);
    assert_int_equal(take(wire, &seen, true), BEFORE_PAYLOAD + 12);
    assert_memory_equal(seen.payload, "end of test", 12);
    make_frame(&frame, 0, OTHER_PORT, "end of test 2", 14);
    inject(&frame, 14);
    expect_passed(&frame, 14);
    drain(other_socket);
    drain(nic_socket);
}

void expect_nothing_more(void)
{
    expect_silence();
    expect_count();
}

void skip_sent(void)
{
    struct frame frame;
    const struct mcp_address peer = udp_address(peer_ip(0), 9);
    assert_int_equal(
        sendto(other_socket, "up to here", 10, 0, &peer.at.any, mcp_address_bytes(&peer)), 10);
    while (BEFORE_PAYLOAD + 10 != take(wire, &frame, true)) {
    }
    mcp_kernel_count(kernel, &count);
}
