/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how myrd --kernel follows changes of its interface (myrd/kernel_interface.c). A failure
 * means that it keeps using an interface or address that is gone, or exits after an unrelated
 * change of the network.
 *
 * Invariants:
 *
 * - Changes of the name and MTU are followed.
 * - The NIC ends only for events of this interface and address.
 * - An address that is restored within the grace period does not end it.
 * - A truncated message changes nothing.
 *
 * A socket pair replaces rtnetlink, and the test supplies the messages and the time. Only opening
 * uses the real loopback interface, without changing it.
 */
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "myrd/kernel_interface.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/test.h"

enum { INDEX = 7, OTHER = 8, MTU = 1500, NOW = 5000, LATER = NOW + MYRD_INTERFACE_GRACE_MS };

static struct myrd_interface interface;
static int system_end; /* the kernel's end */
static struct {
    struct nlmsghdr header;
    char rest[256];
} message;
static size_t length;

static int begin_at(const char *ip, uint32_t prefix)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
    system_end = pair[0];
    interface = (struct myrd_interface){.socket = pair[1],
                                        .index = INDEX,
                                        .ip = ip_of(ip),
                                        .name = "eth0",
                                        .mtu = MTU,
                                        .prefixes = UINT64_C(1) << prefix % 64};
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_at("10.0.0.1", 24);
}

static int begin_with_6(void **state)
{
    (void)state;
    return begin_at("fd00::1", 64);
}

static int end(void **state)
{
    (void)state;
    close(system_end);
    close(interface.socket);
    return 0;
}

/* ---- rtnetlink messages ---- */

static void begin_message(uint16_t type, const void *about, size_t bytes)
{
    memset(&message, 0, sizeof(message));
    message.header.nlmsg_type = type;
    memcpy(NLMSG_DATA(&message.header), about, bytes);
    length = NLMSG_SPACE(bytes);
}

static void add(uint16_t type, const void *value, size_t bytes)
{
    const struct rtattr attribute = {.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(bytes)};
    char *at = (char *)&message + length;
    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + RTA_LENGTH(0), value, bytes);
    length += RTA_SPACE(bytes);
}

static void deliver(size_t bytes)
{
    message.header.nlmsg_len = (uint32_t)length;
    assert_int_equal(send(system_end, &message, bytes, 0), bytes);
    myrd_interface_receive(&interface, NOW);
}

static void make_link_message(uint16_t type, uint8_t family, int index, const char *name)
{
    const struct ifinfomsg about = {.ifi_family = family, .ifi_index = index};
    begin_message(type, &about, sizeof(about));
    add(IFLA_IFNAME, name, strlen(name) + 1);
}

static void receive_link(uint16_t type, uint8_t family, int index, const char *name)
{
    make_link_message(type, family, index, name);
    deliver(length);
}

static void make_address_message(uint16_t type, uint32_t index, const char *text, uint8_t prefix)
{
    const struct mcp_ip ip = ip_of(text);
    const bool is_4 = mcp_ip_is_4(&ip);
    const struct ifaddrmsg about = {
        .ifa_family = is_4 ? AF_INET : AF_INET6, .ifa_prefixlen = prefix, .ifa_index = index};
    begin_message(type, &about, sizeof(about));
    if (is_4) {
        add(IFA_ADDRESS, &ip.word[3], sizeof(ip.word[3]));
        add(IFA_LOCAL, &ip.word[3], sizeof(ip.word[3]));
    } else {
        add(IFA_ADDRESS, &ip, sizeof(ip));
    }
}

static void receive_address(uint16_t type, uint32_t index, const char *text, uint8_t prefix)
{
    make_address_message(type, index, text, prefix);
    deliver(length);
}

static bool continues_at(uint64_t now_ms)
{
    struct myr_error error = {.text = ""};
    const enum myr_status status = myrd_interface_judge(&interface, now_ms, &error);
    assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
    return MYR_OK == status;
}

static void ends_with(uint64_t now_ms, const char *text)
{
    struct myr_error error = {.text = ""};
    assert_int_equal(myrd_interface_judge(&interface, now_ms, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, text));
    assert_non_null(strstr(error.text, "myrd --kernel"));
}

#define CASE(name) TEST_IN(name, begin, end)
#define CASE_OF_6(name) TEST_IN(name, begin_with_6, end)

/* ---- the interface ---- */

CASE(renaming_is_followed)
{
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    assert_string_equal(interface.name, "eth1");
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "a-name-that-is-far-too-long");
    assert_string_equal(interface.name, "a-name-that-is-");
    assert_true(continues_at(LATER));
    assert_int_equal(myrd_interface_timeout(&interface, NOW), -1);
}

CASE(mtu_change_is_followed)
{
    const uint32_t mtu = 1280;
    make_link_message(RTM_NEWLINK, AF_UNSPEC, OTHER, "eth1");
    add(IFLA_MTU, &mtu, sizeof(mtu));
    deliver(length);
    assert_int_equal(interface.mtu, MTU);
    make_link_message(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth0");
    add(IFLA_MTU, &mtu, sizeof(mtu));
    deliver(length);
    assert_int_equal(interface.mtu, mtu);
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    assert_int_equal(interface.mtu, mtu);
}

CASE(deletion_ends_the_nic)
{
    receive_link(RTM_DELLINK, AF_UNSPEC, INDEX, "eth0");
    ends_with(NOW, "eth0 (10.0.0.1) was deleted");
}

CASE(moving_ends_the_nic)
{
    const int network = 3;
    make_link_message(RTM_DELLINK, AF_UNSPEC, INDEX, "eth0");
    add(IFLA_NEW_NETNSID, &network, sizeof(network));
    deliver(length);
    ends_with(NOW, "eth0 (10.0.0.1) was moved to another network namespace");
}

CASE(unrelated_events_are_ignored)
{
    receive_link(RTM_NEWLINK, AF_UNSPEC, OTHER, "eth1");
    receive_link(RTM_DELLINK, AF_UNSPEC, OTHER, "eth1");
    receive_link(RTM_DELLINK, AF_BRIDGE, INDEX, "eth0"); /* removed from a bridge */
    receive_address(RTM_DELADDR, OTHER, "10.0.0.1", 24);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.2", 24);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 16);
    assert_string_equal(interface.name, "eth0");
    assert_true(continues_at(LATER));
}

/* ---- its address ---- */

CASE(a_restored_address_continues)
{
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    assert_true(continues_at(LATER - 1));
    assert_int_equal(myrd_interface_timeout(&interface, LATER - 1), 1);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.2", 24);
    assert_int_equal(myrd_interface_timeout(&interface, LATER), 0);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 24);
    assert_true(continues_at(LATER));
    assert_int_equal(myrd_interface_timeout(&interface, LATER), -1);
}

