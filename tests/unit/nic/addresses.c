/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a NIC finds the addresses at which peers can reach it, and the best address of each
 * peer, because otherwise jobs do not start across hosts.
 */
#include <arpa/inet.h>
#include <net/if.h>

#include "firmware/soft/addresses.h"
#include "libmyr/soft/nic_inside.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/world.h"
#include "libmyr/soft/soft_group.h"
#include "tests/unit/test.h"

static void name_of(struct myr_nic_name *name, uint32_t count, const char *const *addresses)
{
    *name = (struct myr_nic_name){.key = 7, .count = count};
    for (uint32_t a = 0; a < count && a < MYR_NIC_ADDRESSES; ++a) {
        name->address[a].ip = ip_of(addresses[a]);
        name->address[a].port = htons((uint16_t)(1000 + a));
        name->address[a].prefix = MCP_IP_BEFORE_4 + 24;
    }
}

/* A NIC on a machine that has only these interfaces. */
struct machine {
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_nic_name name;
};

static struct machine open_on_machine(const struct pretended *interfaces, const char *network)
{
    const struct myr_soft_options options = {.network = network};
    struct machine it;
    pretended = interfaces;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &it.segment, NULL), MYR_OK);
    assert_int_equal(myr_soft_open(it.segment, &options, &it.nic, NULL), MYR_OK);
    myr_soft_get_name(it.nic, &it.name);
    return it;
}

static void close_machine(const struct machine *it)
{
    myr_soft_close(it->nic);
    myr_segment_leave(it->segment);
    pretended = NULL;
}

static void expect_route(const struct machine *it, uint32_t count, const char *const *addresses,
                         uint32_t chosen)
{
    struct myr_nic_name name;
    name_of(&name, count, addresses);
    assert_int_equal(myr_soft_route(it->nic, &name), chosen);
}

TEST(routes)
{
    static const struct pretended interfaces[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
        {"docker0", "172.17.0.1", "255.255.0.0", IFF_UP},
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"tun0", "10.9.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING | IFF_POINTOPOINT},
        {"eth1", "10.2.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth2", "10.3.0.5", "255.255.255.0", 0},
        {"eth3", "10.4.0.5", "255.255.0.0", IFF_UP | IFF_RUNNING},
        {"eth3", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    const struct machine it = open_on_machine(interfaces, NULL);
    assert_int_equal(it.name.count, 3); /* eth0, eth1, eth3 */
    assert_int_equal(it.name.address[2].prefix, MCP_IP_BEFORE_4 + 16);
    assert_int_equal(it.name.address[0].port, it.name.address[2].port);

    const char
        *const second[] = {"192.168.0.1", "10.2.0.9"},
               *const far[] = {"10.8.0.1", "10.9.0.1"}, *const wide[] = {"10.8.0.1", "10.4.77.1"},
               *const both[] = {"10.2.0.9", "10.1.0.9"}, *const bridge[] = {"10.1.0.5", "10.2.0.9"},
               *const routed[] = {"10.1.0.5", "10.8.0.1"}, *const here[] = {"10.1.0.5", "10.2.0.5"},
               *const six_first[] = {"fd00::6", "10.8.0.1"}, *const six[] = {"fd00::6"};
    expect_route(&it, 2, second, 1);
    expect_route(&it, 2, far, 0);    /* none is on this NIC's networks: the first one */
    expect_route(&it, 2, wide, 1);   /* by the NIC's own prefix */
    expect_route(&it, 2, both, 1);   /* both are on this NIC's networks: by its first one */
    expect_route(&it, 2, bridge, 1); /* not by an address that this NIC has itself */
    expect_route(&it, 2, routed, 1);
    expect_route(&it, 2, here, 0);      /* all are this machine's: a NIC of this machine */
    expect_route(&it, 2, six_first, 1); /* this NIC has IPv4 only */
    expect_route(&it, 1, six, MYR_NIC_ADDRESSES);
    expect_route(&it, 0, second, MYR_NIC_ADDRESSES);
    expect_route(&it, MYR_NIC_ADDRESSES + 1,
                 (const char *const[]){"1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"},
                 MYR_NIC_ADDRESSES);
    close_machine(&it);
}

/* For about a second after a card was switched on, its driver reports an interface that is up as
 * not running. It is used nevertheless. */
TEST(no_interface_runs)
{
    static const struct pretended none[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_RUNNING | IFF_LOOPBACK},
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP},
        {"eth1", "10.2.0.5", "255.255.255.0", 0},
        {NULL, NULL, NULL, 0},
    };
    struct mcp_local_address found[2];
    const struct mcp_ip ip = ip_of("10.1.0.5");
    pretended = none;
    assert_int_equal(mcp_local_addresses(NULL, found, 2), 1);
    assert_true(mcp_same_ip(&found[0].ip, &ip));
    pretended = NULL;
}

