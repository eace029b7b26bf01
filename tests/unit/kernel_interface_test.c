/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the NIC's interface (myrd/kernel_interface.c). Invariants: another name or MTU is
 * followed. Only what is about this interface, and this address, ends the NIC. An address that
 * comes back in time does not. A message that is cut off changes nothing that it does not say.
 *
 * A pair of sockets stands in for the system: its words are made here, and so is time. The opening
 * is tried at the loopback interface, where nothing is changed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "myrd/kernel_interface.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"

enum { INDEX = 7, OTHER = 8, MTU = 1500, NOW = 5000, LATER = NOW + MYRD_INTERFACE_GRACE_MS };

static struct myrd_interface interface;
static int system_end; /* where the system speaks */
static struct {
    struct nlmsghdr header;
    char rest[256];
} words;
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

/* ---- the system's words ---- */

static void say(uint16_t type, const void *about, size_t bytes)
{
    memset(&words, 0, sizeof(words));
    words.header.nlmsg_type = type;
    memcpy(NLMSG_DATA(&words.header), about, bytes);
    length = NLMSG_SPACE(bytes);
}

static void add(uint16_t type, const void *value, size_t bytes)
{
    const struct rtattr attribute = {.rta_type = type, .rta_len = (uint16_t)RTA_LENGTH(bytes)};
    char *at = (char *)&words + length;
    memcpy(at, &attribute, sizeof(attribute));
    memcpy(at + RTA_LENGTH(0), value, bytes);
    length += RTA_SPACE(bytes);
}

static void hear(size_t bytes)
{
    words.header.nlmsg_len = (uint32_t)length;
    assert_int_equal(send(system_end, &words, bytes, 0), bytes);
    myrd_interface_receive(&interface, NOW);
}

static void say_link(uint16_t type, uint8_t family, int index, const char *name)
{
    const struct ifinfomsg about = {.ifi_family = family, .ifi_index = index};
    say(type, &about, sizeof(about));
    add(IFLA_IFNAME, name, strlen(name) + 1);
}

static void receive_link(uint16_t type, uint8_t family, int index, const char *name)
{
    say_link(type, family, index, name);
    hear(length);
}

static void say_address(uint16_t type, uint32_t index, const char *text, uint8_t prefix)
{
    const struct mcp_ip ip = ip_of(text);
    const bool is_4 = mcp_ip_is_4(&ip);
    const struct ifaddrmsg about = {
        .ifa_family = is_4 ? AF_INET : AF_INET6, .ifa_prefixlen = prefix, .ifa_index = index};
    say(type, &about, sizeof(about));
    if (is_4) {
        add(IFA_ADDRESS, &ip.word[3], sizeof(ip.word[3]));
        add(IFA_LOCAL, &ip.word[3], sizeof(ip.word[3]));
    } else {
        add(IFA_ADDRESS, &ip, sizeof(ip));
    }
}

static void receive_address(uint16_t type, uint32_t index, const char *text, uint8_t prefix)
{
    say_address(type, index, text, prefix);
    hear(length);
}

static bool stays_at(uint64_t now_ms)
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

/* ---- the interface ---- */

static void another_name_is_followed(void **state)
{
    (void)state;
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    assert_string_equal(interface.name, "eth1");
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "a-name-that-is-far-too-long");
    assert_string_equal(interface.name, "a-name-that-is-");
    assert_true(stays_at(LATER));
    assert_int_equal(myrd_interface_timeout(&interface, NOW), -1);
}

static void another_mtu_is_followed(void **state)
{
    const uint32_t mtu = 1280;
    (void)state;
    say_link(RTM_NEWLINK, AF_UNSPEC, OTHER, "eth1");
    add(IFLA_MTU, &mtu, sizeof(mtu));
    hear(length);
    assert_int_equal(interface.mtu, MTU);
    say_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth0");
    add(IFLA_MTU, &mtu, sizeof(mtu));
    hear(length);
    assert_int_equal(interface.mtu, mtu);
    receive_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    assert_int_equal(interface.mtu, mtu);
}

static void one_that_is_gone_ends_the_nic(void **state)
{
    (void)state;
    receive_link(RTM_DELLINK, AF_UNSPEC, INDEX, "eth0");
    ends_with(NOW, "eth0 (10.0.0.1) was deleted");
}

static void one_that_is_moved_ends_the_nic(void **state)
{
    const int network = 3;
    (void)state;
    say_link(RTM_DELLINK, AF_UNSPEC, INDEX, "eth0");
    add(IFLA_NEW_NETNSID, &network, sizeof(network));
    hear(length);
    ends_with(NOW, "eth0 (10.0.0.1) was moved to another network namespace");
}

static void others_do_not_matter(void **state)
{
    (void)state;
    receive_link(RTM_NEWLINK, AF_UNSPEC, OTHER, "eth1");
    receive_link(RTM_DELLINK, AF_UNSPEC, OTHER, "eth1");
    receive_link(RTM_DELLINK, AF_BRIDGE, INDEX, "eth0"); /* it has left a bridge */
    receive_address(RTM_DELADDR, OTHER, "10.0.0.1", 24);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.2", 24);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 16);
    assert_string_equal(interface.name, "eth0");
    assert_true(stays_at(LATER));
}

/* ---- its address ---- */

static void an_address_may_come_back(void **state)
{
    (void)state;
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    assert_true(stays_at(LATER - 1));
    assert_int_equal(myrd_interface_timeout(&interface, LATER - 1), 1);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.2", 24);
    assert_int_equal(myrd_interface_timeout(&interface, LATER), 0);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 24);
    assert_true(stays_at(LATER));
    assert_int_equal(myrd_interface_timeout(&interface, LATER), -1);
}