CASE(a_removed_address_ends_the_nic)
{
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    interface.bare_at_ms -= 1; /* the grace period is not extended */
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    ends_with(LATER - 1, "eth0 no longer has the address 10.0.0.1");
}

CASE(one_of_two_prefixes_is_removed)
{
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 24);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 16);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    assert_true(continues_at(LATER));
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 16);
    assert_false(continues_at(LATER));
}

/* ---- truncated messages ---- */

CASE(truncated_messages_are_ignored)
{
    make_link_message(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    for (size_t bytes = 1; bytes < NLMSG_SPACE(sizeof(struct ifinfomsg)) + RTA_LENGTH(5); ++bytes) {
        deliver(bytes);
        assert_string_equal(interface.name, "eth0");
    }
    make_link_message(RTM_DELLINK, AF_UNSPEC, INDEX, "eth1");
    for (size_t bytes = 1; bytes < NLMSG_SPACE(sizeof(struct ifinfomsg)); ++bytes) {
        deliver(bytes);
        assert_true(continues_at(LATER));
    }
    make_address_message(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    for (size_t bytes = 1; bytes < length; ++bytes) {
        deliver(bytes);
        assert_true(continues_at(LATER));
    }
}

/* ---- IPv6 ---- */

CASE_OF_6(a_restored_address_of_ipv6_continues)
{
    receive_address(RTM_DELADDR, INDEX, "fd00::2", 64);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    receive_address(RTM_DELADDR, OTHER, "fd00::1", 64);
    assert_true(continues_at(LATER));
    receive_address(RTM_DELADDR, INDEX, "fd00::1", 64);
    assert_true(continues_at(LATER - 1));
    receive_address(RTM_NEWADDR, INDEX, "fd00::2", 64);
    ends_with(LATER, "eth0 no longer has the address fd00::1");
    receive_address(RTM_NEWADDR, INDEX, "fd00::1", 64);
    assert_true(continues_at(LATER));
}

/* On a point-to-point interface, the message has the addresses of both ends. */
CASE_OF_6(point_to_point_addresses_of_ipv6)
{
    const struct mcp_ip own = ip_of("fd00::1"), peer = ip_of("fd00::2");
    const struct ifaddrmsg about = {
        .ifa_family = AF_INET6, .ifa_prefixlen = 64, .ifa_index = INDEX};
    for (int ours = 0; ours < 2; ++ours) {
        begin_message(RTM_DELADDR, &about, sizeof(about));
        add(IFA_LOCAL, ours ? &own : &peer, sizeof(own));
        add(IFA_ADDRESS, ours ? &peer : &own, sizeof(own));
        deliver(length);
        assert_int_equal(continues_at(LATER), !ours);
    }
}

/* ---- the real kernel ---- */

TEST(it_begins_where_the_interface_is)
{
    struct myr_error error = {.text = ""};
    struct myrd_interface loopback;
    const struct mcp_ip ip = ip_of("127.0.0.1");
    assert_int_equal(myrd_interface_open(&loopback, "lo", &ip, &error), MYR_OK);
    assert_string_equal(loopback.name, "lo");
    assert_true(loopback.mtu >= 1280);
    assert_int_equal(loopback.prefixes, UINT64_C(1) << 8);
    assert_int_equal(myrd_interface_judge(&loopback, NOW, &error), MYR_OK);

    /* When the socket's buffer overflows, messages are lost, so that the NIC's state is unknown. */
    const int bytes = 1;
    const struct {
        struct nlmsghdr header;
        struct ifinfomsg about;
    } question = {{.nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = 1},
                  {.ifi_index = (int)loopback.index}};
    assert_int_equal(setsockopt(loopback.socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
    for (int request = 0; request < 32; ++request) {
        (void)!send(loopback.socket, &question, sizeof(question), MSG_DONTWAIT);
    }
    myrd_interface_receive(&loopback, NOW);
    assert_int_equal(myrd_interface_judge(&loopback, NOW, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "lo (127.0.0.1), as there were too many at once"));
    close(loopback.socket);
}

TEST(fails_for_a_missing_address)
{
    struct myr_error error = {.text = ""};
    struct myrd_interface none;
    const struct mcp_ip absent = ip_of("127.0.0.9"), there = ip_of("127.0.0.1");
    assert_int_not_equal(myrd_interface_open(&none, "lo", &absent, &error), MYR_OK);
    assert_non_null(strstr(error.text, "interface lo"));
    if (none.socket >= 0) {
        close(none.socket);
    }
    assert_int_not_equal(myrd_interface_open(&none, "nosuch0", &there, &error), MYR_OK);
    if (none.socket >= 0) {
        close(none.socket);
    }
}
