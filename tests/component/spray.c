/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends UDP packets that do not belong to the job to the job's NICs, to test that packets of
 * unknown senders do not disturb it.
 *
 * tests/component/strangers.sh calls it on a host on which the job does not run. It uses a raw
 * socket and the addresses of the job's own hosts, so that a check of the sender's address would
 * not help. It runs until it is killed.
 *
 * The packets consist of random bytes of any length; or they have the wire format (firmware/wire.h)
 * and are valid and sealed, but with an unknown key; or the switch recorded them in an earlier job.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firmware/wire.h"
#include "testbeds/hosts/capture.h"

enum {
    NETWORK = 0x0a4d0000, /* 10.77.0.0, of nethosts */
    MOST_BYTES = 1400,    /* maximum size of a payload */
    BURST = 20,           /* packets sent before a pause for the job */
    PAUSE_NS = 200000
};

struct spray {
    int socket;
    unsigned hosts;
    uint16_t port;
    uint64_t random, sent;
};

struct datagram {
    struct iphdr ip;
    struct udphdr udp;
    uint8_t payload[MOST_BYTES];
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "spray: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static uint64_t draw(struct spray *spray)
{
    uint64_t x = spray->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void send_ip(struct spray *spray, const void *packet, size_t bytes, uint32_t to)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = to};
    if ((ssize_t)bytes != sendto(spray->socket, packet, bytes, 0, (const struct sockaddr *)&address,
                                 sizeof(address))) {
        fail("sending");
    }
    if (0 == ++spray->sent % BURST) {
        const struct timespec pause = {0, PAUSE_NS};
        nanosleep(&pause, NULL);
    }
}

/* Send a payload from one of the job's hosts to another one, from NIC to NIC. */
static void send_payload(struct spray *spray, struct datagram *datagram, size_t bytes)
{
    const unsigned to = (unsigned)(draw(spray) % spray->hosts);
    const unsigned from = (to + 1 + (unsigned)(draw(spray) % (spray->hosts - 1))) % spray->hosts;
    const size_t udp_bytes = sizeof(datagram->udp) + bytes;
    datagram->ip = (struct iphdr){.version = 4,
                                  .ihl = sizeof(datagram->ip) / 4,
                                  .ttl = 64,
                                  .protocol = IPPROTO_UDP,
                                  .saddr = htonl(NETWORK + 1 + from),
                                  .daddr = htonl(NETWORK + 1 + to)};
    /* There is no checksum, which UDP permits. */
    datagram->udp = (struct udphdr){.source = htons(spray->port),
                                    .dest = htons(spray->port),
                                    .len = htons((uint16_t)udp_bytes)};
    send_ip(spray, datagram, sizeof(datagram->ip) + udp_bytes, datagram->ip.daddr);
}

/* ---- packets ---- */

static void send_random(struct spray *spray)
{
    struct datagram datagram;
    const size_t bytes = draw(spray) % (0 == draw(spray) % 4 ? MOST_BYTES : 64);
    for (size_t i = 0; i < bytes; ++i) {
        datagram.payload[i] = (uint8_t)draw(spray);
    }
    send_payload(spray, &datagram, bytes);
}

/* Send a packet that a NIC of the job might send now, except for the key. */
static void send_forged(struct spray *spray)
{
    struct datagram datagram;
    struct mcp_header header;
    memset(&header, 0, sizeof(header));
    header.type = (uint8_t)(1 + draw(spray) % (MCP_TYPES - 1));
    header.key = draw(spray);
    if (mcp_is_collective(header.type)) {
        header.collective.epoch = (uint32_t)(draw(spray) % 1000);
        header.collective.slot = (uint16_t)(draw(spray) % 4);
        header.collective.node = (uint16_t)(draw(spray) % spray->hosts);
    } else {
        header.message.source = draw(spray);
        header.message.sequence = (uint32_t)(draw(spray) % 100);
        header.message.expected = (uint32_t)(draw(spray) % 100);
        header.message.flags = MCP_DATA == header.type ? MCP_FIRST : 0;
        header.message.detail = MCP_REFUSE == header.type ? MCP_CLOSED : 0;
    }
    const struct mcp_secret secret = {{draw(spray), draw(spray)}};
    mcp_seal(&header, &secret, NULL, 0);
    memcpy(datagram.payload, &header, mcp_header_bytes(header.type));
    send_payload(spray, &datagram, mcp_header_bytes(header.type));
}

/* Send the frames of a capture unchanged, with their original senders. */
static void replay(struct spray *spray, const char *path)
{
    static _Alignas(struct frame) uint8_t memory[sizeof(struct frame) + FRAME_MOST];
    struct frame *frame = (struct frame *)memory;
    struct capture capture;
    struct frame_udp udp;
    if (!capture_read(&capture, path)) {
        fail(path);
    }
    while (capture_take(&capture, frame)) {
        if (frame_find_udp(frame, &udp)) {
            uint32_t to;
            memcpy(&to, frame->bytes + ETH_HLEN + offsetof(struct iphdr, daddr), sizeof(to));
            send_ip(spray, frame->bytes + ETH_HLEN, udp.payload - ETH_HLEN + udp.payload_bytes, to);
        }
    }
    capture_close(&capture);
}

static void usage(void)
{
    fprintf(stderr, "usage: spray HOSTS PORT SEED random|forged|FILE\n"
                    "HOSTS (2 or more) are the first hosts of nethosts, PORT is their NICs'\n");
    exit(64);
}

int main(int argc, char **argv)
{
    if (5 != argc) {
        usage();
    }
    struct spray spray = {.socket = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW),
                          .hosts = (unsigned)strtoul(argv[1], NULL, 10),
                          .port = (uint16_t)strtoul(argv[2], NULL, 10),
                          .random = strtoull(argv[3], NULL, 10)};
    if (spray.hosts < 2 || 0 == spray.port) {
        usage();
    }
    if (spray.socket < 0) {
        fail("raw socket");
    }
    for (;;) {
        if (0 == strcmp(argv[4], "random")) {
            send_random(&spray);
        } else if (0 == strcmp(argv[4], "forged")) {
            send_forged(&spray);
        } else {
            replay(&spray, argv[4]);
        }
    }
}