static void an_address_that_is_gone_ends_the_nic(void **state)
{
    (void)state;
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    interface.bare_at_ms -= 1; /* what comes later does not put it off */
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    ends_with(LATER - 1, "eth0 no longer has the address 10.0.0.1");
}

static void it_may_be_there_twice(void **state)
{
    (void)state;
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 24);
    receive_address(RTM_NEWADDR, INDEX, "10.0.0.1", 16);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    assert_true(stays_at(LATER));
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 16);
    assert_false(stays_at(LATER));
}

/* ---- messages that are not as they should be ---- */

static void what_is_cut_off_says_nothing(void **state)
{
    (void)state;
    say_link(RTM_NEWLINK, AF_UNSPEC, INDEX, "eth1");
    for (size_t bytes = 1; bytes < NLMSG_SPACE(sizeof(struct ifinfomsg)) + RTA_LENGTH(5); ++bytes) {
        hear(bytes);
        assert_string_equal(interface.name, "eth0");
    }
    say_link(RTM_DELLINK, AF_UNSPEC, INDEX, "eth1");
    for (size_t bytes = 1; bytes < NLMSG_SPACE(sizeof(struct ifinfomsg)); ++bytes) {
        hear(bytes);
        assert_true(stays_at(LATER));
    }
    say_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    for (size_t bytes = 1; bytes < length; ++bytes) {
        hear(bytes);
        assert_true(stays_at(LATER));
    }
}

/* ---- of IPv6 ---- */

static void an_address_of_ipv6_may_come_back(void **state)
{
    (void)state;
    receive_address(RTM_DELADDR, INDEX, "fd00::2", 64);
    receive_address(RTM_DELADDR, INDEX, "10.0.0.1", 24);
    receive_address(RTM_DELADDR, OTHER, "fd00::1", 64);
    assert_true(stays_at(LATER));
    receive_address(RTM_DELADDR, INDEX, "fd00::1", 64);
    assert_true(stays_at(LATER - 1));
    receive_address(RTM_NEWADDR, INDEX, "fd00::2", 64);
    ends_with(LATER, "eth0 no longer has the address fd00::1");
    receive_address(RTM_NEWADDR, INDEX, "fd00::1", 64);
    assert_true(stays_at(LATER));
}

/* Where another end has an address, too, the system tells of both. */
static void an_address_of_ipv6_may_have_another_end(void **state)
{
    const struct mcp_ip own = ip_of("fd00::1"), peer = ip_of("fd00::2");
    const struct ifaddrmsg about = {
        .ifa_family = AF_INET6, .ifa_prefixlen = 64, .ifa_index = INDEX};
    (void)state;
    for (int ours = 0; ours < 2; ++ours) {
        say(RTM_DELADDR, &about, sizeof(about));
        add(IFA_LOCAL, ours ? &own : &peer, sizeof(own));
        add(IFA_ADDRESS, ours ? &peer : &own, sizeof(own));
        hear(length);
        assert_int_equal(stays_at(LATER), !ours);
    }
}

/* ---- the system itself ---- */

static void it_begins_where_the_interface_is(void **state)
{
    struct myr_error error = {.text = ""};
    struct myrd_interface loopback;
    const struct mcp_ip ip = ip_of("127.0.0.1");
    (void)state;
    assert_int_equal(myrd_interface_open(&loopback, "lo", &ip, &error), MYR_OK);
    assert_string_equal(loopback.name, "lo");
    assert_true(loopback.mtu >= 1280);
    assert_int_equal(loopback.prefixes, UINT64_C(1) << 8);
    assert_int_equal(myrd_interface_judge(&loopback, NOW, &error), MYR_OK);

    /* More words than there is room for: what was among them, nobody knows. */
    const int bytes = 1;
    const struct {
        struct nlmsghdr header;
        struct ifinfomsg about;
    } question = {{.nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = 1},
                  {.ifi_index = (int)loopback.index}};
    assert_int_equal(setsockopt(loopback.socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
    for (int ask = 0; ask < 32; ++ask) {
        (void)!send(loopback.socket, &question, sizeof(question), MSG_DONTWAIT);
    }
    myrd_interface_receive(&loopback, NOW);
    assert_int_equal(myrd_interface_judge(&loopback, NOW, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "lo (127.0.0.1), as there were too many at once"));
    close(loopback.socket);
}

static void it_does_not_begin_elsewhere(void **state)
{
    struct myr_error error = {.text = ""};
    struct myrd_interface none;
    const struct mcp_ip absent = ip_of("127.0.0.9"), there = ip_of("127.0.0.1");
    (void)state;
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define CASE_OF_6(name) cmocka_unit_test_setup_teardown(name, begin_with_6, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(another_name_is_followed),
        CASE(another_mtu_is_followed),
        CASE(one_that_is_gone_ends_the_nic),
        CASE(one_that_is_moved_ends_the_nic),
        CASE(others_do_not_matter),
        CASE(an_address_may_come_back),
        CASE(an_address_that_is_gone_ends_the_nic),
        CASE(it_may_be_there_twice),
        CASE(what_is_cut_off_says_nothing),
        CASE_OF_6(an_address_of_ipv6_may_come_back),
        CASE_OF_6(an_address_of_ipv6_may_have_another_end),
        cmocka_unit_test(it_begins_where_the_interface_is),
        cmocka_unit_test(it_does_not_begin_elsewhere),
    };
    crew_watchdog();
    return cmocka_run_group_tests_name("kernel_interface", tests, NULL, NULL);
}