/* IPv6 is used if an interface has no IPv4 address, or if the user names it. */
TEST(routes_of_ipv6)
{
    static const struct pretended six_alone[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK},
        {"lo", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", IFF_UP | IFF_LOOPBACK},
        {"eth0", "fe80::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth1", "2001:db8:1::5", "ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    static const struct pretended dual[] = {
        {"eth0", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    /* A container bridge has the same address on all hosts. */
    static const struct pretended bridge_first[] = {
        {"docker0", "172.17.0.1", "255.255.0.0", IFF_UP | IFF_RUNNING},
        {"eth0", "fd00::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {"eth1", "10.1.0.5", "255.255.255.0", IFF_UP | IFF_RUNNING},
        {"eth1", "fd00:1::5", "ffff:ffff:ffff:ffff::", IFF_UP | IFF_RUNNING},
        {NULL, NULL, NULL, 0},
    };
    const char *const remote[] = {"172.17.0.1", "fd00::9"}, *const both[] = {"fd00::9", "10.1.0.9"};
    const char *const near[] = {"10.1.0.9", "fd00::9"}, *const far[] = {"10.1.0.9", "fc00::9"},
                      *const second[] = {"fd00:0:0:1::9", "2001:db8:1:77::9"},
                      *const four[] = {"10.1.0.9"}, *const six[] = {"fd00::9"};
    need_ipv6();
    struct machine it = open_on_machine(six_alone, NULL);
    assert_int_equal(it.name.count, 2);
    assert_int_equal(it.name.address[0].prefix, 64);
    assert_int_equal(it.name.address[1].prefix, 48);
    expect_route(&it, 2, near, 1);
    expect_route(&it, 2, far, 1);
    expect_route(&it, 2, second, 1);
    expect_route(&it, 1, four, MYR_NIC_ADDRESSES);
    close_machine(&it);

    it = open_on_machine(dual, "fd00::/8,10.0.0.0/8");
    assert_int_equal(it.name.count, 2);
    expect_route(&it, 2, near, 1); /* in the order given by the user */
    expect_route(&it, 2, far, 0);
    expect_route(&it, 1, four, 0);
    expect_route(&it, 1, six, 0);
    close_machine(&it);

    it = open_on_machine(bridge_first, NULL);
    assert_int_equal(it.name.count, 3); /* of an interface with both, IPv4 only */
    assert_true(mcp_ip_is_4(&it.name.address[2].ip));
    expect_route(&it, 2, remote, 1);
    expect_route(&it, 2, both, 0);
    close_machine(&it);

    struct mcp_local_address found[2];
    pretended = dual;
    assert_int_equal(mcp_local_addresses(NULL, found, 2), 1);
    assert_true(mcp_ip_is_4(&found[0].ip));
    assert_int_equal(mcp_local_addresses("eth0", found, 2), 1);
    assert_true(mcp_ip_is_4(&found[0].ip));
    assert_int_equal(mcp_local_addresses("eth0,fd00::5/128,eth0", found, 2), 2);
    assert_false(mcp_ip_is_4(&found[1].ip));
    assert_int_equal(mcp_local_addresses("fe80::/10", found, 2), 0);
    pretended = six_alone;
    assert_int_equal(mcp_local_addresses("eth0,fe80::/10", found, 2), 1);
    assert_int_equal(mcp_local_addresses("::/0", found, 1), 1);
    pretended = NULL;
}

/* No two groups have a peer in common, and there are more peers than the table can hold. */
TEST(peers_come_and_go)
{
    enum { PEERS = 15, GROUPS = 600, AT_ONCE = 4 };
    struct world world = {.nodes = PEERS + 1}; /* eight of them are peers of a node */
    struct myr_nic_name name[PEERS + 1] = {0};
    const struct myr_nic_name *names[PEERS + 1] = {&name[0]};
    struct myr_nic_group group[AT_ONCE];
    struct member member;
    struct myr_error error = {0};
    open_alone(&member, 8 << 20);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        for (uint32_t n = 1; n <= PEERS; ++n) {
            names[n] = &name[n];
            name[n].count = 1;
            name[n].address[0].ip = mcp_ip_of_4(htonl(0x7f010000 + g * PEERS + n));
            name[n].address[0].port = htons(9);
        }
        const struct myr_nic_members members = {
            .key = g + 1, .nodes = PEERS + 1, .locals = 1, .names = names};
        if (g >= AT_ONCE) {
            myr_nic_group_leave(&group[g % AT_ONCE]);
        }
        assert_int_equal(myr_soft_group_join(&group[g % AT_ONCE], member.nic, NULL, &members,
                                             schedule_of, &world, &error),
                         MYR_OK);
    }
    for (uint32_t g = 0; g < AT_ONCE; ++g) {
        myr_nic_group_leave(&group[g]);
    }
    close_nic(&member);
}
