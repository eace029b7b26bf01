/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a NIC serves its groups although neighbours are unknown, unreachable or too many for
 * its table.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <unistd.h>

#include "firmware/kernel/bell.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

enum { UNKNOWN_PEER = 200 /* its hardware address is not known */ };

/* Plan one step, in which this many messages are sent to different nodes, and one is awaited. */
static void plan_sends(uint32_t sends)
{
    memset(&pair.plan, 0, sizeof(pair.plan));
    pair.plan.nsteps = pair.plan.nwaits = 1;
    pair.plan.nsends = sends;
    pair.plan.steps[0] = (struct mcp_step){sends, 1};
    for (uint32_t node = 0; node <= sends; ++node) {
        pair.plan.peers[node] = peer_at(node, 0);
    }
}

/* Messages to an unknown neighbour count as send errors; all other messages of the step are
 * sent, whatever the position of the unknown one among them. */
TEST(unknown_neighbour)
{
    for (uint32_t unknown = 0; unknown < 3; ++unknown) {
        uint64_t random = crew_seed() + 3;
        plan_sends(3);
        pair.plan.peers[unknown].ip = address_of(ip_of(UNKNOWN_PEER));
        open_pair(&pair, geteuid(), &random);
        mcp_group_start(pair.group, 1);
        play_here(&pair);
        assert_int_equal(nsent--, 3);
        --count.packets_sent;
        ++count.send_errors;
        memmove(&sent[unknown], &sent[unknown + 1], (2 - unknown) * sizeof(sent[0]));
        ring(pair.bell, pair.key, MCP_RING_START, 1);
        expect_untouched();
        close_pair(&pair);
    }
}

/* Add a peer's hardware address to the system's table, or delete it. */
static void know_peer(uint32_t node, bool known)
{
    const struct mcp_ip address = address_of(peer_ip(node));
    uint8_t mac[ETH_ALEN];
    char text[MCP_IP_TEXT], command[200];
    mac_of(FIRST_PEER + node, mac);
    mcp_ip_text(&address, text);
    snprintf(command, sizeof(command),
             known ? "ip neigh replace %s lladdr %02x:%02x:%02x:%02x:%02x:%02x dev nicbarr0 nud "
                     "permanent"
                   : "ip neigh del %s dev nicbarr0",
             text, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    assert_int_equal(system(command), 0);
}

/* The system forgets all peers' hardware addresses, as when a cable is pulled. The program still
 * receives doorbells of the owner and of hosts. */
TEST(doorbells_need_no_reachable_peer)
{
    uint64_t random = crew_seed() + 31;
    struct mcp_ip own = address_of(ip_of(OWN));
    char name[IF_NAMESIZE];
    struct mcp_bell bell;
    const uint32_t interface = mcp_interface_of(&own, name);
    assert_string_equal(name, "nicbarr0");
    plan_sends(2);
    open_pair(&pair, geteuid(), &random);
    assert_true(mcp_bell_make(&bell, &own, interface, htons(PORT)));
    for (uint32_t i = 0; i < 3; ++i) {
        know_peer(i, false);
    }
    const struct mcp_doorbell starts = make_doorbell(pair.key, MCP_RING_START, 1);
    const struct mcp_address peer = udp_address(peer_ip(0), PORT);
    uint32_t done = 0;
    assert_true(mcp_bell_ring(&bell, &starts, sizeof(starts), &peer));
    const int waits = mcp_kernel_group_waits(kernel, pair.key, &done);
    const uint64_t asked = count.asked;
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_ASK), 0);
    mcp_kernel_count(kernel, &count);
    const bool asks = count.asked > asked;
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    const uint32_t failed = mcp_kernel_group_failed(kernel, pair.key);
    for (uint32_t i = 0; i < 3; ++i) {
        know_peer(i, true);
    }
    close(bell.socket);
    close_pair(&pair);
    skip_sent();
    assert_int_equal(waits, 1);
    assert_true(asks);
    assert_int_equal(failed, pair.plan.node + 1);
}

/* Returns the address of a far host. Besides the peers, there are as many of these as the NIC's
 * table holds: 10.78.16.0 to 10.78.31.255. */
static uint32_t far_ip(uint32_t number)
{
    return ip_of(0x1000 + number);
}

static void make_far_hosts(void)
{
    FILE *ip = popen("ip -batch -", "w");
    assert_non_null(ip);
    for (uint32_t h = 0; h < MCP_KERNEL_NEIGHBOURS; ++h) {
        const struct mcp_ip address = address_of(far_ip(h));
        char text[MCP_IP_TEXT];
        fprintf(ip, "neigh replace %s lladdr 02:4e:42:00:00:00 dev nicbarr0 nud permanent\n",
                mcp_ip_text(&address, text));
    }
    assert_int_equal(pclose(ip), 0);
}

/* The NIC resolves more hosts than its table can hold. Hosts that no group needs are evicted;
 * those of open groups are kept. */
TEST(unneeded_hosts_are_evicted)
{
    enum { GROUPS = MCP_KERNEL_NEIGHBOURS / MCP_KERNEL_PEERS };
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_seen seen;
    struct mcp_kernel_plan plan;
    uint64_t random = crew_seed() + 14;
    make_far_hosts();
    skip_sent();
    open_small(geteuid());
    for (uint32_t h = 0; h < MCP_KERNEL_NEIGHBOURS; ++h) {
        if (meet(far_ip(h), why) < 0) {
            fail_msg("host %u: %s", h, why);
        }
    }
    start_epoch(1); /* its peer is still known */
    close_pair(&pair);
    plan_anything(&plan, true, &random);
    plan.uid = geteuid();
    for (uint32_t g = 0; g < GROUPS; ++g) {
        plan.key = g + 1;
        for (uint32_t p = 0; p < MCP_KERNEL_PEERS; ++p) {
            const uint32_t ip = far_ip(g * MCP_KERNEL_PEERS + p);
            plan.peers[p].ip = address_of(ip);
            /* The table has one entry less than there are far hosts. */
            if (meet(ip, why) < 0) {
                assert_true(GROUPS - 1 == g && MCP_KERNEL_PEERS - 1 == p);
            }
        }
        assert_int_equal(mcp_kernel_group_open(kernel, &plan, &seen, why), 0);
    }
    assert_int_equal(meet(peer_ip(0), why), -1);
    assert_non_null(strstr(why, "its maximum number of hosts"));
    for (uint32_t g = 0; g < GROUPS; ++g) {
        assert_true(mcp_kernel_group_close(kernel, g + 1, false));
        mcp_kernel_group_forget(kernel, g + 1);
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        assert_int_equal(meet(peer_ip(n), why), 0);
    }
}
