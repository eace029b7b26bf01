/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks changes of the NIC's interface; see kernel_interface.h and rtnetlink(7). */
#include "myrd/kernel_interface.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "firmware/soft/addresses.h"
#include "os/netlink.h"

enum {
    MESSAGES_PER_ITERATION = 32, /* messages per iteration of the event loop, for fairness */
    MESSAGE_BYTES = 16384,       /* maximum size of a message; they have a few thousand at most */
    QUEUE_BYTES = 4 << 20,       /* for messages that are queued while the daemon is stopped */
    INDEX_AT = NLMSG_HDRLEN + offsetof(struct ifinfomsg, ifi_index),
};

_Static_assert(offsetof(struct ifinfomsg, ifi_index) == offsetof(struct ifaddrmsg, ifa_index),
               "one filter is for both");

/* ---- opening ---- */

/* Installs a filter for messages about this interface, because there may be thousands of others,
 * which are created and deleted. */
static bool filter_messages(int socket, uint32_t index)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, INDEX_AT),
        /* BPF_LD converts the word, which is in host byte order, as if it were in network order. */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(index), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {sizeof(program) / sizeof(program[0]), program};
    return 0 == setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
}

static bool subscribe_to_changes(struct myrd_interface *interface)
{
    const struct sockaddr_nl groups = {.nl_family = AF_NETLINK,
                                       .nl_groups =
                                           RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
    const int bytes = QUEUE_BYTES;
    interface->socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (interface->socket < 0) {
        return false;
    }
    (void)setsockopt(interface->socket, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    return filter_messages(interface->socket, interface->index) &&
           0 == bind(interface->socket, (const struct sockaddr *)&groups, sizeof(groups));
}

static uint64_t bit_of(uint32_t prefix)
{
    return UINT64_C(1) << (prefix & 63);
}

/* Reads the prefixes of the address. If there are none, the interface has lost it. */
static bool list_prefixes(struct myrd_interface *interface)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) < 0) {
        return false;
    }
    for (const struct ifaddrs *one = all; NULL != one; one = one->ifa_next) {
        if (mcp_sockaddr_is(one->ifa_addr, &interface->ip) && NULL != one->ifa_netmask &&
            interface->index == if_nametoindex(one->ifa_name)) {
            interface->prefixes |= bit_of(mcp_prefix_written(
                &interface->ip, mcp_mask_prefix(one->ifa_netmask, one->ifa_addr->sa_family)));
        }
    }
    freeifaddrs(all);
    return true;
}

static bool read_mtu(struct myrd_interface *interface)
{
    struct ifreq request = {.ifr_mtu = 0};
    memcpy(request.ifr_name, interface->name, sizeof(request.ifr_name));
    const bool known = 0 == ioctl(interface->socket, SIOCGIFMTU, &request);
    interface->mtu = (uint32_t)request.ifr_mtu;
    return known;
}

/* Subscribes before reading the state, so that no change is missed. */
enum myr_status myrd_interface_open(struct myrd_interface *interface, const char *name,
                                    const struct mcp_ip *ip, struct myr_error *error)
{
    *interface = (struct myrd_interface){.socket = -1, .index = if_nametoindex(name), .ip = *ip};
    if (!subscribe_to_changes(interface) ||
        NULL == if_indextoname(interface->index, interface->name) || !read_mtu(interface) ||
        !list_prefixes(interface) || 0 == interface->prefixes) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno, "cannot monitor interface %s", name);
    }
    return MYR_OK;
}

/* ---- messages from the kernel ---- */

/* Processes a change of the interface. When an interface is a port of a bridge, the bridge
 * announces changes by the same kind of message, but with the family AF_BRIDGE. These must be
 * ignored; otherwise a port that leaves the bridge would look like a deleted interface. */
static void receive_link(struct myrd_interface *interface, bool gone, const struct ifinfomsg *about,
                         size_t bytes)
{
    if (AF_UNSPEC != about->ifi_family || (int)interface->index != about->ifi_index) {
        return;
    }
    const struct rtattr *name = os_find_attribute(IFLA_RTA(about), bytes, IFLA_IFNAME);
    const struct rtattr *mtu = os_find_attribute(IFLA_RTA(about), bytes, IFLA_MTU);
    if (NULL != mtu && sizeof(interface->mtu) == RTA_PAYLOAD(mtu)) {
        memcpy(&interface->mtu, RTA_DATA(mtu), sizeof(interface->mtu));
    }
    if (gone) {
        interface->end = NULL == os_find_attribute(IFLA_RTA(about), bytes, IFLA_NEW_NETNSID)
                             ? MYRD_INTERFACE_DELETED
                             : MYRD_INTERFACE_MOVED;
    } else if (NULL != name) {
        snprintf(interface->name, sizeof(interface->name), "%.*s", (int)RTA_PAYLOAD(name),
                 (const char *)RTA_DATA(name));
    }
}

/* Returns whether a message is about the NIC's address. For IPv6, IFA_LOCAL is present only if
 * there is a peer address. */
