/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's NIC, in the kernel. Its program is at one end of a pair of virtual interfaces
 * (veth), in a network of this test's own. A packet socket at the other end is all its peers.
 *
 * Invariants. Whatever the peers send and the hosts ring, the program does what the same engine
 * does that is compiled for this processor: the same messages in the same order, the same release,
 * the same data in the buffer, the same broadcasts in their slots, the same counters. Sleepers are
 * woken. The program says of a closed group what was done. Packets that are not provably the NIC's
 * pass untouched, whatever they look like. No process can send a NIC's packets or ring for another
 * user's group, nobody but the owner makes a group fail, and its page can be read and nothing else.
 *
 * This is compiled for a network of IPv4, and for one of IPv6 (NETWORK_OF_6). In here a packet is
 * one of IPv4 either way. It is made one of IPv6 where it goes to the wire, and is made one of IPv4
 * where it comes from there. An address of IPv6 ends with the one of IPv4 that it stands for. A
 * right checksum of UDP's over IPv6 is none in here (0); a wrong one is not.
 *
 * Where the kernel, or this process's rights, do not allow it, all this is skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <cmocka.h>

#include "coll_nicbarr/schedule.h"
#include "firmware/kernel/bell.h"
#include "firmware/kernel/owner.h"
#include "firmware/soft/addresses.h"
#include "libmyr/groups/group_player.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/groups/spread.h"
#include "os/clock.h"
#include "tests/unit/crew.h"

#ifdef NETWORK_OF_6
enum { SIX = 1, FAMILY = AF_INET6 };
#else
enum { SIX = 0, FAMILY = AF_INET };
#endif

enum {
    PORT = 7077,
    OTHER_PORT = 7999, /* of no NIC */
    MOST_NODES = 20,
    TRACES = 60,
    EVENTS = 80,
    ROOM = (1 << 14) + sizeof(struct mcp_kernel_buffer),         /* bytes for a group */
    SENDS = 512,                                                 /* at the most, by one event */
    MOST_PAYLOAD = MCP_COLLECTIVE_BYTES + MCP_PAYLOAD_MOST + 16, /* bytes */
    SKIPPED = 77,                                                /* Automake's word for it */
    OWN = 1,            /* our place in the network 10.78.0.0/24 */
    FIRST_PEER = 10,    /* that of node 0 where it is a peer */
    UNKNOWN_PEER = 200, /* one that the NIC has not met */
    GROUP_USER = 61234, /* whose group it is, */
    OTHER_USER = 61235, /* ... and somebody else */
    PAGE = MCP_KERNEL_LINES * sizeof(struct mcp_kernel_line), /* bytes of a page */
    BUFFER = 8 * 1048576 /* bytes of packets that wait for us */
};

struct frame {
    struct ethhdr ethernet;
    struct iphdr ip;
    struct udphdr udp;
    uint8_t payload[MOST_PAYLOAD];
} __attribute__((packed, aligned(2)));

enum { BEFORE_PAYLOAD = offsetof(struct frame, payload) };

struct frame_of_6 {
    struct ethhdr ethernet;
    struct ipv6hdr ip;
    struct udphdr udp;
    uint8_t payload[MOST_PAYLOAD];
} __attribute__((packed, aligned(2)));

/* What is, or was, on the wire. */
union on_wire {
    struct frame of_4;
    struct frame_of_6 of_6;
};

enum {
    LONGER = SIX ? sizeof(struct ipv6hdr) - sizeof(struct iphdr) : 0, /* bytes, on the wire */
    ETHER_TYPE = SIX ? ETH_P_IPV6 : ETH_P_IP,
};

static bool bare;                 /* packets over IPv6 go to the wire without a checksum */
static bool was_bare;             /* the last one that came had none */
static uint32_t version_and_flow; /* of that */

/* The network, and the NIC in it. */
static struct mcp_kernel *kernel;
static int wire;                  /* the other end: in go the peers' frames, out come the NIC's */
static struct sockaddr_ll far;    /* ... and where that is */
static int behind;                /* the other network's wire */
static struct sockaddr_ll beyond; /* ... and where that is */
static int passed;                /* sees what comes in and the program has let pass */
static int nic_socket;            /* has the NIC's port, so that nobody else gets it */
static int other_socket;          /* has OTHER_PORT */
static struct mcp_counters count; /* what the NIC should have counted so far */

/* What follows the header that is under way: header.payload_bytes of it. */
static uint8_t carried[MCP_PAYLOAD_MOST];

/* ---- the network ---- */

static uint32_t ip_of(uint32_t place)
{
    return htonl(0x0a4e0000 + place);
}

static uint32_t peer_ip(uint32_t node)
{
    return ip_of(FIRST_PEER + node);
}

/* The address that stands for it in the network: itself, or fd00:4e::10.78.0.1. */
static struct mcp_ip address_of(uint32_t ip)
{
    const struct mcp_ip of_6 = {{htonl(0xfd000000 | (ntohl(ip) >> 16 & 0xff)), 0, 0, ip}};
    return SIX ? of_6 : mcp_ip_of_4(ip);
}

/* The same with a port, as sockets have it. 0: any. */
static struct mcp_address place_of(uint32_t ip, uint16_t port)
{
    const struct mcp_ip address = 0 == ip ? mcp_ip_none() : address_of(ip);
    return mcp_address_for(FAMILY, &address, htons(port));
}

static int meet(uint32_t ip, char *why)
{
    const struct mcp_ip address = address_of(ip);
    return mcp_kernel_meet(kernel, &address, why);
}

static void mac_of(uint32_t place, uint8_t mac[ETH_ALEN])
{
    const uint8_t made[ETH_ALEN] = {0x02, 0x4e, 0x42, 0, 0, (uint8_t)place};
    memcpy(mac, made, ETH_ALEN);
}

static bool set(const char *name, const char *value)
{
    char path[100];
    snprintf(path, sizeof(path), "/proc/sys/net/ipv%d/%s", SIX ? 6 : 4, name);
    FILE *file = fopen(path, "w");
    return NULL != file && (fputs(value, file) >= 0) + (0 == fclose(file)) == 2;
}

/* Run ip with these words, in which each address stands for itself, or for one of IPv6. */
static bool run_ip(const char *format, uint32_t ip, uint32_t number)
{
    const struct mcp_ip address = address_of(ip);
    char text[MCP_IP_TEXT], words[100], line[200];
    snprintf(words, sizeof(words), format, mcp_ip_text(&address, text), number);
    snprintf(line, sizeof(line), "ip %s >/dev/null 2>&1", words);
    return 0 == system(line);
}

/* Both ends of a wire, of which this one has the address. */
static bool make_wire(uint32_t first, uint32_t ip)
{
    char line[200];
    snprintf(line, sizeof(line),
             "ip link add nicbarr%u address 02:4e:42:00:00:%02x type veth peer name nicbarr%u"
             " address 02:4e:42:00:00:%02x >/dev/null 2>&1",
             first, first + 1, first + 1, first + 2);
    return 0 == system(line) &&
           run_ip(SIX ? "addr add %s/64 dev nicbarr%u nodad" : "addr add %s/24 dev nicbarr%u", ip,
                  first) &&
           run_ip("link set nicbarr%2$u up", ip, first) &&
           run_ip("link set nicbarr%2$u up", ip, first + 1);
}

/* Both ends, neighbours that nobody has to be asked for, and another network behind this host,
 * which forwards packets from there. */
static bool make_network(void)
{
    if (SIX && !(set("conf/default/disable_ipv6", "0") && set("conf/all/disable_ipv6", "0"))) {
        return false;
    }
    if (!make_wire(0, ip_of(OWN))) {
        return false;
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        if (!run_ip("neigh add %s lladdr 02:4e:42:00:00:%02x dev nicbarr0 nud permanent",
                    peer_ip(n), FIRST_PEER + n)) {
            return false;
        }
    }
    /* This may have been taken over from the machine's network. */
    return set(SIX ? "conf/all/forwarding" : "ip_forward", SIX ? "1" : "0") &&
           make_wire(2, htonl(0x0a4f0001)) && set("conf/nicbarr0/forwarding", "1") &&
           set("conf/nicbarr2/forwarding", "1");
}

/* A socket that sees the IP packets coming in at an interface, behind the programs there. */
static int make_tap(const char *interface, struct sockaddr_ll *at)
{
    const int bytes = BUFFER;
    const int tap = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    *at = (struct sockaddr_ll){
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETHER_TYPE),
        .sll_ifindex = (int)if_nametoindex(interface),
    };
    (void)setsockopt(tap, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    if (tap < 0 || bind(tap, (const struct sockaddr *)at, sizeof(*at)) < 0) {
        perror("a packet socket");
        abort();
    }
    return tap;
}

/* A UDP socket without checksums, at this port of ours, connected to a peer's (0: any; not). */
static int make_socket(uint16_t port, uint32_t to_ip, uint16_t to_port)
{
    const struct mcp_address own = place_of(ip_of(OWN), port), peer = place_of(to_ip, to_port);
    const int made = socket(FAMILY, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made < 0 || !mcp_bell_is_bare(made, FAMILY) ||
        bind(made, &own.at.any, mcp_address_bytes(&own)) < 0 ||
        (0 != to_ip && connect(made, &peer.at.any, mcp_address_bytes(&peer)) < 0)) {
        perror("a UDP socket");
        abort();
    }
    return made;
}

