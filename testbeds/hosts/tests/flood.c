/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends many UDP packets from one host to another, and counts those that arrive.
 *
 * Called by switch_test.sh within nethosts, to test the switch. A single process has sockets on
 * both hosts. After each batch of packets it sends a fence, which is a packet to another port that
 * the switch exempts from faults. Since a fence does not overtake packets, all packets before it
 * have arrived when it arrives, unless they were lost or delayed. By waiting for the fence the
 * process therefore prevents queues from overflowing.
 *
 * A packet contains its number and the time when it was sent. Its other bytes are derived from
 * these, so that damage is detected. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum {
    PORT = 9000, /* of packets; fences use the next port */
    BUNDLE = 32, /* packets in one call (segmentation offload) */
    BATCH = 160, /* packets between fences, for which each queue has capacity */
    MOST_BYTES = 1400,
    QUIET_MS = 200 /* time after the last fence; longer than packets are delayed */
};

struct packet {
    uint64_t sent_ns;
    uint32_t number;
    uint8_t rest[MOST_BYTES];
};

struct flood {
    int out, in, fence_out, fence_in;
    uint32_t packets;
    size_t bytes; /* per packet */
    bool bundled;
    uint8_t *seen;
    uint32_t highest;
    uint64_t whole, again, damaged, late, shortest_ns;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "flood: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* Opens a socket on a host, bound to a port (0: any). */
static int open_on(unsigned host, uint16_t port)
{
    char path[64];
    snprintf(path, sizeof(path), "/run/netns/%u", host);
    const int network = open(path, O_RDONLY | O_CLOEXEC);
    if (network < 0 || setns(network, CLONE_NEWNET) < 0) {
        fail(path);
    }
    close(network);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        fail("socket");
    }
    return fd;
}

static void connect_to(int fd, unsigned host, uint16_t port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons(port),
                                        .sin_addr.s_addr = htonl(0x0a4d0000U + host)};
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        fail("connect");
    }
}

/* ---- packets ---- */

static void fill(struct packet *packet, uint32_t number, uint64_t sent_ns, size_t bytes)
{
    packet->number = number;
    packet->sent_ns = sent_ns;
    uint64_t x = sent_ns + number * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = offsetof(struct packet, rest); i < bytes; ++i) {
        x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        ((uint8_t *)packet)[i] = (uint8_t)(x >> 56);
    }
}

static bool is_whole(const struct flood *flood, const struct packet *packet, size_t bytes)
{
    struct packet right;
    fill(&right, packet->number, packet->sent_ns, flood->bytes);
    return bytes == flood->bytes && packet->number < flood->packets &&
           0 == memcmp(&right, packet, bytes);
}

static void count(struct flood *flood, const struct packet *packet, size_t bytes)
{
    if (!is_whole(flood, packet, bytes)) {
        ++flood->damaged;
        return;
    }
    const uint64_t took_ns = os_now_ns() - packet->sent_ns;
    flood->shortest_ns = took_ns < flood->shortest_ns ? took_ns : flood->shortest_ns;
    if (0 != flood->seen[packet->number]) {
        ++flood->again;
        return;
    }
    flood->seen[packet->number] = 1;
    ++flood->whole;
    flood->late += packet->number < flood->highest;
    flood->highest = packet->number > flood->highest ? packet->number : flood->highest;
}

static void take_all(struct flood *flood)
{
    struct packet packet;
    ssize_t bytes;
    while ((bytes = recv(flood->in, &packet, sizeof(packet), MSG_DONTWAIT)) >= 0) {
        count(flood, &packet, (size_t)bytes);
    }
}

static void take_up_to_fence(struct flood *flood)
{
    uint8_t fence = 0;
    if (1 != send(flood->fence_out, &fence, 1, 0) || 1 != recv(flood->fence_in, &fence, 1, 0)) {
        fail("fence");
    }
    take_all(flood);
}

/* ---- the flood ---- */

/* Passes packets to the kernel in one call. If there are several, the kernel splits them. */
static void send_bundle(struct flood *flood, uint32_t first, uint32_t packets)
{
    static uint8_t bundle[BUNDLE * sizeof(struct packet)];
    for (uint32_t i = 0; i < packets; ++i) {
        struct packet packet;
        fill(&packet, first + i, os_now_ns(), flood->bytes);
        memcpy(bundle + i * flood->bytes, &packet, flood->bytes);
    }
    if ((ssize_t)(packets * flood->bytes) != send(flood->out, bundle, packets * flood->bytes, 0)) {
        fail("send");
    }
}

static void run(struct flood *flood)
{
    const uint32_t most = flood->bundled ? BUNDLE : 1;
    for (uint32_t sent = 0; sent < flood->packets;) {
        const uint32_t left = flood->packets - sent;
        send_bundle(flood, sent, left < most ? left : most);
        sent += left < most ? left : most;
        if (0 == sent % BATCH) {
            take_up_to_fence(flood);
        }
    }
    take_up_to_fence(flood);
    struct pollfd in = {.fd = flood->in, .events = POLLIN};
    while (poll(&in, 1, QUIET_MS) > 0) {
        take_all(flood);
    }
    take_up_to_fence(flood);
}

static unsigned long number(const char *text, unsigned long most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);
    if (text == end || '\0' != *end || value > most) {
        fprintf(stderr, "flood: '%s' is not a number up to %lu\n", text, most);
        exit(64);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: flood FROM-HOST TO-HOST PACKETS BYTES [bundled]\n");
        return 64;
    }
    const unsigned from = (unsigned)number(argv[1], 250), to = (unsigned)number(argv[2], 250);
    struct flood flood = {.packets = (uint32_t)number(argv[3], 100000000),
                          .bytes = number(argv[4], MOST_BYTES),
                          .bundled = 6 == argc,
                          .shortest_ns = UINT64_MAX};
    if (flood.bytes < offsetof(struct packet, rest) + 8) {
        fprintf(stderr, "flood: packets have at least %zu bytes\n",
                offsetof(struct packet, rest) + 8);
        return 64;
    }
    flood.in = open_on(to, PORT);
    const int buffer = BATCH * sizeof(struct packet);
    setsockopt(flood.in, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    flood.fence_in = open_on(to, PORT + 1);
    flood.out = open_on(from, 0);
    flood.fence_out = open_on(from, 0);
    connect_to(flood.out, to, PORT);
    connect_to(flood.fence_out, to, PORT + 1);
    const int segment = (int)flood.bytes;
    if (flood.bundled &&
        setsockopt(flood.out, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) < 0) {
        fail("UDP_SEGMENT");
    }
    flood.seen = calloc(flood.packets, 1);
    if (NULL == flood.seen) {
        fail("memory");
    }
    run(&flood);
    printf("flood: sent %" PRIu32 ", whole %" PRIu64 ", again %" PRIu64 ", damaged %" PRIu64
           ", late %" PRIu64 ", shortest us %" PRIu64 "\n",
           flood.packets, flood.whole, flood.again, flood.damaged, flood.late,
           0 == flood.whole ? 0 : flood.shortest_ns / 1000);
    free(flood.seen);
    return EXIT_SUCCESS;
}
