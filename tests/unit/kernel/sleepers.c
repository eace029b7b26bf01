/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a wake-up reaches the process whose doorbell requested it, and no other socket at the
 * same port.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/kernel/bell.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* Returns a socket at a local port that other sockets may share. */
static int share_port(uint16_t port)
{
    const int one = 1;
    const struct mcp_address own = udp_address(ip_of(OWN), port);
    const int made = socket(FAMILY, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    assert_true(mcp_bell_disable_checksums(made, FAMILY));
    assert_int_equal(bind(made, &own.at.any, mcp_address_bytes(&own)), 0);
    return made;
}

static void connect_to(int made, uint32_t ip)
{
    const struct mcp_address peer = udp_address(ip, PORT);
    assert_int_equal(connect(made, &peer.at.any, mcp_address_bytes(&peer)), 0);
}

/* The process that rang has exited, and another one has its port, by chance or because both
 * shared it. That process gets no wake-up, whichever address it is connected to, until it has
 * rung itself. */
TEST(only_the_ringer_is_woken)
{
    enum { SHARED = 7555 };
    uint64_t random = crew_seed() + 12;
    for (int before = 0; before < 2; ++before) {
        char packet[MOST_PAYLOAD];
        open_small(geteuid());
        close(pair.bell);
        int other = before ? share_port(SHARED) : -1;
        pair.bell = share_port(SHARED);
        connect_to(pair.bell, peer_ip(3));
        ring(pair.bell, pair.key, MCP_RING_SLEEP, 1);
        start_epoch(1);
        close(pair.bell);
        other = before ? other : share_port(SHARED);
        pair.bell = other;
        event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
        assert_int_equal(recv(other, packet, sizeof(packet), MSG_DONTWAIT), -1);
        connect_to(other, peer_ip(1));
        pair.sleeps = true;
        ring(other, pair.key, MCP_RING_SLEEP, 2);
        start_epoch(2);
        event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
        assert_false(pair.sleeps);
        expect_untouched();
        close_pair(&pair);
    }
}

/* The other process gets no wake-up if it sleeps for another group, either. */
TEST(sleepers_of_other_groups_are_not_woken)
{
    enum { SHARED = 7556 };
    static struct pair other;
    uint64_t random = crew_seed() + 13;
    open_small(geteuid());
    other.plan = pair.plan;
    open_pair(&other, geteuid(), &random);
    close(pair.bell);
    pair.bell = share_port(SHARED);
    connect_to(pair.bell, peer_ip(1));
    ring(pair.bell, pair.key, MCP_RING_SLEEP, 1);
    start_epoch(1);
    close(pair.bell);
    pair.bell = share_port(SHARED);
    connect_to(pair.bell, peer_ip(1));
    ring(pair.bell, other.key, MCP_RING_SLEEP, 1);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    close_pair(&other);
    close_pair(&pair);
}