static uint16_t ip_check(const struct iphdr *ip)
{
    uint16_t words[sizeof(*ip) / 2];
    uint32_t sum = 0;
    memcpy(words, ip, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        sum += words[i];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* A frame from a peer's port to ours. */
static void make_frame(struct frame *frame, uint32_t node, uint16_t port, const void *payload,
                       size_t bytes)
{
    memset(frame, 0, sizeof(*frame));
    mac_of(OWN, frame->ethernet.h_dest);
    mac_of(FIRST_PEER + node, frame->ethernet.h_source);
    frame->ethernet.h_proto = htons(ETH_P_IP);
    frame->ip.version = 4;
    frame->ip.ihl = 5;
    frame->ip.ttl = 64;
    frame->ip.protocol = IPPROTO_UDP;
    frame->ip.tot_len = htons((uint16_t)(sizeof(frame->ip) + sizeof(frame->udp) + bytes));
    frame->ip.saddr = peer_ip(node);
    frame->ip.daddr = ip_of(OWN);
    frame->udp.source = htons(port);
    frame->udp.dest = htons(port);
    frame->udp.len = htons((uint16_t)(sizeof(frame->udp) + bytes));
    memcpy(frame->payload, payload, bytes);
}

/* The checksum of its IP header. */
static void seal_ip(struct frame *frame)
{
    struct iphdr ip = frame->ip;
    ip.check = 0;
    frame->ip.check = ip_check(&ip);
}

/* The checksum of a datagram over IPv6 that has one already: 0 if that is right. */
static uint16_t udp_check(const struct frame_of_6 *frame, size_t payload_bytes)
{
    uint16_t words[(sizeof(*frame) + 1) / 2] = {0};
    const size_t bytes = sizeof(frame->udp) + payload_bytes;
    uint64_t sum = htons(IPPROTO_UDP) + (uint64_t)frame->udp.len;
    memcpy(words, &frame->ip.saddr, 2 * sizeof(frame->ip.saddr));
    memcpy(words + sizeof(frame->ip.saddr), &frame->udp, bytes);
    for (size_t w = 0; w < sizeof(frame->ip.saddr) + (bytes + 1) / 2; ++w) {
        sum += words[w];
    }
    while (0 != sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

/* As it goes to the wire; returns its bytes. */
static size_t go_to_wire(const struct frame *frame, size_t payload_bytes, union on_wire *on_wire)
{
    struct frame_of_6 *of_6 = &on_wire->of_6;
    if (!SIX) {
        memcpy(&on_wire->of_4, frame, BEFORE_PAYLOAD + payload_bytes);
        return BEFORE_PAYLOAD + payload_bytes;
    }
    memset(of_6, 0, offsetof(struct frame_of_6, payload));
    of_6->ethernet = frame->ethernet;
    of_6->ethernet.h_proto =
        htons(ETH_P_IP) == frame->ethernet.h_proto ? htons(ETH_P_IPV6) : frame->ethernet.h_proto;
    of_6->ip.version = 4 == frame->ip.version ? 6 : 4;
    of_6->ip.payload_len = htons((uint16_t)(ntohs(frame->ip.tot_len) - sizeof(frame->ip)));
    of_6->ip.nexthdr = frame->ip.protocol;
    of_6->ip.hop_limit = frame->ip.ttl;
    const struct mcp_ip from = address_of(frame->ip.saddr), to = address_of(frame->ip.daddr);
    memcpy(&of_6->ip.saddr, &from, sizeof(from));
    memcpy(&of_6->ip.daddr, &to, sizeof(to));
    of_6->udp = frame->udp;
    of_6->udp.check = 0;
    memcpy(of_6->payload, frame->payload, payload_bytes);
    const uint16_t right = bare ? 0 : udp_check(of_6, payload_bytes);
    of_6->udp.check = (uint16_t)((bare || 0 != right ? right : 0xffff) ^ frame->udp.check);
    return BEFORE_PAYLOAD + LONGER + payload_bytes;
}

/* As it comes from there, with so many bytes on the wire; returns its bytes in here. */
static size_t come_from_wire(const union on_wire *on_wire, size_t bytes, struct frame *frame)
{
    const struct frame_of_6 *of_6 = &on_wire->of_6;
    if (!SIX) {
        memcpy(frame, &on_wire->of_4, bytes);
        return bytes;
    }
    const size_t payload_bytes = bytes - offsetof(struct frame_of_6, payload);
    memset(frame, 0, BEFORE_PAYLOAD);
    frame->ethernet = of_6->ethernet;
    frame->ethernet.h_proto = htons(ETH_P_IP);
    frame->ip.version = 6 == of_6->ip.version ? 4 : 6;
    frame->ip.ihl = 5;
    frame->ip.tot_len = htons((uint16_t)(ntohs(of_6->ip.payload_len) + sizeof(frame->ip)));
    frame->ip.protocol = of_6->ip.nexthdr;
    frame->ip.ttl = of_6->ip.hop_limit;
    memcpy(&frame->ip.saddr, (const uint8_t *)&of_6->ip.saddr + 12, sizeof(frame->ip.saddr));
    memcpy(&frame->ip.daddr, (const uint8_t *)&of_6->ip.daddr + 12, sizeof(frame->ip.daddr));
    seal_ip(frame);
    frame->udp = of_6->udp;
    was_bare = 0 == of_6->udp.check;
    memcpy(&version_and_flow, &of_6->ip, sizeof(version_and_flow));
    frame->udp.check = was_bare ? 0 : udp_check(of_6, payload_bytes);
    memcpy(frame->payload, of_6->payload, payload_bytes);
    return BEFORE_PAYLOAD + payload_bytes;
}

static void inject_bytes(int tap, const struct sockaddr_ll *at, const void *frame, size_t bytes)
{
    assert_int_equal(sendto(tap, frame, bytes, 0, (const struct sockaddr *)at, sizeof(*at)), bytes);
}

static void inject_at(int tap, const struct sockaddr_ll *at, struct frame *frame,
                      size_t payload_bytes)
{
    union on_wire on_wire;
    seal_ip(frame);
    const size_t bytes = go_to_wire(frame, payload_bytes, &on_wire);
    inject_bytes(tap, at, &on_wire, bytes);
}

static void inject(struct frame *frame, size_t payload_bytes)
{
    inject_at(wire, &far, frame, payload_bytes);
}

/* A collective packet of a peer's, with so many bytes behind the header; returns its bytes. */
static size_t make_collective(struct frame *frame, uint32_t node, const struct mcp_header *header,
                              uint32_t behind_it)
{
    uint8_t packet[MCP_COLLECTIVE_BYTES + MCP_PAYLOAD_MOST];
    memcpy(packet, header, MCP_COLLECTIVE_BYTES);
    memcpy(packet + MCP_COLLECTIVE_BYTES, carried, behind_it);
    make_frame(frame, node, PORT, packet, MCP_COLLECTIVE_BYTES + behind_it);
    return MCP_COLLECTIVE_BYTES + behind_it;
}

static void inject_collective(uint32_t node, const struct mcp_header *header)
{
    struct frame frame;
    const size_t bytes = make_collective(&frame, node, header, header->payload_bytes);
    inject(&frame, bytes);
}

/* The next UDP frame that a tap has seen, and its bytes; with `wait` it waits for it, else there
 * may be none (0). */
static size_t take(int tap, struct frame *frame, bool wait)
{
    for (;;) {
        union on_wire on_wire;
        const ssize_t bytes = recv(tap, &on_wire, sizeof(on_wire), wait ? 0 : MSG_DONTWAIT);
        if (bytes < 0 && EINTR != errno) {
            assert_int_equal(errno, EAGAIN);
            return 0;
        }
        if (bytes >= (ssize_t)BEFORE_PAYLOAD + LONGER &&
            IPPROTO_UDP == (SIX ? on_wire.of_6.ip.nexthdr : on_wire.of_4.ip.protocol)) {
            return come_from_wire(&on_wire, (size_t)bytes, frame);
        }
    }
}

static void drain(int from)
{
    char packet[MOST_PAYLOAD];
    while (recv(from, packet, sizeof(packet), MSG_DONTWAIT) >= 0) {
        continue;
    }
}

/* ---- what is expected ---- */

/* Counters only grow: one that is beyond what it should be is wrong, one before may be on its way.
 */
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

static void expect_count(void)
{
    while (!counted()) {
        sched_yield();
    }
}

/* A message of the NIC's, with what it carries; its link is an IP address here. */
struct sent {
    struct mcp_message message;
    uint8_t payload[MCP_PAYLOAD_MOST];
};

/* It comes out next. */
static void expect_message(const struct sent *expected)
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
    if (SIX) { /* a flow of its own */
        const uint32_t flow = ntohl((uint32_t)header.check) & 0xfffff;
        assert_int_equal(ntohl(version_and_flow), 6U << 28 | flow);
    }
}

/* This very frame has passed the program on its way in. */
static void expect_passed(const struct frame *frame, size_t payload_bytes)
{
    struct frame seen;
    assert_int_equal(take(passed, &seen, true), BEFORE_PAYLOAD + payload_bytes);
    assert_memory_equal(&seen, frame, BEFORE_PAYLOAD + payload_bytes);
}

/* What is sent like this has left, past the program. */
static void expect_left(const void *payload, size_t bytes)
{
    struct frame frame;
    assert_int_equal(take(wire, &frame, true), BEFORE_PAYLOAD + bytes);
    assert_memory_equal(frame.payload, payload, bytes);
}

/* Nothing else has come out or passed: what is sent now, both ways, is what comes next. */
static void expect_nothing_more(void)
{
    struct frame frame, seen;
    const struct mcp_address peer = place_of(peer_ip(0), 9);
    assert_int_equal(
        sendto(other_socket, "that is all", 12, 0, &peer.at.any, mcp_address_bytes(&peer)), 12);
    assert_int_equal(take(wire, &seen, true), BEFORE_PAYLOAD + 12);
    assert_memory_equal(seen.payload, "that is all", 12);
    make_frame(&frame, 0, OTHER_PORT, "and here, too", 14);
    inject(&frame, 14);
    expect_passed(&frame, 14);
    drain(other_socket);
    drain(nic_socket);
    expect_count();
}

/* Whatever was sent and counted until now is of no interest. */
static void skip_sent(void)
{
    struct frame frame;
    const struct mcp_address peer = place_of(peer_ip(0), 9);
    assert_int_equal(
        sendto(other_socket, "up to here", 10, 0, &peer.at.any, mcp_address_bytes(&peer)), 10);
    while (BEFORE_PAYLOAD + 10 != take(wire, &frame, true)) {
    }
    mcp_kernel_count(kernel, &count);
}

/* An interface that has just come up may still lose packets. */
static void await_network(void)
{
    struct frame frame;
    const struct mcp_address peer = place_of(peer_ip(0), 9);
    bool out = false, in = false;
    union on_wire on_wire;
    make_frame(&frame, 0, OTHER_PORT, "up?", 4);
    seal_ip(&frame);
    const size_t bytes = go_to_wire(&frame, 4, &on_wire);
    while (!out || !in) {
        struct frame seen;
        (void)!sendto(other_socket, "up?", 4, 0, &peer.at.any, mcp_address_bytes(&peer));
        (void)!sendto(wire, &on_wire, bytes, 0, (const struct sockaddr *)&far, sizeof(far));
        usleep(1000);
        out = out || 0 != take(wire, &seen, false);
        in = in || 0 != take(passed, &seen, false);
    }
    usleep(10000);
    drain(wire);
    drain(passed);
    drain(other_socket);
}

/* ---- a group, played twice ---- */

struct pair {
    uint64_t key;
    struct mcp_kernel_plan plan;      /* in the kernel, */
    struct mcp_kernel_line *page;     /* mapped */
    struct mcp_kernel_line *line;     /* ... and the group's of it */
    struct mcp_kernel_buffer *buffer; /* mapped; NULL: it has none */
    int page_map, buffer_map;
    int bell;
    bool sleeps;             /* somebody on the bell */
    uint32_t last;           /* the broadcast of the greatest number that has come */
    struct mcp_group *group; /* ... and here */
    _Alignas(MYR_LINE) uint8_t room[ROOM];
};

static uint32_t buffer_bytes(const struct pair *pair)
{
    return pair->plan.places * pair->plan.unit_most;
}

static bool broadcasts(const struct pair *pair)
{
    return 0 != pair->plan.window;
}

static bool has_buffer(const struct pair *pair)
{
    return 0 != pair->plan.places || broadcasts(pair);
}

/* The slot of a broadcast in a window. */
static struct mcp_bcast_slot *slot_in(const struct pair *pair, const void *window, uint32_t number)
{
    return (struct mcp_bcast_slot *)((uintptr_t)window + mcp_bcast_place(pair->plan.window,
                                                                         pair->plan.slot_bytes,
                                                                         number));
}

static struct mcp_bcast_slot *slot_here(const struct pair *pair, uint32_t number)
{
    return slot_in(pair, mcp_group_window(pair->group), number);
}

/* What an earlier group of the user has left on the kernel's buffer is still there, but not in a
 * group that broadcasts. */
static void open_buffers(struct pair *pair, int buffer)
{
    static const struct mcp_kernel_buffer empty;
    pair->group->places = pair->plan.places;
    pair->group->unit_most = pair->plan.unit_most;
    pair->group->window = pair->plan.window;
    pair->group->slot_bytes = pair->plan.slot_bytes;
    pair->buffer = NULL;
    pair->buffer_map = buffer;
    assert_int_equal(buffer >= 0, has_buffer(pair));
    if (buffer >= 0) {
        pair->buffer = mmap(NULL, sizeof(*pair->buffer), PROT_READ, MAP_SHARED, buffer, 0);
        assert_ptr_not_equal(pair->buffer, MAP_FAILED);
        for (uint32_t e = 0; e < 2; ++e) {
            memcpy(mcp_group_buffer(pair->group, e), pair->buffer->word[e], buffer_bytes(pair));
        }
    }
    if (broadcasts(pair)) {
        assert_memory_equal(pair->buffer, &empty, sizeof(empty));
    }
}

/* Open, in both places, a group whose tables are in the plan. */
static void open_pair(struct pair *pair, uint32_t uid, uint64_t *random)
{
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_plan *plan = &pair->plan;
    plan->key = pair->key = crew_random(random) | 1;
    plan->secret.word[0] = crew_random(random);
    plan->secret.word[1] = crew_random(random);
    plan->uid = uid;
    plan->nodes = 0 == plan->nodes ? MOST_NODES : plan->nodes;
    struct mcp_kernel_seen seen;
    if (mcp_kernel_group_open(kernel, plan, &seen, why) < 0) {
        fail_msg("%s", why);
    }
    pair->page_map = seen.page;
    pair->page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, seen.page, 0);
    assert_ptr_not_equal(pair->page, MAP_FAILED);
    pair->line = &pair->page[seen.line];
    pair->bell = make_socket(0, peer_ip(crew_below(random, MOST_NODES)), PORT);
    pair->sleeps = false;
    pair->last = 0;
    memset(pair->room, 0, sizeof(pair->room));
    pair->group = (struct mcp_group *)pair->room;
    assert_true(mcp_group_bytes(plan->nsteps, plan->nsends, plan->nwaits) + sizeof(*pair->buffer) <=
                ROOM);
    mcp_group_init(pair->group, plan->key, plan->nodes, plan->node, plan->nsteps, plan->nsends,
                   plan->nwaits, 0);
    pair->group->secret = plan->secret;
    memcpy(mcp_group_steps(pair->group), plan->steps, plan->nsteps * sizeof(plan->steps[0]));
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) { /* the address is a link here */
        const struct mcp_kernel_peer *peer = &plan->peers[p];
        mcp_group_sends(pair->group)[p] =
            (struct mcp_peer){peer->ip.word[3], peer->node, peer->slot, peer->blocks, peer->at};
    }
    open_buffers(pair, seen.buffer);
}

static void close_pair(struct pair *pair)
{
    mcp_kernel_group_close(kernel, pair->key);
    munmap(pair->page, PAGE);
    if (NULL != pair->buffer) {
        munmap(pair->buffer, sizeof(*pair->buffer));
    }
    close(pair->bell);
}

static uint32_t done(const struct pair *pair)
{
    return myr_glance(&pair->group->done);
}

/* What hosts see is what the engine here says. */
static void expect_done(struct pair *pair)
{
    uint32_t inside = 0;
    while (done(pair) != myr_observe(&pair->line->done)) {
        assert_true(myr_epoch_reached(done(pair), myr_observe(&pair->line->done)));
        sched_yield();
    }
    assert_int_equal(mcp_kernel_group_waits(kernel, pair->key, &inside),
                     mcp_group_waits_now(pair->group));
    assert_int_equal(inside, done(pair));
    assert_int_equal(pair->line->failed, 0);
    for (uint32_t e = 0; NULL != pair->buffer && e < 2; ++e) {
        assert_memory_equal(pair->buffer->word[e], mcp_group_buffer(pair->group, e),
                            buffer_bytes(pair));
    }
    for (uint32_t n = 0; n < pair->plan.window; ++n) {
        struct mcp_bcast_slot *slot = slot_in(pair, pair->buffer, n), *here = slot_here(pair, n);
        assert_int_equal(slot->number, here->number);
        assert_int_equal(slot->sleepers, 0);
        assert_int_equal(0 != slot->heard_ms, 0 != here->heard_ms);
        assert_int_equal(slot->bytes, here->bytes);
        assert_memory_equal(slot + 1, here + 1, pair->plan.slot_bytes - sizeof(*slot));
    }
}

/* The messages that the engine here has sent because of one event. */
static struct sent sent[SENDS];
static uint32_t nsent;

static void send_one(const struct pair *pair, const struct mcp_message *message)
{
    assert_true(nsent < SENDS);
    struct sent *one = &sent[nsent++];
    one->message = *message;
    assert_true(message->bytes <= sizeof(one->payload));
    const uint32_t epoch = message->header.collective.epoch;
    if (0 != message->bytes) {
        memcpy(one->payload,
               broadcasts(pair) ? (const void *)(slot_here(pair, epoch) + 1)
                                : mcp_group_buffer(pair->group, epoch),
               message->bytes);
    }
    mcp_seal(&one->message.header, &pair->plan.secret, one->payload, message->bytes);
    ++count.packets_sent;
}

static void play_here(struct pair *pair)
{
    struct mcp_message message;
    const uint32_t before = done(pair);
    while (mcp_group_next(pair->group, &message)) {
        send_one(pair, &message);
    }
    count.barriers += done(pair) - before;
}

static void ask_here(struct pair *pair)
{
    struct mcp_message message;
    uint32_t cursor = 0;
    while (mcp_group_missing(pair->group, &cursor, &message)) {
        ++count.asked;
        send_one(pair, &message);
    }
}

/* A message has come with what it carries: as collective.c does. */
static enum mcp_recorded take_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    uint32_t bytes = header->payload_bytes, offset;
    if (0 != pair->plan.places) {
        const enum mcp_recorded claimed =
            mcp_group_claim(pair->group, part->slot, part->epoch, &bytes, &offset);
        if (MCP_RECORDED != claimed) {
            return claimed;
        }
        assert_true(offset + bytes <= buffer_bytes(pair));
        memcpy(mcp_group_buffer(pair->group, part->epoch) + offset, carried, bytes);
    }
    return mcp_group_record(pair->group, part->slot, part->epoch);
}

/* ---- broadcasts here: as collective_bcast.c does ---- */

static enum mcp_recorded take_block_here(struct pair *pair, uint32_t root, uint32_t number,
                                         uint32_t bytes)
{
    struct mcp_bcast_slot *slot = slot_here(pair, number);
    struct mcp_message message;
    const enum mcp_recorded recorded =
        mcp_bcast_take(pair->group, root, slot->number, number, bytes);
    if (MCP_RECORDED != recorded) {
        return recorded;
    }
    memcpy(slot + 1, carried, bytes);
    slot->bytes = bytes;
    slot->number = number;
    pair->last = myr_epoch_reached(pair->last, number) ? pair->last : number;
    for (uint32_t s = 0; s < pair->plan.nsends; ++s) {
        if (mcp_bcast_child(pair->group, s, root)) {
            mcp_bcast_message(pair->group, s, root, number, bytes, &message);
            send_one(pair, &message);
        }
    }
    ++count.broadcasts;
    return MCP_RECORDED;
}

static void ask_bcast_here(struct pair *pair, uint32_t root, uint32_t number)
{
    struct mcp_message message;
    if (mcp_bcast_ask(pair->group, root, number, &message)) {
        ++count.asked;
        send_one(pair, &message);
    }
}