static bool is_nic_address(const struct myrd_interface *interface, const struct ifaddrmsg *about,
                           size_t bytes)
{
    const bool is_4 = mcp_ip_is_4(&interface->ip);
    const size_t length = is_4 ? sizeof(interface->ip.word[3]) : sizeof(interface->ip);
    const struct rtattr *address = os_find_attribute(IFA_RTA(about), bytes, IFA_LOCAL);
    if (NULL == address && !is_4) {
        address = os_find_attribute(IFA_RTA(about), bytes, IFA_ADDRESS);
    }
    return (is_4 ? AF_INET : AF_INET6) == about->ifa_family &&
           interface->index == about->ifa_index && NULL != address &&
           length == RTA_PAYLOAD(address) &&
           0 == memcmp(is_4 ? &interface->ip.word[3] : &interface->ip.word[0], RTA_DATA(address),
                       length);
}

static void receive_address(struct myrd_interface *interface, bool gone,
                            const struct ifaddrmsg *about, size_t bytes, uint64_t now_ms)
{
    if (!is_nic_address(interface, about, bytes)) {
        return;
    }
    if (!gone) {
        interface->prefixes |= bit_of(about->ifa_prefixlen);
    } else if (0 != interface->prefixes) {
        interface->prefixes &= ~bit_of(about->ifa_prefixlen);
        interface->bare_at_ms = now_ms;
    }
}

/* Processes one message; each datagram contains one. */
static void receive_one(struct myrd_interface *interface, const struct nlmsghdr *message,
                        size_t bytes, uint64_t now_ms)
{
    const bool gone = RTM_DELLINK == message->nlmsg_type || RTM_DELADDR == message->nlmsg_type;
    if (RTM_NEWLINK == message->nlmsg_type || RTM_DELLINK == message->nlmsg_type) {
        if (bytes >= NLMSG_SPACE(sizeof(struct ifinfomsg))) {
            receive_link(interface, gone, NLMSG_DATA(message),
                         bytes - NLMSG_SPACE(sizeof(struct ifinfomsg)));
        }
    } else if (RTM_NEWADDR == message->nlmsg_type || RTM_DELADDR == message->nlmsg_type) {
        if (bytes >= NLMSG_SPACE(sizeof(struct ifaddrmsg))) {
            receive_address(interface, gone, NLMSG_DATA(message),
                            bytes - NLMSG_SPACE(sizeof(struct ifaddrmsg)), now_ms);
        }
    }
}

void myrd_interface_receive(struct myrd_interface *interface, uint64_t now_ms)
{
    _Alignas(struct nlmsghdr) char message[MESSAGE_BYTES];
    for (int heard = 0; heard < MESSAGES_PER_ITERATION; ++heard) {
        struct sockaddr_nl from = {.nl_pid = 0};
        socklen_t length = sizeof(from);
        const ssize_t bytes = recvfrom(interface->socket, message, sizeof(message), MSG_DONTWAIT,
                                       (struct sockaddr *)&from, &length);
        if (bytes < 0) {
            if (ENOBUFS == errno) {
                interface->end = MYRD_INTERFACE_DEAF;
            }
            return;
        }
        if (0 == from.nl_pid && (size_t)bytes >= sizeof(struct nlmsghdr)) {
            receive_one(interface, (const struct nlmsghdr *)(const void *)message, (size_t)bytes,
                        now_ms);
        }
    }
}

/* ---- reactions ---- */

int myrd_interface_timeout(const struct myrd_interface *interface, uint64_t now_ms)
{
    const uint64_t over_at_ms = interface->bare_at_ms + MYRD_INTERFACE_GRACE_MS;
    if (0 != interface->prefixes) {
        return -1;
    }
    return over_at_ms <= now_ms ? 0 : (int)(over_at_ms - now_ms);
}

enum myr_status myrd_interface_judge(const struct myrd_interface *interface, uint64_t now_ms,
                                     struct myr_error *error)
{
    char ip[MCP_IP_TEXT];
    (void)mcp_ip_text(&interface->ip, ip);
    switch (interface->end) {
    case MYRD_INTERFACE_DELETED:
        return myr_fail(error, MYR_ERR_GONE, 0,
                        "interface %s (%s) was deleted, and the NIC with it (start myrd --kernel "
                        "again when there is an interface to attach to)",
                        interface->name, ip);
    case MYRD_INTERFACE_MOVED:
        return myr_fail(error, MYR_ERR_GONE, 0,
                        "interface %s (%s) was moved to another network namespace (start myrd "
                        "--kernel in that one, or in this one for another interface)",
                        interface->name, ip);
    case MYRD_INTERFACE_DEAF:
        return myr_fail(error, MYR_ERR_GONE, 0,
                        "cannot follow the changes of interface %s (%s), as there were too many at "
                        "once (start myrd --kernel again)",
                        interface->name, ip);
    default:
        return 0 == myrd_interface_timeout(interface, now_ms)
                   ? myr_fail(error, MYR_ERR_GONE, 0,
                              "interface %s no longer has the address %s (restore it, and start "
                              "myrd --kernel again)",
                              interface->name, ip)
                   : MYR_OK;
    }
}