static void answer_bcast_here(struct pair *pair, const struct mcp_collective_part *part)
{
    struct mcp_bcast_slot *slot = slot_here(pair, part->epoch);
    struct mcp_message message;
    if (!mcp_bcast_answer(pair->group, part->node, part->slot, part->epoch, slot->number,
                          slot->bytes, &message)) {
        return;
    }
    send_one(pair, &message);
    if (MCP_BCAST_LATER == message.header.type) {
        ++count.later;
        ask_bcast_here(pair, part->slot, part->epoch);
    } else {
        ++count.answered;
    }
}

static void receive_bcast_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    if (!broadcasts(pair)) {
        ++count.dropped_implausible;
        return;
    }
    if (MCP_BCAST_ASK == header->type) {
        answer_bcast_here(pair, part);
        return;
    }
    enum mcp_recorded recorded;
    if (MCP_BCAST == header->type) {
        recorded = take_block_here(pair, part->slot, part->epoch, header->payload_bytes);
    } else {
        struct mcp_bcast_slot *slot = slot_here(pair, part->epoch);
        recorded = mcp_bcast_hear(pair->group, part->node, part->slot, part->epoch, slot->number);
        slot->heard_ms |= MCP_RECORDED == recorded;
        count.heard += MCP_RECORDED == recorded;
    }
    count.duplicates += MCP_KNOWN == recorded;
    count.dropped_implausible += MCP_IMPLAUSIBLE == recorded;
}

/* A whole packet of this group has come: as collective.c does. */
static void receive_here(struct pair *pair, const struct mcp_header *header)
{
    const struct mcp_collective_part *part = &header->collective;
    struct mcp_message message;
    ++count.packets_received;
    if (mcp_is_bcast(header->type)) {
        receive_bcast_here(pair, header);
        return;
    }
    if (MCP_ASK == header->type) {
        if (mcp_group_answer(pair->group, part->node, part->slot, part->epoch, &message)) {
            count.later += MCP_LATER == message.header.type;
            count.answered += MCP_LATER != message.header.type;
            send_one(pair, &message);
        }
        return;
    }
    if (MCP_LATER == header->type) {
        const enum mcp_recorded heard =
            mcp_group_hear(pair->group, part->node, part->slot, part->epoch, 1);
        count.heard += MCP_RECORDED == heard;
        count.duplicates += MCP_KNOWN == heard;
        count.dropped_implausible += MCP_IMPLAUSIBLE == heard;
        return;
    }
    const enum mcp_recorded recorded = MCP_DONE == header->type
                                           ? mcp_group_release(pair->group, part->epoch)
                                           : take_here(pair, header);
    count.early += MCP_TOO_SOON == recorded;
    count.unexpected += MCP_UNEXPECTED == recorded;
    count.duplicates += MCP_KNOWN == recorded;
    count.dropped_implausible += MCP_IMPLAUSIBLE == recorded;
    if (MCP_RECORDED == recorded || MCP_UNEXPECTED == recorded) {
        play_here(pair);
    }
}

/* They come out of the kernel, too. */
static void expect_sent(void)
{
    for (uint32_t i = 0; i < nsent; ++i) {
        expect_message(&sent[i]);
    }
    nsent = 0;
}

/* After an event: what came of it in the kernel is what came of it here. */
static void expect_same(struct pair *pair)
{
    struct frame frame;
    expect_sent();
    expect_count();
    expect_done(pair);
    assert_int_equal(take(wire, &frame, false), 0);
}

static struct mcp_doorbell make_doorbell(uint64_t key, uint8_t what, uint32_t epoch)
{
    return (struct mcp_doorbell){
        .magic = MCP_DOORBELL_MAGIC,
        .version = MCP_DOORBELL_VERSION,
        .ring = what,
        .epoch = epoch,
        .key = key,
    };
}

/* With so many bytes of data behind it. */
static void ring_with(int bell, uint64_t key, uint8_t what, uint32_t epoch, uint32_t bytes)
{
    uint8_t packet[sizeof(struct mcp_doorbell) + MCP_PAYLOAD_MOST];
    const struct mcp_doorbell doorbell = make_doorbell(key, what, epoch);
    const size_t all = sizeof(doorbell) + bytes;
    memcpy(packet, &doorbell, sizeof(doorbell));
    memcpy(packet + sizeof(doorbell), carried, bytes);
    CREW_CHECK((ssize_t)all == send(bell, packet, all, 0), "%s", strerror(errno));
}

static void ring(int bell, uint64_t key, uint8_t what, uint32_t epoch)
{
    ring_with(bell, key, what, epoch, 0);
}

/* ---- events ---- */

static struct mcp_header make_header(const struct pair *pair, uint8_t type, uint32_t epoch,
                                     uint32_t slot, uint32_t node)
{
    struct mcp_header header = {.type = type, .key = pair->key};
    header.collective = (struct mcp_collective_part){epoch, (uint16_t)slot, (uint16_t)node};
    mcp_seal(&header, &pair->plan.secret, NULL, 0);
    return header;
}

static void fill_carried(uint32_t bytes, uint64_t *random)
{
    for (uint32_t b = 0; b < bytes; ++b) {
        carried[b] = (uint8_t)crew_random(random);
    }
}

/* Bytes that a payload or a block may have. */
static uint32_t some_bytes(uint64_t *random)
{
    return MCP_BLOCK_UNIT * crew_below(random, MCP_PAYLOAD_MOST / MCP_BLOCK_UNIT + 1);
}

/* An arrival in a group that carries data has data: as a rule so many blocks as are expected, as
 * long as in this epoch of ours. */
static struct mcp_header load(const struct pair *pair, struct mcp_header header, uint64_t *random)
{
    const uint32_t slot = header.collective.slot, nwaits = pair->plan.nwaits;
    const bool usual = slot < nwaits && 0 != crew_below(random, 8);
    if (0 == pair->plan.places) {
        return header;
    }
    const uint32_t bytes = usual ? pair->plan.peers[pair->plan.nsends + slot].blocks *
                                       pair->group->unit[header.collective.epoch % 2]
                                 : some_bytes(random);
    fill_carried(bytes, random);
    mcp_seal(&header, &pair->plan.secret, carried, bytes);
    return header;
}

/* An epoch near to the present one: done already, under way, next, or not possible. */
static uint32_t some_epoch(const struct pair *pair, uint64_t *random)
{
    return done(pair) + crew_below(random, 5) - 1;
}

static struct mcp_header some_arrival(const struct pair *pair, uint64_t *random)
{
    const uint32_t nwaits = pair->plan.nwaits;
    const bool likely = 0 != crew_below(random, 4);
    const uint32_t slot = crew_below(random, nwaits + (likely ? 0 : 2));
    const uint32_t epoch = likely ? done(pair) + 1 : some_epoch(pair, random);
    return load(pair, make_header(pair, MCP_ARRIVE, epoch, slot, crew_below(random, MOST_NODES)),
                random);
}

/* The first one that is still missing, so that epochs come to an end. */
static struct mcp_header missing_arrival(const struct pair *pair, uint64_t *random)
{
    const uint32_t epoch = done(pair) + 1, *arrivals = mcp_group_arrivals(pair->group);
    uint32_t slot = 0;
    while (slot + 1 < pair->plan.nwaits && myr_epoch_reached(arrivals[slot], epoch)) {
        ++slot;
    }
    return load(pair, make_header(pair, MCP_ARRIVE, epoch, slot, crew_below(random, MOST_NODES)),
                random);
}

static struct mcp_header some_question(const struct pair *pair, uint64_t *random)
{
    const struct mcp_kernel_peer *to = &pair->plan.peers[crew_below(random, pair->plan.nsends)];
    const uint32_t wrong = 0 == crew_below(random, 5);
    return make_header(pair, MCP_ASK, some_epoch(pair, random), to->slot + wrong, to->node);
}

/* A peer's host is late, or so somebody says. */
static struct mcp_header some_excuse(const struct pair *pair, uint64_t *random)
{
    const uint32_t slot = crew_below(random, pair->plan.nwaits + 1);
    const struct mcp_kernel_peer *from = &pair->plan.peers[pair->plan.nsends + slot];
    return make_header(pair, MCP_LATER, done(pair) + crew_below(random, 3), slot,
                       0 == crew_below(random, 5) ? MOST_NODES : from->node);
}

/* The number of a broadcast: the next one, as a rule; one that has come, or has not; about the last
 * that the window has room for; or any. */
static uint32_t some_number(const struct pair *pair, uint64_t *random)
{
    switch (crew_below(random, 8)) {
    case 0:
        return pair->last - crew_below(random, 2 * MCP_BCAST_SLOTS);
    case 1:
        return pair->last + crew_below(random, 4);
    case 2:
        return mcp_bcast_credit(pair->plan.window, pair->group->started) + crew_below(random, 3);
    case 3:
        return 0 == crew_below(random, 4) ? (uint32_t)crew_random(random) : pair->last;
    default:
        return pair->last + 1;
    }
}

static uint32_t some_root(const struct pair *pair, uint64_t *random)
{
    return crew_below(random, pair->plan.nodes + (0 == crew_below(random, 8) ? 2 : 0));
}

/* A block, which fits as a rule. */
static uint32_t fill_block(const struct pair *pair, uint64_t *random)
{
    const uint32_t most = broadcasts(pair) && 0 != crew_below(random, 8)
                              ? pair->plan.slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot)
                              : MCP_PAYLOAD_MOST;
    const uint32_t bytes = MCP_BLOCK_UNIT * (1 + crew_below(random, most / MCP_BLOCK_UNIT));
    fill_carried(bytes, random);
    return bytes;
}

/* Of a broadcast: its block, or that it is missing, or still to come. */
static struct mcp_header some_bcast(const struct pair *pair, uint64_t *random)
{
    const uint32_t kind = crew_below(random, has_buffer(pair) ? 8 : 2);
    const bool asks = 0 == kind;
    const struct mcp_kernel_peer *peer =
        &pair->plan.peers[asks ? crew_below(random, pair->plan.nsends)
                               : pair->plan.nsends + crew_below(random, pair->plan.nwaits)];
    const uint32_t node = 0 == crew_below(random, 8) ? MOST_NODES : peer->node;
    struct mcp_header header =
        make_header(pair, asks ? MCP_BCAST_ASK : MCP_BCAST_LATER, some_number(pair, random),
                    some_root(pair, random), node);
    if (kind > 2) {
        header.type = MCP_BCAST;
        mcp_seal(&header, &pair->plan.secret, carried, fill_block(pair, random));
    }
    return header;
}

/* Something has happened. Is whoever sleeps woken if it `wakes`, and nobody else? */
static void expect_woken(struct pair *pair, bool wakes)
{
    struct frame frame;
    char packet[MOST_PAYLOAD];
    if (pair->sleeps && wakes) {
        pair->sleeps = false;
        assert_int_equal(recv(pair->bell, packet, sizeof(packet), 0), MCP_COLLECTIVE_BYTES);
        assert_int_equal(take(passed, &frame, true), BEFORE_PAYLOAD + MCP_COLLECTIVE_BYTES);
    }
    assert_int_equal(recv(pair->bell, packet, sizeof(packet), MSG_DONTWAIT), -1);
    assert_int_equal(take(passed, &frame, false), 0);
}

/* A packet of this group comes in. */
static void event_packet(struct pair *pair, struct mcp_header header, uint64_t *random)
{
    const uint32_t before = done(pair);
    const uint64_t blocks = count.broadcasts;
    receive_here(pair, &header);
    inject_collective(crew_below(random, MOST_NODES), &header);
    expect_same(pair);
    expect_woken(pair, before != done(pair) || blocks != count.broadcasts);
}

/* Can a packet of this type have so many bytes behind its header? */
static bool carries_so(const struct mcp_header *header)
{
    return MCP_BCAST == header->type ? 0 != header->payload_bytes
                                     : 0 == header->payload_bytes || MCP_ARRIVE == header->type;
}

/* One comes in that nobody of the group has sent, with so many bytes behind its header. Where its
 * key is not the group's, or it is none at all, nobody knows whose it is: it passes. */
static void inject_strange(struct pair *pair, uint32_t from, const struct mcp_header *header,
                           uint32_t behind_it)
{
    struct frame frame;
    bool passes = true;
    ++count.packets_received;
    const size_t bytes = make_collective(&frame, from, header, behind_it);
    if (MCP_MAGIC != header->magic || MCP_WIRE_VERSION != header->version ||
        !mcp_is_collective(header->type) || behind_it != header->payload_bytes ||
        !carries_so(header)) {
        ++count.dropped_damaged;
    } else if (pair->key != header->key) {
        ++count.dropped_foreign;
    } else {
        ++count.dropped_forged;
        passes = false;
    }
    inject(&frame, bytes);
    if (passes) {
        expect_passed(&frame, bytes);
    }
    expect_same(pair);
}

static void flip(void *bytes, uint32_t bit)
{
    ((uint8_t *)bytes)[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

static void event_bad_packet(struct pair *pair, uint64_t *random)
{
    struct mcp_header header = broadcasts(pair) && 0 == crew_below(random, 2)
                                   ? some_bcast(pair, random)
                                   : some_arrival(pair, random);
    struct mcp_secret other = pair->plan.secret;
    const uint32_t bytes = header.payload_bytes;
    switch (crew_below(random, 5)) {
    case 0: /* of another group */
        header.key = 0 == crew_below(random, 3) ? 0 : header.key + 2;
        break;
    case 1: /* damaged */
        flip(&header, crew_below(random, 8 * MCP_COLLECTIVE_BYTES));
        break;
    case 2: /* in what it carries */
        if (0 == bytes) {
            return;
        }
        flip(carried, crew_below(random, 8 * bytes));
        break;
    case 3: /* by somebody who does not know the secret */
        flip(&other, crew_below(random, 8 * sizeof(other)));
        mcp_seal(&header, &other, carried, bytes);
        break;
    default: /* whole, but not as short */
        header.type = (uint8_t)(0 == crew_below(random, 2) ? 0 : MCP_DATA);
        break;
    }
    inject_strange(pair, crew_below(random, MOST_NODES), &header, bytes);
}

/* Nearly one: it is the system's business. (Where groups carry data it may have the length of one
 * that does, but not of this one.) */
static void event_wrong_length(struct pair *pair, uint64_t *random)
{
    struct frame frame;
    uint8_t packet[MOST_PAYLOAD] = {0};
    const struct mcp_header header = some_arrival(pair, random);
    size_t bytes = crew_below(random, MOST_PAYLOAD);
    bytes += MCP_COLLECTIVE_BYTES + header.payload_bytes == bytes;
    const size_t behind_it = bytes - MCP_COLLECTIVE_BYTES;
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(&frame, crew_below(random, MOST_NODES), PORT, packet, bytes);
    if (bytes == MCP_COLLECTIVE_BYTES ||
        (has_buffer(pair) && bytes > MCP_COLLECTIVE_BYTES && behind_it <= MCP_PAYLOAD_MOST &&
         0 == behind_it % MCP_BLOCK_UNIT)) {
        ++count.packets_received;
        ++count.dropped_damaged;
    }
    inject(&frame, bytes);
    expect_passed(&frame, bytes);
    expect_same(pair);
}

/* The same in a group that carries data: the host has a block, or rings in error. */
static void event_start_with(struct pair *pair, uint64_t *random)
{
    const uint32_t before = done(pair);
    const bool wrong = 0 == crew_below(random, 8);
    const uint32_t most = pair->plan.unit_most / MCP_BLOCK_UNIT;
    const uint32_t bytes =
        wrong ? some_bytes(random) : MCP_BLOCK_UNIT * crew_below(random, most + 1);
    const uint32_t epoch = wrong ? some_epoch(pair, random) : before + 1;
    fill_carried(bytes, random);
    if (mcp_group_offer(pair->group, epoch, bytes)) {
        memcpy(mcp_group_buffer(pair->group, epoch), carried, bytes);
        mcp_group_start(pair->group, epoch);
        play_here(pair);
    }
    ring_with(pair->bell, pair->key, MCP_RING_START, epoch, bytes);
    expect_same(pair);
    expect_woken(pair, before != done(pair));
}

/* The host arrives, if it has left the epoch before; else it says again what it has said. */
static void event_start(struct pair *pair, uint64_t *random)
{
    if (0 != pair->plan.places) {
        event_start_with(pair, random);
        return;
    }
    const bool allowed = !mcp_group_waits_now(pair->group);
    const bool lies = allowed && 0 == crew_below(random, 8); /* or a doorbell was lost */
    const uint32_t before = done(pair);
    const uint32_t epoch = allowed ? before + 1 : pair->group->started;
    mcp_group_start(pair->group, epoch);
    play_here(pair);
    ring(pair->bell, pair->key, MCP_RING_START,
         lies ? epoch + crew_below(random, INT32_MAX) : epoch);
    expect_same(pair);
    expect_woken(pair, before != done(pair));
}

static void event_ring(struct pair *pair, uint64_t *random)
{
    struct mcp_doorbell stray;
    switch (crew_below(random, 5)) {
    case 0:
    case 1:
        ask_here(pair);
        ring_with(pair->bell, pair->key, MCP_RING_ASK, pair->group->started,
                  has_buffer(pair) ? some_bytes(random) : 0);
        break;
    case 2:
        pair->sleeps = true;
        ring(pair->bell, pair->key, MCP_RING_SLEEP, done(pair) + 1);
        break;
    case 3: /* for nobody */
        stray = make_doorbell(pair->key + 2, MCP_RING_START, done(pair) + 1);
        ring(pair->bell, stray.key, stray.ring, stray.epoch);
        expect_left(&stray, sizeof(stray));
        break;
    default: /* nothing that one can ring for */
        ring(pair->bell, pair->key, 0 == crew_below(random, 2) ? 0 : 77, done(pair) + 1);
        break;
    }
    expect_same(pair);
}

/* The host is the root of a broadcast, or says so; or it misses one. */
static void event_ring_bcast(struct pair *pair, uint64_t *random)
{
    const uint32_t number = some_number(pair, random);
    const uint64_t blocks = count.broadcasts;
    if (has_buffer(pair) && 0 != crew_below(random, 4)) {
        const uint32_t bytes = fill_block(pair, random);
        (void)take_block_here(pair, pair->plan.node, number, bytes);
        ring_with(pair->bell, pair->key, MCP_RING_BCAST, number, bytes);
    } else if (0 == crew_below(random, 8)) { /* with no block */
        ring(pair->bell, pair->key, MCP_RING_BCAST, number);
    } else {
        struct mcp_doorbell bell = make_doorbell(pair->key, MCP_RING_BCAST_ASK, number);
        bell.root = some_root(pair, random);
        ask_bcast_here(pair, bell.root, number);
        assert_int_equal(send(pair->bell, &bell, sizeof(bell), 0), sizeof(bell));
    }
    expect_same(pair);
    expect_woken(pair, blocks != count.broadcasts);
}

static void event_bcast(struct pair *pair, uint64_t *random)
{
    if (0 == crew_below(random, 4)) {
        event_ring_bcast(pair, random);
    } else {
        event_packet(pair, some_bcast(pair, random), random);
    }
}

static void event(struct pair *pair, uint64_t *random)
{
    const uint32_t kind = crew_below(random, 32);
    if (0 == crew_below(random, broadcasts(pair) ? 2 : 32)) {
        event_bcast(pair, random);
    } else if (kind < 8) {
        event_start(pair, random);
    } else if (kind < 13) {
        event_packet(pair, some_arrival(pair, random), random);
    } else if (kind < 23) {
        event_packet(pair, missing_arrival(pair, random), random);
    } else if (kind < 26) {
        event_packet(pair, some_question(pair, random), random);
    } else if (kind < 27) {
        event_packet(pair, make_header(pair, MCP_DONE, some_epoch(pair, random), 0, 0), random);
    } else if (kind < 28) {
        event_packet(pair, some_excuse(pair, random), random);
    } else if (kind < 29) {
        event_bad_packet(pair, random);
    } else if (kind < 30) {
        event_wrong_length(pair, random);
    } else {
        event_ring(pair, random);
    }
}

/* Where no open group carries data, what carries some is not looked at. */
static void expect_unseen(uint32_t from, const struct mcp_header *header)
{
    struct frame frame;
    const size_t bytes = make_collective(&frame, from, header, header->payload_bytes);
    inject(&frame, bytes);
    expect_passed(&frame, bytes);
    expect_nothing_more();
}

/* A packet for a group that is closed. Who asks for an epoch that was done hears that it is; for
 * another one, or for a block, that the group has failed, if it has. */
static void event_late(struct pair *pair, struct mcp_header header, uint64_t *random)
{
    const uint32_t from = crew_below(random, MOST_NODES);
    const uint32_t epoch = header.collective.epoch;
    if (0 != header.payload_bytes) {
        expect_unseen(from, &header);
        return;
    }
    ++count.packets_received;
    const bool data = 0 != pair->group->unit[done(pair) % 2]; /* which are gone */
    const bool lost = data || (broadcasts(pair) && mcp_group_waits_now(pair->group));
    const bool asks = MCP_ASK == header.type;
    const bool over = asks && myr_epoch_reached(done(pair) - data, epoch);
    const uint32_t missing = myr_glance(&pair->group->failed);
    const uint32_t failed = lost && 0 == missing ? pair->plan.node + 1 : missing;
    if ((asks || MCP_BCAST_ASK == header.type) && (over || 0 != failed)) {
        struct mcp_message answer = {
            .to = peer_ip(from),
            .header = {.type = over ? MCP_DONE : MCP_FAIL, .key = pair->key},
        };
        answer.header.collective = header.collective;
        if (!over) {
            answer.header.collective.node = (uint16_t)(failed - 1);
        }
        ++count.answered;
        send_one(pair, &answer);
    } else {
        ++count.duplicates;
    }
    inject_collective(from, &header);
    expect_sent();
    expect_nothing_more();
}

/* Play it; then it is closed, and at last forgotten: nobody's any more. */
static void play_trace(struct pair *pair, uint32_t events, uint64_t *random)
{
    open_pair(pair, geteuid(), random);
    for (uint32_t e = 0; e < events; ++e) {
        event(pair, random);
    }
    expect_nothing_more();
    close_pair(pair);
    event_late(pair, missing_arrival(pair, random), random);
    for (uint32_t q = 0; q < 4; ++q) {
        event_late(pair, some_question(pair, random), random);
    }
    const struct mcp_header late = some_question(pair, random);
    struct frame frame;
    mcp_kernel_group_forget(kernel, pair->key);
    ++count.packets_received;
    ++count.dropped_foreign;
    make_frame(&frame, 0, PORT, &late, MCP_COLLECTIVE_BYTES);
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_passed(&frame, MCP_COLLECTIVE_BYTES);
    expect_nothing_more();
}

/* ---- traces ---- */

static struct mcp_kernel_peer peer_at(uint32_t node, uint32_t slot)
{
    return (struct mcp_kernel_peer){
        .ip = address_of(peer_ip(node)),
        .port = htons(PORT),
        .node = (uint16_t)node,
        .slot = (uint16_t)slot,
    };
}

static struct nicbarr_choice some_choice(uint64_t *random)
{
    switch (crew_below(random, 3)) {
    case 0:
        return (struct nicbarr_choice){NICBARR_DISSEMINATION, 1 + crew_below(random, 3), 0};
    case 1:
        return (struct nicbarr_choice){NICBARR_PAIRWISE, 0, 0};
    default:
        return (struct nicbarr_choice){NICBARR_TREE, 2 + crew_below(random, 3), 0};
    }
}

/* A rank's part of some algorithm; `carries`: with data. */
static void plan_schedule(struct mcp_kernel_plan *plan, bool carries, uint64_t *random)
{
    const struct nicbarr_among asked = {some_choice(random),
                                        2 + crew_below(random, MOST_NODES - 1)};
    const uint32_t node = crew_below(random, asked.size);
    struct mcp_peer peers[MCP_KERNEL_PEERS];
    struct myr_schedule schedule;
    assert_true(nicbarr_schedule_of(&asked, node, &schedule));
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    memset(plan, 0, sizeof(*plan));
    plan->node = node;
    plan->nsteps = lengths.steps;
    plan->nsends = lengths.sends;
    plan->nwaits = lengths.waits;
    struct myr_nic_data data = {.unit_most = 0};
    if (carries) {
        assert_true(
            myr_carry_plan(asked.size, node, nicbarr_schedule_of, &asked, false, &data.carry));
        plan->places = data.carry.places;
        plan->unit_most =
            myr_nic_data_fit(&data.carry, 16 + crew_below(random, 4096), MCP_KERNEL_BUFFER);
    }
    assert_true(myr_fill_tables(&schedule, node, nicbarr_schedule_of, &asked,
                                carries ? &data : NULL, NULL, plan->steps, peers));
    myr_carry_free(&data.carry);
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        plan->peers[p] = peer_at(peers[p].node, peers[p].slot);
        plan->peers[p].blocks = peers[p].blocks;
        plan->peers[p].at = peers[p].at;
    }
    nicbarr_schedule_destroy(&schedule);
}

/* A node's part of a group that broadcasts blocks of up to so many bytes. */
static void plan_broadcasts(struct mcp_kernel_plan *plan, const struct nicbarr_among *asked,
                            uint32_t node, uint32_t bytes)
{
    struct myr_nic_bcast bcast = {.slots = NULL};
    struct mcp_peer peers[MCP_KERNEL_PEERS];
    struct myr_schedule schedule;
    memset(plan, 0, sizeof(*plan));
    plan->nodes = asked->size;
    plan->node = node;
    assert_true(nicbarr_schedule_of(asked, node, &schedule));
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    plan->nsteps = lengths.steps;
    plan->nsends = lengths.sends;
    plan->nwaits = lengths.waits;
    plan->slot_bytes = mcp_bcast_slot_bytes(bytes);
    plan->window = mcp_bcast_window(plan->slot_bytes);
    assert_true(myr_spread_plan(&schedule, asked->size, node, &bcast.spread));
    assert_true(myr_fill_tables(&schedule, node, nicbarr_schedule_of, asked, NULL, &bcast,
                                plan->steps, peers));
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        plan->peers[p] = peer_at(peers[p].node, peers[p].slot);
        plan->peers[p].at = peers[p].at;
    }
    myr_spread_free(&bcast.spread);
    nicbarr_schedule_destroy(&schedule);
}

/* Reaches that no algorithm makes. */
static void broadcast_anything(struct mcp_kernel_plan *plan, uint64_t *random)
{
    plan->window = UINT32_C(8) << crew_below(random, 4);
    const uint32_t room = MCP_BCAST_BYTES / plan->window - (uint32_t)sizeof(struct mcp_bcast_slot);
    const uint32_t most = room < MCP_PAYLOAD_MOST ? room : MCP_PAYLOAD_MOST;
    plan->slot_bytes =
        mcp_bcast_slot_bytes(MCP_BLOCK_UNIT * (1 + crew_below(random, most / MCP_BLOCK_UNIT)));
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        plan->peers[p].at = (uint16_t)crew_below(random, MOST_NODES + 1);
    }
}

static struct mcp_kernel_peer some_peer(uint64_t *random)
{
    const uint32_t node = crew_below(random, MOST_NODES);
    return peer_at(node, crew_below(random, 65535));
}

/* Blocks and places that no algorithm makes, as many as packets and buffer have room for. */
static void carry_anything(struct mcp_kernel_plan *plan, uint64_t *random)
{
    plan->unit_most = MCP_BLOCK_UNIT * (1 + crew_below(random, MCP_PAYLOAD_MOST / MCP_BLOCK_UNIT));
    plan->places = 1 + crew_below(random, MCP_KERNEL_BUFFER / plan->unit_most);
    const uint32_t most = MCP_PAYLOAD_MOST / plan->unit_most;
    for (uint32_t p = 0; p < plan->nsends + plan->nwaits; ++p) {
        const uint32_t blocks = crew_below(random, (most < plan->places ? most : plan->places) + 1);
        plan->peers[p].blocks = (uint16_t)blocks;
        plan->peers[p].at = (uint16_t)crew_below(random, plan->places - blocks + 1);
    }
}

/* Tables that no algorithm makes, up to the greatest that there is room for. */
static void plan_anything(struct mcp_kernel_plan *plan, bool greatest, uint64_t *random)
{
    memset(plan, 0, sizeof(*plan));
    plan->node = crew_below(random, MOST_NODES);
    plan->nsteps = greatest ? MCP_KERNEL_STEPS : 1 + crew_below(random, MCP_KERNEL_STEPS);
    plan->nsends = greatest ? MCP_KERNEL_MESSAGES : 1 + crew_below(random, MCP_KERNEL_MESSAGES);
    plan->nwaits = greatest ? MCP_KERNEL_MESSAGES : 1 + crew_below(random, MCP_KERNEL_MESSAGES);
    for (uint32_t i = 0; i < plan->nsends; ++i) {
        ++plan->steps[crew_below(random, plan->nsteps)].sends;
    }
    for (uint32_t i = 0; i < plan->nwaits; ++i) {
        ++plan->steps[crew_below(random, plan->nsteps)].waits;
    }
    for (uint32_t i = 0; i < plan->nsends + plan->nwaits; ++i) {
        plan->peers[i] = some_peer(random);
    }
}

static struct pair pair;

static void traces_of_schedules(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (uint32_t t = 0; t < TRACES; ++t) {
        plan_schedule(&pair.plan, 0 != t % 2, &random);
        play_trace(&pair, EVENTS, &random);
    }
}

static void traces_of_broadcasts(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 16;
    for (uint32_t t = 0; t < TRACES / 2; ++t) {
        const struct nicbarr_among asked = {{NICBARR_DISSEMINATION, 1 + crew_below(&random, 3), 0},
                                            2 + crew_below(&random, MOST_NODES - 1)};
        plan_broadcasts(&pair.plan, &asked, crew_below(&random, asked.size),
                        MCP_BLOCK_UNIT + some_bytes(&random) % MCP_PAYLOAD_MOST);
        play_trace(&pair, 4 * EVENTS, &random);
    }
}

static void traces_of_any_tables(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 1;
    for (uint32_t t = 0; t < TRACES / 3; ++t) {
        plan_anything(&pair.plan, 0 == t % 2, &random);
        if (1 == t / 2 % 3) {
            carry_anything(&pair.plan, &random);
        } else if (2 == t / 2 % 3) {
            broadcast_anything(&pair.plan, &random);
        }
        play_trace(&pair, 4 * EVENTS, &random);
    }
}

/* All that there is room for, in the first step or the last one: peers are those of the plan. */
static void plan_greatest(struct mcp_kernel_plan *plan, bool waits_first, uint64_t *random)
{
    plan_anything(plan, true, random);
    memset(plan->steps, 0, sizeof(plan->steps));
    plan->steps[waits_first ? MCP_KERNEL_STEPS - 1 : 0].sends = MCP_KERNEL_MESSAGES;
    plan->steps[waits_first ? 0 : MCP_KERNEL_STEPS - 1].waits = MCP_KERNEL_MESSAGES;
}

/* As much as can come of one event. Everything is asked for. Two epochs are done at once, as the
 * second one's messages stand for the first one's. */
static void all_at_once(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 4;
    for (int waits_first = 0; waits_first < 2; ++waits_first) {
        plan_greatest(&pair.plan, waits_first, &random);
        open_pair(&pair, geteuid(), &random);
        mcp_group_start(pair.group, 2);
        play_here(&pair);
        ring(pair.bell, pair.key, MCP_RING_START, 1);
        ring(pair.bell, pair.key, MCP_RING_START, 2);
        expect_same(&pair);
        ask_here(&pair);
        assert_int_equal(nsent, MCP_KERNEL_MESSAGES);
        ring(pair.bell, pair.key, MCP_RING_ASK, 2);
        expect_same(&pair);
        for (uint32_t w = MCP_KERNEL_MESSAGES; w-- > 0;) {
            const uint64_t before = count.packets_sent;
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, w, 0), &random);
            assert_int_equal(count.packets_sent - before,
                             w > 0 ? 0 : MCP_KERNEL_MESSAGES * (waits_first ? 2 : 1));
        }
        assert_int_equal(done(&pair), 2);
        expect_nothing_more();
        close_pair(&pair);
    }
}

/* ---- a small group, to be tried at ---- */

/* One step, with one message each way; the peer is node 1. */
static void plan_small(struct mcp_kernel_plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    plan->nsteps = plan->nsends = plan->nwaits = 1;
    plan->steps[0] = (struct mcp_step){1, 1};
    plan->peers[0] = peer_at(1, 0);
    plan->peers[1] = plan->peers[0];
}

static void open_small(uint32_t uid)
{
    uint64_t random = crew_seed() + 2;
    plan_small(&pair.plan);
    open_pair(&pair, uid, &random);
}

/* The same with data: each node has a block of so many bytes. */
static void open_small_with_data(uint32_t bytes)
{
    uint64_t random = crew_seed() + 13;
    plan_small(&pair.plan);
    pair.plan.places = 2;
    pair.plan.unit_most = bytes;
    pair.plan.peers[0].blocks = pair.plan.peers[1].blocks = pair.plan.peers[1].at = 1;
    open_pair(&pair, geteuid(), &random);
}

/* The same with broadcasts of so many bytes. */
static void open_small_with_window(uint32_t bytes)
{
    uint64_t random = crew_seed() + 17;
    plan_small(&pair.plan);
    pair.plan.nodes = 2;
    pair.plan.slot_bytes = mcp_bcast_slot_bytes(bytes);
    pair.plan.window = mcp_bcast_window(pair.plan.slot_bytes);
    pair.plan.peers[0].at = pair.plan.peers[1].at = 1;
    open_pair(&pair, geteuid(), &random);
}

/* Node 1 of it has sent this block. */
static struct mcp_header make_block(uint32_t number, uint32_t bytes, uint64_t *random)
{
    struct mcp_header header = make_header(&pair, MCP_BCAST, number, 1, 1);
    fill_carried(bytes, random);
    mcp_seal(&header, &pair.plan.secret, carried, bytes);
    return header;
}

/* And nothing has happened to it. */
static void expect_untouched(void)
{
    expect_same(&pair);
    expect_nothing_more();
}

static void frames_for_others(void **state)
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

static void foreign_packets(void **state)
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
    frame.ip.protocol = IPPROTO_UDPLITE; /* the taps do not show it, but it would be counted */
    inject(&frame, MCP_COLLECTIVE_BYTES);
    expect_untouched();
    close_pair(&pair);
}

/* ---- what only looks right ---- */

/* The fields of a frame that some packets have otherwise; numbers as they are on the wire. */
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

/* All NICs have the same port, and no user of their hosts can have it. */
static void from_another_port(struct frame *frame)
{
    frame->udp.source = htons(OTHER_PORT);
}

/* The system would take it. But none of ours has a checksum. */
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

/* Over IPv6 the system does not take it so, and ours have one. */
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

/* A good packet is taken, at last. All that differ from it in one thing are handed on as they are,
 * and are not even counted. */
static void packets_that_only_look_right(void **state)
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

/* A VLAN is another network, even if it has the same addresses. (The system takes the tag off
 * before anybody sees the packet.) */
static void packets_of_vlans(void **state)
{
    (void)state;
    enum { TAG = 4, BEFORE_TAG = 2 * ETH_ALEN };
    static const uint16_t tags[] = {5, 4094, 0x6000 /* a priority, and no VLAN */};
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
    const struct mcp_address peer = place_of(peer_ip(1), port);
    assert_int_equal(
        sendto(from, payload, MCP_COLLECTIVE_BYTES, 0, &peer.at.any, mcp_address_bytes(&peer)),
        MCP_COLLECTIVE_BYTES);
}

/* A process with the NIC's port sends what looks like a NIC's; without that port, it may. */
static void forged_packets(void **state)
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

/* What looks like a doorbell, key and all, is none if it goes elsewhere than to a NIC's port. */
static void doorbells_to_other_ports(void **state)
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

/* Nor is it one if it has a checksum: it could not become one of ours. */
static void doorbells_with_checksums(void **state)
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

/* This host forwards whatever looks like a doorbell or like a NIC's packet, from another network.
 */
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

static void forwarded_packets(void **state)
{
    (void)state;
    enum { NOBODY = 65534 }; /* who packets without a socket are said to come from */
    open_small(NOBODY);
    const struct mcp_doorbell doorbell = make_doorbell(pair.key, MCP_RING_START, 1);
    const struct mcp_doorbell unknown = make_doorbell(pair.key + 2, MCP_RING_START, 1);
    const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 0);
    forward(&doorbell);
    forward(&unknown);
    forward(&header);
    close_pair(&pair);
}

/* ---- users ---- */

struct bell_of {
    uint32_t uid;
    uint8_t ring;
};

static void ring_as(uint32_t rank, void *context)
{
    const struct bell_of *of = context;
    (void)rank;
    CREW_CHECK(0 == setresuid(of->uid, of->uid, of->uid), "%s", strerror(errno));
    ring(make_socket(0, peer_ip(1), PORT), pair.key, of->ring, 1);
}

static void have_rung(uint32_t uid, uint8_t what)
{
    struct bell_of of = {uid, what};
    assert_true(crew_join(crew_fork(ring_as, 0, &of)));
}

static void doorbells_of_others(void **state)
{
    (void)state;
    open_small(GROUP_USER);
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        const struct mcp_doorbell doorbell = make_doorbell(pair.key, what, 1);
        have_rung(OTHER_USER, what);
        expect_left(&doorbell, sizeof(doorbell));
        expect_untouched();
    }
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    have_rung(GROUP_USER, MCP_RING_START);
    expect_same(&pair);
    ask_here(&pair);
    ring(pair.bell, pair.key, MCP_RING_ASK, 1); /* the owner's */
    expect_untouched();
    ask_here(&pair);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_ASK), 0);
    expect_untouched();
    close_pair(&pair);
}

static void start_epoch(uint32_t epoch)
{
    mcp_group_start(pair.group, epoch);
    play_here(&pair);
    ring(pair.bell, pair.key, MCP_RING_START, epoch);
    expect_same(&pair);
}

/* Peers that are further on than the host: each doorbell brings it one epoch further, whichever it
 * names, and so many and no more before one is done. */
static void a_doorbell_for_each_epoch(void **state)
{
    (void)state;
    enum { MORE = 10 };
    uint64_t random = crew_seed() + 12;
    open_small(geteuid());
    for (uint32_t r = 1; r <= MCP_OUTSTANDING + MORE; ++r) {
        ring(pair.bell, pair.key, MCP_RING_START, INT32_MAX);
        mcp_group_start(pair.group, r);
    }
    play_here(&pair);
    expect_same(&pair);
    for (uint32_t epoch = 1; epoch <= MCP_OUTSTANDING; ++epoch) {
        event_packet(&pair, make_header(&pair, MCP_ARRIVE, epoch, 0, 1), &random);
    }
    assert_int_equal(done(&pair), MCP_OUTSTANDING);
    assert_false(mcp_group_waits_now(pair.group));
    expect_untouched();
    close_pair(&pair);
}

/* With a group's key, and a checksum of UDP's that is wrong, whatever it carries: it is not taken,
 * and the system would not take it either. */
static void wrong_checks(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 23;
    open_small_with_data(BYTES);
    start_epoch(1);
    for (uint32_t bytes = 0; bytes <= BYTES; bytes += BYTES) {
        struct mcp_header header = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
        fill_carried(bytes, &random);
        mcp_seal(&header, &pair.plan.secret, carried, bytes);
        for (uint32_t bit = 0; bit < 16; ++bit) {
            struct frame frame;
            union on_wire on_wire;
            const size_t behind_udp = make_collective(&frame, 1, &header, bytes);
            frame.udp.check = (uint16_t)(1 << bit);
            (void)go_to_wire(&frame, behind_udp, &on_wire);
            if (0 != on_wire.of_6.udp.check) { /* that would be none */
                ++count.packets_received;
                ++count.dropped_forged;
                inject(&frame, behind_udp);
                expect_untouched();
            }
        }
    }
    close_pair(&pair);
}
/* Packets of all types that would do something, each with each bit changed, and each sealed with
 * each secret that differs in a bit. Then the packet itself does something. */
static void only_members_are_believed(void **state)
{
    (void)state;
    for (uint8_t type = MCP_ARRIVE; type <= MCP_FAIL; ++type) {
        open_small(geteuid());
        start_epoch(1);
        const struct mcp_header good = make_header(&pair, type, 1, 0, 1);
        for (uint32_t bit = 0; bit < 8 * MCP_COLLECTIVE_BYTES; ++bit) {
            struct mcp_header changed = good;
            flip(&changed, bit);
            inject_strange(&pair, 1, &changed, 0);
        }
        for (uint32_t bit = 0; bit < 128; ++bit) {
            struct mcp_header forged = good;
            struct mcp_secret other = pair.plan.secret;
            flip(&other, bit);
            mcp_seal(&forged, &other, NULL, 0);
            inject_strange(&pair, 1, &forged, 0);
        }
        if (MCP_FAIL != type) {
            receive_here(&pair, &good);
            inject_collective(1, &good);
            expect_same(&pair);
        }
        close_pair(&pair);
        expect_nothing_more();
    }
}

/* The same for what a packet carries, the longest and a short one: each bit of it, and of the rest.
 */
static void only_members_data_are_believed(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 12;
    for (uint32_t bytes = 16; bytes <= MCP_PAYLOAD_MOST; bytes += MCP_PAYLOAD_MOST - 16) {
        open_small_with_data(bytes);
        start_epoch(1);
        struct mcp_header good = make_header(&pair, MCP_ARRIVE, 1, 0, 1);
        fill_carried(bytes, &random);
        mcp_seal(&good, &pair.plan.secret, carried, bytes);
        for (uint32_t bit = 0; bit < 8 * MCP_COLLECTIVE_BYTES; ++bit) {
            struct mcp_header changed = good;
            flip(&changed, bit);
            inject_strange(&pair, 1, &changed, bytes);
        }
        for (uint32_t bit = 0; bit < 8 * bytes; bit += 1 + crew_below(&random, bytes / 16)) {
            flip(carried, bit);
            inject_strange(&pair, 1, &good, bytes);
            flip(carried, bit);
        }
        event_packet(&pair, good, &random);
        assert_int_equal(done(&pair), 1);
        assert_memory_equal((uint8_t *)pair.buffer->word[1] + bytes, carried, bytes);
        close_pair(&pair);
        expect_nothing_more();
    }
}

/* The same for a broadcast: its block, or that it is missing, or still to come. */
static void only_members_broadcasts_are_believed(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 18;
    for (uint8_t type = MCP_BCAST; type <= MCP_BCAST_LATER; ++type) {
        open_small_with_window(BYTES);
        const uint32_t bytes = MCP_BCAST == type ? BYTES : 0;
        struct mcp_header good = make_block(1, BYTES, &random);
        good.type = type;
        mcp_seal(&good, &pair.plan.secret, carried, bytes);
        for (uint32_t bit = 0; bit < 8 * MCP_COLLECTIVE_BYTES; ++bit) {
            struct mcp_header changed = good;
            flip(&changed, bit);
            inject_strange(&pair, 1, &changed, bytes);
        }
        for (uint32_t bit = 0; bit < 8 * bytes; ++bit) {
            flip(carried, bit);
            inject_strange(&pair, 1, &good, bytes);
            flip(carried, bit);
        }
        for (uint32_t bit = 0; bit < 128; ++bit) {
            struct mcp_header forged = good;
            struct mcp_secret other = pair.plan.secret;
            flip(&other, bit);
            mcp_seal(&forged, &other, carried, bytes);
            inject_strange(&pair, 1, &forged, bytes);
        }
        assert_int_equal(slot_in(&pair, pair.buffer, 1)->number, 0);
        event_packet(&pair, good, &random);
        assert_int_equal(slot_in(&pair, pair.buffer, 1)->number, MCP_BCAST == type);
        close_pair(&pair);
        expect_nothing_more();
    }
}

/* A block of each length, in the last slot: it comes whole, and nothing behind it is written. (One
 * of 1008 bytes ends where the buffer does.) */
static void blocks_of_each_length(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 22;
    for (uint32_t bytes = MCP_BLOCK_UNIT; bytes <= MCP_PAYLOAD_MOST; bytes += MCP_BLOCK_UNIT) {
        open_small_with_window(bytes);
        const uint32_t last = pair.plan.window - 1;
        event_packet(&pair, make_block(last, bytes, &random), &random);
        assert_int_equal(slot_in(&pair, pair.buffer, last)->number, last);
        event_packet(&pair, make_block(last - 1, bytes, &random), &random);
        assert_int_equal(slot_in(&pair, pair.buffer, last - 1)->number, last - 1);
        close_pair(&pair);
    }
    expect_nothing_more();
}

/* Nobody broadcasts in a group without a window, whatever else it has. And a root that is no node
 * of the group could make a circle of parents: nobody asks for its blocks, or answers. */
static void broadcasts_of_nobody(void **state)
{
    (void)state;
    enum { NODES = 5, BYTES = 16 };
    const struct nicbarr_among asked = {{NICBARR_DISSEMINATION, 1, 0}, NODES};
    const uint64_t before = count.packets_sent;
    uint64_t random = crew_seed() + 19;
    open_small_with_data(BYTES);
    for (uint8_t type = MCP_BCAST; type <= MCP_BCAST_LATER; ++type) {
        struct mcp_header header = make_block(1, BYTES, &random);
        header.type = type;
        mcp_seal(&header, &pair.plan.secret, carried, MCP_BCAST == type ? BYTES : 0);
        event_packet(&pair, header, &random);
    }
    ring_with(pair.bell, pair.key, MCP_RING_BCAST, 1, BYTES);
    ring(pair.bell, pair.key, MCP_RING_BCAST_ASK, 1);
    expect_same(&pair);
    close_pair(&pair);
    for (uint32_t node = 0; node < NODES; ++node) {
        plan_broadcasts(&pair.plan, &asked, node, BYTES);
        open_pair(&pair, geteuid(), &random);
        for (uint32_t root = NODES; root < 3 * NODES; ++root) {
            struct mcp_doorbell bell = make_doorbell(pair.key, MCP_RING_BCAST_ASK, 1);
            bell.root = root;
            assert_int_equal(send(pair.bell, &bell, sizeof(bell), 0), sizeof(bell));
            expect_same(&pair);
            for (uint32_t p = 0; p < pair.plan.nsends + pair.plan.nwaits; ++p) {
                const uint32_t peer = pair.plan.peers[p].node;
                event_packet(&pair, make_header(&pair, MCP_BCAST_ASK, 1, root, peer), &random);
                event_packet(&pair, make_header(&pair, MCP_BCAST_LATER, 1, root, peer), &random);
            }
        }
        close_pair(&pair);
    }
    assert_int_equal(count.packets_sent, before);
    expect_nothing_more();
}

/* Its hosts have left: it plays one more epoch without data. Whoever misses data gets them
 * meanwhile, and whoever says that the group has failed is not heard. */
static void farewells(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 15;
    uint32_t epoch = 0;
    open_small_with_data(BYTES);
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch)); /* nobody can miss any */
    fill_carried(BYTES, &random);
    assert_true(mcp_group_offer(pair.group, 1, BYTES));
    memcpy(mcp_group_buffer(pair.group, 1), carried, BYTES);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    ring_with(pair.bell, pair.key, MCP_RING_START, 1, BYTES);
    expect_same(&pair);
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch)); /* it waits */
    event_packet(&pair, missing_arrival(&pair, &random), &random);
    assert_true(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
    assert_int_equal(epoch, 2);
    assert_true(mcp_group_offer(pair.group, 2, 0));
    mcp_group_start(pair.group, 2);
    play_here(&pair);
    expect_same(&pair);
    const struct mcp_header fails = make_header(&pair, MCP_FAIL, 2, 0, 1);
    ++count.packets_received;
    ++count.duplicates;
    inject_collective(1, &fails);
    expect_same(&pair);
    event_packet(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
    assert_int_equal(done(&pair), 2);
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
    expect_untouched();
    close_pair(&pair);
}

/* The same where it broadcasts, whether an epoch is under way or not: whoever misses a block gets
 * it meanwhile. */
static void farewells_of_broadcasts(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 20;
    for (uint32_t waits = 0; waits < 2; ++waits) {
        uint32_t epoch = 0;
        open_small_with_window(BYTES);
        fill_carried(BYTES, &random);
        assert_int_equal(take_block_here(&pair, 0, 1, BYTES), MCP_RECORDED);
        ring_with(pair.bell, pair.key, MCP_RING_BCAST, 1, BYTES);
        expect_same(&pair);
        for (uint32_t e = 1; e <= waits; ++e) {
            start_epoch(e);
        }
        assert_true(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
        assert_int_equal(epoch, waits + 1);
        mcp_group_start(pair.group, waits + 1);
        play_here(&pair);
        expect_same(&pair);
        assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAREWELL), 0);
        expect_same(&pair); /* once more, it is the same epoch */
        ++count.packets_received;
        ++count.duplicates;
        const struct mcp_header fails = make_header(&pair, MCP_FAIL, 1, 0, 1);
        inject_collective(1, &fails);
        expect_same(&pair);
        const uint64_t answered = count.answered;
        event_packet(&pair, make_header(&pair, MCP_BCAST_ASK, 1, 0, 1), &random);
        assert_int_equal(count.answered, answered + 1);
        for (uint32_t e = 1; e <= epoch; ++e) {
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, e, 0, 1), &random);
        }
        assert_int_equal(done(&pair), epoch);
        expect_untouched();
        close_pair(&pair);
    }
}

/* Of a closed group a stranger hears nothing. */
static void closed_groups_answer_members_only(void **state)
{
    (void)state;
    open_small(geteuid());
    close_pair(&pair);
    for (uint32_t bit = 0; bit < 128; ++bit) {
        struct mcp_header forged = make_header(&pair, MCP_ASK, 0, 0, 1);
        struct mcp_secret other = pair.plan.secret;
        flip(&other, bit);
        mcp_seal(&forged, &other, NULL, 0);
        ++count.packets_received;
        ++count.dropped_forged;
        inject_collective(1, &forged);
    }
    expect_nothing_more();
}

/* ---- who sleeps ---- */

/* A socket of somebody's at a port of ours that another socket may have as well. */
static int share_port(uint16_t port)
{
    const int one = 1;
    const struct mcp_address own = place_of(ip_of(OWN), port);
    const int made = socket(FAMILY, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
    assert_true(mcp_bell_is_bare(made, FAMILY));
    assert_int_equal(bind(made, &own.at.any, mcp_address_bytes(&own)), 0);
    return made;
}

static void connect_to(int made, uint32_t ip)
{
    const struct mcp_address peer = place_of(ip, PORT);
    assert_int_equal(connect(made, &peer.at.any, mcp_address_bytes(&peer)), 0);
}

/* Who rang has gone, and somebody else has its port: by chance, or as both share it. Nobody hears
 * of the epoch, whatever address was rung at. Once that socket has rung as well, it is woken. */
static void only_who_rang_is_woken(void **state)
{
    (void)state;
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

/* Nor is it somebody who sleeps for another group, at the port of one that has gone. */
static void who_sleeps_for_another_group_sleeps_on(void **state)
{
    (void)state;
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

/* The group fails there and here, for want of this node: all peers are told, whoever sleeps is
 * woken, and nothing goes on. */
static void expect_failure(uint32_t missing)
{
    assert_int_equal(mcp_group_fail(pair.group, missing), MCP_RECORDED);
    ++count.failed;
    for (uint32_t p = 0; p < pair.plan.nsends + pair.plan.nwaits; ++p) {
        struct mcp_message message;
        mcp_group_failure(pair.group, p, &message);
        send_one(&pair, &message);
    }
    expect_sent();
    while (missing + 1 != myr_observe(&pair.line->failed)) {
        assert_int_equal(pair.line->failed, 0);
        sched_yield();
    }
    assert_int_equal(mcp_kernel_group_failed(kernel, pair.key), missing + 1);
    assert_int_equal(myr_observe(&pair.line->done), 0);
    expect_woken(&pair, true);
    expect_nothing_more();
}

static void failing(void **state)
{
    (void)state;
    open_small(GROUP_USER);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key + 2, MCP_RING_FAIL), -1);
    expect_untouched();
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_failure(pair.plan.node); /* somebody has died here */
    have_rung(GROUP_USER, MCP_RING_FAIL);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_nothing_more(); /* once is enough */
    assert_int_equal(pair.line->failed, pair.plan.node + 1);
    close_pair(&pair);
}

/* Its user gives it up, in the middle of an epoch. */
static void failing_on_purpose(void **state)
{
    (void)state;
    open_small(GROUP_USER);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    have_rung(GROUP_USER, MCP_RING_START);
    expect_same(&pair);
    have_rung(GROUP_USER, MCP_RING_FAIL); /* node 1 */
    expect_failure(1);
    close_pair(&pair);
}

/* A peer says so. Whoever sleeps is woken, and peers who ask later hear it, too. */
static void failing_elsewhere(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 10;
    struct mcp_header failure;
    open_small(geteuid());
    start_epoch(1);
    pair.sleeps = true;
    ring(pair.bell, pair.key, MCP_RING_SLEEP, 1);
    failure = make_header(&pair, MCP_FAIL, 1, 0, MOST_NODES); /* which does not exist */
    ++count.packets_received;
    ++count.dropped_implausible;
    inject_collective(1, &failure);
    expect_untouched();
    assert_int_equal(myr_observe(&pair.page->failed), 0);
    failure = make_header(&pair, MCP_FAIL, 1, 0, 7);
    ++count.packets_received;
    inject_collective(1, &failure);
    expect_failure(7);
    ++count.packets_received;
    ++count.duplicates;
    inject_collective(1, &failure); /* once is enough */
    expect_nothing_more();
    mcp_group_start(pair.group, 2); /* in vain */
    ring(pair.bell, pair.key, MCP_RING_START, 2);
    expect_nothing_more();
    assert_int_equal(myr_observe(&pair.line->done), 0);
    close_pair(&pair);
    event_late(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    event_late(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
}

/* Whoever is asked and has not come says so, and when that was is known. */
static void who_is_missing(void **state)
{
    (void)state;
    struct mcp_missing missing[MCP_KERNEL_MESSAGES];
    uint64_t random = crew_seed() + 9;
    open_small(geteuid());
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 0);
    start_epoch(1);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 1);
    assert_int_equal(missing[0].node, 1);
    assert_int_equal(missing[0].heard_ms, 0);
    event_packet(&pair, make_header(&pair, MCP_LATER, 1, 0, 1), &random);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 1);
    assert_int_not_equal(missing[0].heard_ms, 0);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key, missing), 0);
    assert_int_equal(mcp_kernel_group_missing(kernel, pair.key + 2, missing), 0);
    close_pair(&pair);
}

/* ---- two processors ---- */

/* A descriptor of this process that is the NIC's program, or its map, of this name; else -1. */
static int find_program(const char *name)
{
    for (int fd = 3; fd < sysconf(_SC_OPEN_MAX); ++fd) {
        struct bpf_prog_info about = {.type = 0};
        uint32_t bytes = sizeof(about);
        if (0 == bpf_obj_get_info_by_fd(fd, &about, &bytes) && 0 == strcmp(name, about.name)) {
            return fd;
        }
    }
    return -1;
}

static int find_map(const char *name)
{
    for (int fd = 3; fd < sysconf(_SC_OPEN_MAX); ++fd) {
        struct bpf_map_info about = {.type = 0};
        uint32_t bytes = sizeof(about);
        if (0 == bpf_obj_get_info_by_fd(fd, &about, &bytes) && 0 == strcmp(name, about.name)) {
            return fd;
        }
    }
    return -1;
}

/* Have the program take in this frame, on this processor, now. */
static void receive_now(int program, struct frame *frame, size_t payload_bytes)
{
    union on_wire on_wire;
    struct __sk_buff packet = {.ifindex = if_nametoindex("nicbarr0")};
    struct bpf_test_run_opts run = {
        .sz = sizeof(run),
        .data_in = &on_wire,
        .data_size_in = (uint32_t)go_to_wire(frame, payload_bytes, &on_wire),
        .ctx_in = &packet,
        .ctx_size_in = sizeof(packet),
    };
    assert_int_equal(bpf_prog_test_run_opts(program, &run), 0);
}

/* Two threads, each with a processor of its own where there are two, meet before each round. */
static struct {
    int program;
    uint32_t rounds;
    _Atomic uint32_t met;
} race;

static void meet_other(uint32_t meetings)
{
    atomic_fetch_add(&race.met, 1);
    for (uint32_t looks = 1; atomic_load(&race.met) < 2 * meetings; ++looks) {
        if (0 == looks % 1024) {
            sched_yield();
        }
    }
}

/* In each round two epochs are under way. One thread brings what completes the first of them, the
 * other what completes the second. Both come before all others of their processors: else a busy
 * machine would have them wait for each other most of the time. */
static void *race_on(void *second)
{
    const uint32_t one = NULL != second;
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(one, &processor);
    (void)sched_setaffinity(0, sizeof(processor), &processor);
    (void)setpriority(PRIO_PROCESS, 0, -20);
    for (uint32_t r = 0; r < race.rounds; ++r) {
        struct frame frame;
        const struct mcp_header header = make_header(&pair, MCP_ARRIVE, 2 * r + 1 + one, 0, 1);
        make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
        seal_ip(&frame);
        if (0 == one) {
            ring(pair.bell, pair.key, MCP_RING_START, 2 * r + 1);
            ring(pair.bell, pair.key, MCP_RING_START, 2 * r + 2);
        }
        meet_other(2 * r + 1);
        receive_now(race.program, &frame, MCP_COLLECTIVE_BYTES);
        meet_other(2 * r + 2);
        if (2 * r + 2 != myr_observe(&pair.line->done)) {
            return (void *)(uintptr_t)(r + 1);
        }
    }
    return NULL;
}

/* NICBARR_RACES in the environment says how many rounds: 10,000 take a second or two. (A page that
 * was written without a lock was wrong after some 10,000; tests/litmus/release.pml finds that each
 * time.) */
static void the_last_release_stays(void **state)
{
    (void)state;
    const char *rounds = getenv("NICBARR_RACES");
    pthread_t racers[2];
    uint32_t round = 0;
    open_small(geteuid());
    race.program = find_program("mcp_receive");
    race.rounds = NULL == rounds ? 10000 : (uint32_t)strtoul(rounds, NULL, 10);
    atomic_store(&race.met, 0);
    if (NULL != rounds) {
        (void)alarm(0); /* the watchdog's: as long as it takes */
    }
    for (int r = 0; r < 2; ++r) {
        assert_int_equal(pthread_create(&racers[r], NULL, race_on, 0 == r ? NULL : &race), 0);
    }
    for (int r = 0; r < 2; ++r) {
        void *lost;
        pthread_join(racers[r], &lost);
        round = NULL == lost ? round : (uint32_t)(uintptr_t)lost;
    }
    const uint32_t said = myr_observe(&pair.line->done);
    close_pair(&pair);
    drain(wire);
    mcp_kernel_count(kernel, &count);
    if (0 != round) {
        fail_msg("round %u: epoch %u is done, the page says %u", round, 2 * round, said);
    }
}

/* What two processors have a message carry is not the same, so that it shows whose it is. */
enum { RACED = 608, RACES = 3000 };

static void make_raced(struct frame *frame, size_t *bytes, uint32_t epoch, uint32_t slot,
                       uint32_t one)
{
    uint64_t packet[(MCP_COLLECTIVE_BYTES + RACED) / 8];
    struct mcp_header header = make_header(&pair, MCP_ARRIVE, epoch, slot, 1 + slot);
    for (uint32_t w = 0; w < RACED / 8; ++w) {
        packet[MCP_COLLECTIVE_BYTES / 8 + w] = (uint64_t)epoch << 32 | slot << 8 | one;
    }
    mcp_seal(&header, &pair.plan.secret, &packet[MCP_COLLECTIVE_BYTES / 8], RACED);
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(frame, 1, PORT, packet, sizeof(packet));
    seal_ip(frame);
    *bytes = sizeof(packet);
}

/* Each node's block is of this epoch, and one message's from beginning to end. */
static bool is_whole(uint32_t epoch)
{
    for (uint32_t slot = 0; slot < 2; ++slot) {
        const uint64_t *block = &pair.buffer->word[epoch % 2][(1 + slot) * (RACED / 8)];
        const uint64_t first = block[0] & ~UINT64_C(1);
        for (uint32_t w = 0; w < RACED / 8; ++w) {
            if (block[w] != block[0]) {
                return false;
            }
        }
        if (((uint64_t)epoch << 32 | slot << 8) != first) {
            return false;
        }
    }
    return true;
}

static void *race_with_data(void *second)
{
    const uint32_t one = NULL != second;
    uint32_t torn = 0; /* the last such epoch */
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(one, &processor);
    (void)sched_setaffinity(0, sizeof(processor), &processor);
    for (uint32_t epoch = 1; epoch <= RACES; ++epoch) {
        struct frame frame;
        size_t bytes;
        if (0 == one) {
            ring_with(pair.bell, pair.key, MCP_RING_START, epoch, RACED);
        }
        meet_other(2 * epoch - 1);
        for (uint32_t i = 0; i < 2; ++i) { /* the one this way round, the other that way */
            make_raced(&frame, &bytes, epoch, i ^ one, one);
            receive_now(race.program, &frame, bytes);
            if (epoch == myr_observe(&pair.line->done) && !is_whole(epoch)) {
                torn = epoch;
            }
        }
        meet_other(2 * epoch);
        torn = epoch != myr_observe(&pair.line->done) ? epoch : torn;
    }
    return (void *)(uintptr_t)torn;
}

/* Two processors get the same messages at the same time. What hosts see of a complete epoch is what
 * one of them got. */
static void data_are_whole(void **state)
{
    (void)state;
    pthread_t racers[2];
    uint64_t random = crew_seed() + 14;
    plan_small(&pair.plan);
    pair.plan.nwaits = 2;
    pair.plan.steps[0].waits = 2;
    pair.plan.places = 3;
    pair.plan.unit_most = RACED;
    for (uint32_t p = 0; p < 3; ++p) {
        pair.plan.peers[p] = peer_at(1 + p / 2, 0);
        pair.plan.peers[p].blocks = 1;
        pair.plan.peers[p].at = (uint16_t)p;
    }
    open_pair(&pair, geteuid(), &random);
    race.program = find_program("mcp_receive");
    atomic_store(&race.met, 0);
    for (int r = 0; r < 2; ++r) {
        assert_int_equal(pthread_create(&racers[r], NULL, race_with_data, 0 == r ? NULL : &race),
                         0);
    }
    uint32_t torn = 0;
    for (int r = 0; r < 2; ++r) {
        void *result;
        pthread_join(racers[r], &result);
        torn = NULL == result ? torn : (uint32_t)(uintptr_t)result;
    }
    close_pair(&pair);
    skip_sent();
    if (0 != torn) {
        fail_msg("epoch %u is torn, or not complete", torn);
    }
}

/* A broadcast's block as one of two processors gets it. */
static void make_raced_block(struct frame *frame, size_t *bytes, uint32_t number, uint32_t one)
{
    uint64_t packet[(MCP_COLLECTIVE_BYTES + RACED) / 8];
    struct mcp_header header = make_header(&pair, MCP_BCAST, number, 1, 1);
    for (uint32_t w = 0; w < RACED / 8; ++w) {
        packet[MCP_COLLECTIVE_BYTES / 8 + w] = (uint64_t)number << 32 | one;
    }
    mcp_seal(&header, &pair.plan.secret, &packet[MCP_COLLECTIVE_BYTES / 8], RACED);
    memcpy(packet, &header, MCP_COLLECTIVE_BYTES);
    make_frame(frame, 1, PORT, packet, sizeof(packet));
    seal_ip(frame);
    *bytes = sizeof(packet);
}

/* Has it come, and is it whole? */
static bool is_whole_block(struct mcp_bcast_slot *slot, uint32_t number)
{
    const bool come = number == myr_observe(&slot->number);
    const uint64_t *block = (const uint64_t *)(slot + 1);
    for (uint32_t w = 0; w < RACED / 8; ++w) {
        if (block[w] != block[0]) {
            return false;
        }
    }
    return come && number == block[0] >> 32 && RACED == slot->bytes;
}

/* When half a window has come, the first of them brings what the next credit takes. Each second
 * time the other one looks first until the block is there, as a host does that waits. */
static void *race_with_blocks(void *second)
{
    const uint32_t one = NULL != second, half = pair.plan.window / 2;
    uint32_t torn = 0;
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(one, &processor);
    (void)sched_setaffinity(0, sizeof(processor), &processor);
    for (uint32_t number = 1; number <= RACES; ++number) {
        struct mcp_bcast_slot *slot = slot_in(&pair, pair.buffer, number);
        struct frame frame;
        size_t bytes;
        if (0 == one && number > 1 && 1 == number % half) {
            const struct mcp_header header = make_header(&pair, MCP_ARRIVE, number / half, 0, 1);
            make_frame(&frame, 1, PORT, &header, MCP_COLLECTIVE_BYTES);
            seal_ip(&frame);
            ring(pair.bell, pair.key, MCP_RING_START, number / half);
            receive_now(race.program, &frame, MCP_COLLECTIVE_BYTES);
        }
        make_raced_block(&frame, &bytes, number, one);
        meet_other(2 * number - 1);
        for (uint32_t looks = 1; one && 0 != number % 2 && number != myr_observe(&slot->number);
             ++looks) {
            if (0 == looks % 1024) {
                sched_yield();
            }
        }
        torn = one && 0 != number % 2 && !is_whole_block(slot, number) ? number : torn;
        receive_now(race.program, &frame, bytes);
        torn = is_whole_block(slot, number) ? torn : number;
        meet_other(2 * number);
    }
    return (void *)(uintptr_t)torn;
}

/* Two processors get the same broadcasts at the same time. What hosts see of one is what one of
 * them got. */
static void blocks_are_whole(void **state)
{
    (void)state;
    pthread_t racers[2];
    uint32_t torn = 0;
    open_small_with_window(RACED);
    race.program = find_program("mcp_receive");
    atomic_store(&race.met, 0);
    for (int r = 0; r < 2; ++r) {
        assert_int_equal(pthread_create(&racers[r], NULL, race_with_blocks, 0 == r ? NULL : &race),
                         0);
    }
    for (int r = 0; r < 2; ++r) {
        void *result;
        pthread_join(racers[r], &result);
        torn = NULL == result ? torn : (uint32_t)(uintptr_t)result;
    }
    close_pair(&pair);
    skip_sent();
    if (0 != torn) {
        fail_msg("broadcast %u is torn, or has not come", torn);
    }
}

/* Write an epoch into the kernel's group that the page does not know of. */
static void complete_unsaid(uint32_t epoch)
{
    const int map = find_map("groups");
    struct bpf_map_info about = {.type = 0};
    uint32_t bytes = sizeof(about);
    assert_int_equal(bpf_obj_get_info_by_fd(map, &about, &bytes), 0);
    uint8_t *group = calloc(1, about.value_size);
    assert_int_equal(bpf_map_lookup_elem(map, &pair.key, group), 0);
    memcpy(group + MCP_KERNEL_STATE, &epoch, sizeof(epoch));
    assert_int_equal(bpf_map_update_elem(map, &pair.key, group, BPF_EXIST), 0);
    free(group);
}

/* A host that waits for what is done already hears of it when it rings again. */
static void a_stale_page_heals(void **state)
{
    (void)state;
    static const uint8_t rings[] = {MCP_RING_ASK, MCP_RING_START};
    for (size_t r = 0; r < sizeof(rings); ++r) {
        open_small(geteuid());
        mcp_group_start(pair.group, 1);
        play_here(&pair);
        ring(pair.bell, pair.key, MCP_RING_START, 1);
        expect_same(&pair);
        complete_unsaid(1);
        assert_int_equal(myr_observe(&pair.line->done), 0);
        ring(pair.bell, pair.key, rings[r], 1);
        assert_int_equal(myr_observe(&pair.line->done), 1);
        close_pair(&pair);
        drain(wire);
    }
}

/* ---- who is stuck ---- */

/* Is the timer going to run? */
static bool is_armed(void)
{
    const uint32_t zero = 0;
    struct {
        uint64_t timer[2];
        uint32_t armed, zero;
    } watch;
    assert_int_equal(bpf_map_lookup_elem(find_map("watches"), &zero, &watch), 0);
    return 0 != watch.armed;
}

static void await_armed(bool armed)
{
    while (armed != is_armed()) {
        sched_yield();
    }
}

static void hear_it(void *context, const struct mcp_kernel_stuck *stuck)
{
    *(struct mcp_kernel_stuck *)context = *stuck;
}

/* Wait until the NIC tells of somebody. */
static struct mcp_kernel_stuck hear_of_stuck(void)
{
    struct pollfd watched = {.fd = mcp_kernel_watch(kernel), .events = POLLIN};
    struct mcp_kernel_stuck stuck = {.key = 0};
    while (0 == stuck.key) {
        assert_int_equal(poll(&watched, 1, -1), 1);
        mcp_kernel_hear(kernel, hear_it, &stuck);
    }
    return stuck;
}

/* While nobody is in an epoch nothing runs; an epoch that is complete at once changes nothing. */
static void the_timer_runs_while_somebody_waits(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 7;
    await_armed(false); /* others may have waited until now */
    open_small(geteuid());
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    start_epoch(1);
    assert_int_equal(done(&pair), 1);
    assert_false(is_armed());
    start_epoch(2);
    assert_true(is_armed());
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
    await_armed(false);
    start_epoch(3);
    assert_true(is_armed());
    close_pair(&pair);
    await_armed(false);
}

static void who_is_stuck_is_told_of(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 8;
    struct mcp_kernel_stuck stuck;
    await_armed(false);
    mcp_kernel_hear(kernel, hear_it, &stuck); /* what was told before */
    open_small(geteuid());
    start_epoch(1);
    for (uint32_t told = 1; told < 5; ++told) {
        stuck = hear_of_stuck();
        assert_int_equal(stuck.key, pair.key);
        assert_int_equal(stuck.done, 0);
        assert_int_equal(stuck.told, told);
    }
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    await_armed(false);
    start_epoch(2);
    do {
        stuck = hear_of_stuck();
    } while (1 != stuck.done); /* of epoch 1 it may have told once more */
    assert_int_equal(stuck.told, 1);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    await_armed(false); /* in vain */
    close_pair(&pair);
}

/* Have the NIC believe that its last look took so long. */
static void pretend_took(uint64_t took_ns)
{
    const uint32_t zero = 0;
    assert_int_equal(bpf_map_update_elem(find_map("program.bss"), &zero, &took_ns, BPF_ANY), 0);
}

static uint64_t last_took(void)
{
    const uint32_t zero = 0;
    uint64_t took_ns;
    assert_int_equal(bpf_map_lookup_elem(find_map("program.bss"), &zero, &took_ns), 0);
    return took_ns;
}

/* After a look that took 3 ms the next one comes 300 ms later, not 10. (A timer may be late, but it
 * is never early.) A look that still runs may say anew how long it took, and arm the timer: then
 * try again. */
static void a_look_rests_for_what_it_took(void **state)
{
    (void)state;
    const uint64_t took_ns = 3000000;
    uint64_t random = crew_seed() + 9, begin_ns;
    uint32_t epoch = 0;
    bool pretended;
    skip_sent(); /* the test before this one had a group fail */
    open_small(geteuid());
    do {
        await_armed(false);
        begin_ns = os_now_ns();
        pretend_took(took_ns);
        pretended = !is_armed();
        start_epoch(++epoch);
        pretended = pretended && took_ns == last_took();
        if (!pretended) {
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, epoch, 0, 1), &random);
        }
    } while (!pretended);
    while (epoch - 1 != hear_of_stuck().done) {
    }
    assert_true(os_now_ns() - begin_ns >= mcp_kernel_rest(took_ns));
    assert_int_not_equal(last_took(), took_ns);
    assert_int_not_equal(last_took(), 0);
    close_pair(&pair);
}

/* Where programs may have no timers the rest is taken all the same. */
static void without_timers(void **state)
{
    (void)state;
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel *other;
    const struct mcp_ip own = address_of(ip_of(OWN));
    const char *without = getenv("NICBARR_KERNEL_WITHOUT");
    char before[80], now[90];
    snprintf(before, sizeof(before), "%s", NULL == without ? "" : without);
    snprintf(now, sizeof(now), "%s,timer", before);
    setenv("NICBARR_KERNEL_WITHOUT", now, 1);
    assert_int_equal(mcp_kernel_load(&own, htons(OTHER_PORT), &other, why), 0);
    setenv("NICBARR_KERNEL_WITHOUT", before, 1);
    assert_int_equal(mcp_kernel_stand(other, why), 0);
    assert_int_equal(mcp_kernel_watch(other), -1);
    mcp_kernel_close(other);
}

/* ---- the rest ---- */

static void page_is_for_reading(void **state)
{
    (void)state;
    const struct mcp_kernel_line forged = {.done = 7, .failed = 1};
    struct mcp_kernel_line seen;
    open_small(geteuid());
    const uint32_t line = (uint32_t)(pair.line - pair.page);
    assert_ptr_equal(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, pair.page_map, 0),
                     MAP_FAILED);
    assert_ptr_equal(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, pair.page_map, 0), MAP_FAILED);
    assert_int_equal(mprotect(pair.page, PAGE, PROT_READ | PROT_WRITE), -1);
    assert_true(bpf_map_update_elem(pair.page_map, &line, &forged, BPF_ANY) < 0);
    assert_true(bpf_map_update_elem(pair.page_map, &line, &forged, BPF_EXIST) < 0);
    assert_true(bpf_map_delete_elem(pair.page_map, &line) < 0);
    assert_int_equal(bpf_map_lookup_elem(pair.page_map, &line, &seen), 0);
    assert_int_equal(seen.done, 0);
    expect_untouched();
    event_start(&pair, &(uint64_t){crew_seed()}); /* the program may */
    close_pair(&pair);
}

static void buffer_is_for_reading(void **state)
{
    (void)state;
    static const struct mcp_kernel_buffer forged = {.word = {{7}}};
    const uint32_t zero = 0;
    open_small_with_data(64);
    assert_ptr_equal(
        mmap(NULL, sizeof(forged), PROT_READ | PROT_WRITE, MAP_SHARED, pair.buffer_map, 0),
        MAP_FAILED);
    assert_int_equal(mprotect(pair.buffer, sizeof(forged), PROT_READ | PROT_WRITE), -1);
    assert_true(bpf_map_update_elem(pair.buffer_map, &zero, &forged, BPF_ANY) < 0);
    assert_true(bpf_map_update_elem(pair.buffer_map, &zero, &forged, BPF_EXIST) < 0);
    expect_untouched();
    close_pair(&pair);
}

static uint32_t map_number(int map)
{
    struct bpf_map_info about = {.type = 0};
    uint32_t bytes = sizeof(about);
    assert_int_equal(bpf_obj_get_info_by_fd(map, &about, &bytes), 0);
    return about.id;
}

/* Groups come and go: each gets a line with nothing on it that no other open group has. */
static void lines_begin_empty(void **state)
{
    (void)state;
    enum { GROUPS = 100, ROUNDS = 3 };
    static struct pair pairs[GROUPS];
    uint64_t random = crew_seed() + 4;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        for (uint32_t p = 0; p < GROUPS; ++p) {
            plan_schedule(&pairs[p].plan, false, &random);
            open_pair(&pairs[p], geteuid(), &random);
            assert_int_equal(pairs[p].line->done, 0);
            assert_int_equal(pairs[p].line->failed, 0);
        }
        for (uint32_t p = 0; p < GROUPS; ++p) {
            if (0 == crew_below(&random, 2)) {
                assert_int_equal(mcp_kernel_ring(kernel, pairs[p].key, MCP_RING_FAIL), 0);
                while (0 == myr_observe(&pairs[p].line->failed)) {
                    sched_yield();
                }
            }
        }
        for (uint32_t p = 0; p < GROUPS; ++p) {
            const bool failed = 0 != mcp_kernel_group_failed(kernel, pairs[p].key);
            assert_int_equal(0 != pairs[p].line->failed, failed);
            close_pair(&pairs[p]);
        }
    }
    skip_sent();
}

/* A group of this user's, which is closed at once. Its page stays mapped, as hosts may keep it.
 * Returns the page's number. */
static uint32_t open_for_a_moment(uint32_t uid)
{
    static struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    char why[MCP_KERNEL_WHY];
    const uint64_t key = plan.key + 2;
    plan_small(&plan);
    plan.key = key;
    plan.uid = uid;
    if (mcp_kernel_group_open(kernel, &plan, &seen, why) < 0) {
        fail_msg("%s", why);
    }
    const uint32_t number = map_number(seen.page);
    assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, seen.page, 0), MAP_FAILED);
    mcp_kernel_group_close(kernel, key);
    mcp_kernel_group_forget(kernel, key);
    return number;
}

/* However many groups a user opens, and keeps the pages of: there are no more pages for that. */
static void pages_are_bounded(void **state)
{
    (void)state;
    enum { GROUPS = 3000 };
    const uint32_t number = open_for_a_moment(GROUP_USER);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        assert_int_equal(open_for_a_moment(GROUP_USER), number);
    }
}

/* Users have pages of their own, until so many have come that there are no more. Then the one who
 * has had no group for the longest time loses its page. */
static void users_have_pages_of_their_own(void **state)
{
    (void)state;
    enum { FIRST = 100000, OTHERS = MCP_KERNEL_PAGES - 1, USERS = 2 * OTHERS };
    static uint32_t numbers[USERS];
    open_small(OTHER_USER);
    const uint32_t kept = map_number(pair.page_map);
    for (uint32_t user = 0; user < USERS; ++user) {
        uint32_t other = 0;
        numbers[user] = open_for_a_moment(FIRST + user);
        assert_int_not_equal(numbers[user], kept); /* a group is open there */
        while (numbers[other] != numbers[user]) {
            ++other;
        }
        assert_int_equal(other, user < OTHERS ? user : user - OTHERS);
    }
    assert_int_equal(open_for_a_moment(FIRST + USERS - 1), numbers[USERS - 1]);
    close_pair(&pair);
}

/* Open groups of this user's that carry data, as many as there are buffers for. Returns how many.
 * `first` is not greater than any of the buffers' numbers, `last` not less. */
static uint32_t open_all_buffers(uint32_t uid, uint32_t *first, uint32_t *last)
{
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_seen seen;
    struct mcp_kernel_plan plan = pair.plan;
    uint32_t opened = 0;
    plan.uid = uid;
    *first = UINT32_MAX;
    *last = 0;
    for (plan.key = 1; mcp_kernel_group_open(kernel, &plan, &seen, why) == 0; ++plan.key) {
        const uint32_t number = map_number(seen.buffer);
        *first = number < *first ? number : *first;
        *last = number > *last ? number : *last;
        ++opened;
    }
    assert_non_null(strstr(why, "no more groups"));
    for (uint32_t g = 1; g <= opened; ++g) {
        mcp_kernel_group_close(kernel, g);
        mcp_kernel_group_forget(kernel, g);
    }
    return opened;
}

/* A buffer stays its user's. So nobody may have all of them. (This comes last: they are used up.)
 */
static void buffers_stay_their_users(void **state)
{
    (void)state;
    enum { USERS = MCP_KERNEL_BUFFERS / MCP_KERNEL_BUFFERS_OF_ONE, FIRST = 200000 };
    uint32_t first[USERS], last[USERS], first_again, last_again;
    open_small_with_data(64);
    close_pair(&pair); /* this user has a few buffers already */
    for (uint32_t user = 0; user < USERS - 1; ++user) {
        assert_int_equal(open_all_buffers(FIRST + user, &first[user], &last[user]),
                         MCP_KERNEL_BUFFERS_OF_ONE);
        assert_true(0 == user || last[user - 1] < first[user]);
    }
    for (uint32_t user = 0; user < USERS - 1; ++user) {
        assert_int_equal(open_all_buffers(FIRST + user, &first_again, &last_again),
                         MCP_KERNEL_BUFFERS_OF_ONE);
        assert_int_equal(first_again, first[user]);
        assert_int_equal(last_again, last[user]);
    }
    assert_in_range(open_all_buffers(FIRST + USERS, &first_again, &last_again), 1,
                    MCP_KERNEL_BUFFERS_OF_ONE - 1);
    assert_int_equal(open_all_buffers(FIRST + USERS + 1, &first_again, &last_again), 0);
}

/* All groups that there is room for, of any users, and again when they are closed. */
static void places_come_again(void **state)
{
    (void)state;
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_seen seen;
    open_small(geteuid());
    struct mcp_kernel_plan plan = pair.plan;
    close_pair(&pair);
    for (uint32_t round = 0; round < 2; ++round) {
        for (uint32_t g = 0; g < MCP_KERNEL_GROUPS; ++g) {
            plan.key = g + 1;
            plan.uid = 0 == round ? GROUP_USER : GROUP_USER + g;
            if (mcp_kernel_group_open(kernel, &plan, &seen, why) < 0) {
                fail_msg("round %u, group %u: %s", round, g, why);
            }
        }
        plan.key = MCP_KERNEL_GROUPS + 1;
        assert_int_equal(mcp_kernel_group_open(kernel, &plan, &seen, why), -1);
        assert_non_null(strstr(why, "no more groups"));
        for (uint32_t g = 0; g < MCP_KERNEL_GROUPS; ++g) {
            mcp_kernel_group_close(kernel, g + 1);
            mcp_kernel_group_forget(kernel, g + 1);
        }
    }
}

/* Who has not been met is not sent to; the others are, whichever comes last. */
static void unknown_neighbour(void **state)
{
    (void)state;
    for (uint32_t unknown = 0; unknown < 3; ++unknown) {
        uint64_t random = crew_seed() + 3;
        memset(&pair.plan, 0, sizeof(pair.plan));
        pair.plan.nsteps = pair.plan.nwaits = 1;
        pair.plan.nsends = 3;
        pair.plan.steps[0] = (struct mcp_step){3, 1};
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t ip = unknown == i ? ip_of(UNKNOWN_PEER) : peer_ip(i);
            pair.plan.peers[i] = (struct mcp_kernel_peer){
                .ip = address_of(ip), .port = htons(PORT), .node = (uint16_t)i};
        }
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

/* As many more hosts as the NIC can know: 10.78.16.0 to 10.78.31.255. */
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

/* Hosts come and go, ever more of them. Those that no group needs any more are forgotten for
 * others; those that a group needs are not. */
static void hosts_are_forgotten_when_nobody_needs_them(void **state)
{
    (void)state;
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
    start_epoch(1); /* its peer is there as before */
    close_pair(&pair);
    plan_anything(&plan, true, &random);
    plan.uid = geteuid();
    for (uint32_t g = 0; g < GROUPS; ++g) {
        plan.key = g + 1;
        for (uint32_t p = 0; p < MCP_KERNEL_PEERS; ++p) {
            const uint32_t ip = far_ip(g * MCP_KERNEL_PEERS + p);
            plan.peers[p].ip = address_of(ip);
            /* There is one place less than there are such hosts. */
            if (meet(ip, why) < 0) {
                assert_true(GROUPS - 1 == g && MCP_KERNEL_PEERS - 1 == p);
            }
        }
        assert_int_equal(mcp_kernel_group_open(kernel, &plan, &seen, why), 0);
    }
    assert_int_equal(meet(peer_ip(0), why), -1);
    assert_non_null(strstr(why, "too many hosts"));
    for (uint32_t g = 0; g < GROUPS; ++g) {
        mcp_kernel_group_close(kernel, g + 1);
        mcp_kernel_group_forget(kernel, g + 1);
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        assert_int_equal(meet(peer_ip(n), why), 0);
    }
}

/* ---- before and after ---- */

static int skip_all(const char *why)
{
    printf("skipped: %s\n", why);
    return SKIPPED;
}

/* A kernel that has all it takes refuses the program only if the verifier does, and that would be
 * our mistake. */
static bool has_all_it_takes(void)
{
    struct utsname system;
    unsigned major = 0, minor = 0;
    return 0 == uname(&system) && 2 == sscanf(system.release, "%u.%u", &major, &minor) &&
           (major > 6 || (6 == major && minor >= 6)) &&
           0 == access("/sys/kernel/btf/vmlinux", R_OK);
}

static bool stand(char *why)
{
    if (mcp_kernel_stand(kernel, why) < 0) {
        return false;
    }
    for (uint32_t n = 0; n < MOST_NODES; ++n) {
        if (meet(peer_ip(n), why) < 0) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    char why[MCP_KERNEL_WHY];
    struct sockaddr_ll near;
    const struct mcp_ip own = address_of(ip_of(OWN));
    crew_watchdog();
    if (unshare(CLONE_NEWNET) < 0) {
        return skip_all("no network namespace of its own");
    }
    if (!make_network()) {
        return skip_all("no pair of virtual interfaces (needs ip, and veth and the network's "
                        "family in the kernel)");
    }
    if (mcp_kernel_load(&own, htons(PORT), &kernel, why) < 0) {
        if (NULL != strstr(why, "does not take") && has_all_it_takes()) {
            fprintf(stderr, "%s\n", why);
            return EXIT_FAILURE;
        }
        return skip_all(why);
    }
    wire = make_tap("nicbarr1", &far);
    passed = make_tap("nicbarr0", &near);
    behind = make_tap("nicbarr3", &beyond);
    nic_socket = make_socket(PORT, 0, 0);
    other_socket = make_socket(OTHER_PORT, 0, 0);
    await_network();
    if (!stand(why)) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_of_schedules),
        cmocka_unit_test(traces_of_broadcasts),
        cmocka_unit_test(traces_of_any_tables),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(only_members_are_believed),
        cmocka_unit_test(only_members_data_are_believed),
        cmocka_unit_test(only_members_broadcasts_are_believed),
        cmocka_unit_test(blocks_of_each_length),
        cmocka_unit_test(broadcasts_of_nobody),
        cmocka_unit_test(farewells),
        cmocka_unit_test(farewells_of_broadcasts),
        cmocka_unit_test(closed_groups_answer_members_only),
        cmocka_unit_test(frames_for_others),
        cmocka_unit_test(foreign_packets),
        cmocka_unit_test(packets_that_only_look_right),
        cmocka_unit_test(packets_of_vlans),
        cmocka_unit_test(forged_packets),
        cmocka_unit_test(doorbells_to_other_ports),
        cmocka_unit_test(doorbells_with_checksums),
        cmocka_unit_test(forwarded_packets),
        cmocka_unit_test(doorbells_of_others),
        cmocka_unit_test(a_doorbell_for_each_epoch),
        cmocka_unit_test(only_who_rang_is_woken),
        cmocka_unit_test(who_sleeps_for_another_group_sleeps_on),
        cmocka_unit_test(failing),
        cmocka_unit_test(failing_on_purpose),
        cmocka_unit_test(failing_elsewhere),
        cmocka_unit_test(who_is_missing),
        cmocka_unit_test(page_is_for_reading),
        cmocka_unit_test(buffer_is_for_reading),
        cmocka_unit_test(unknown_neighbour),
        cmocka_unit_test(hosts_are_forgotten_when_nobody_needs_them),
    };
    const struct CMUnitTest of_4[] = {
        /* and of any network: here they run once */
        cmocka_unit_test(lines_begin_empty),
        cmocka_unit_test(pages_are_bounded),
        cmocka_unit_test(the_last_release_stays),
        cmocka_unit_test(data_are_whole),
        cmocka_unit_test(blocks_are_whole),
        cmocka_unit_test(a_stale_page_heals),
        cmocka_unit_test(the_timer_runs_while_somebody_waits),
        cmocka_unit_test(who_is_stuck_is_told_of),
        cmocka_unit_test(a_look_rests_for_what_it_took),
        cmocka_unit_test(without_timers),
        cmocka_unit_test(places_come_again),
        cmocka_unit_test(users_have_pages_of_their_own),
        cmocka_unit_test(buffers_stay_their_users),
    };
    const struct CMUnitTest of_6[] = {
        cmocka_unit_test(wrong_checks),
    };
    const int failed = cmocka_run_group_tests_name("kernel", tests, NULL, NULL) +
                       (SIX ? cmocka_run_group_tests_name("kernel, of IPv6", of_6, NULL, NULL)
                            : cmocka_run_group_tests_name("kernel, of IPv4", of_4, NULL, NULL));
    mcp_kernel_close(kernel);
    return failed;
}
