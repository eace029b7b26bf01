/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stranger who reads the wire and writes it, too. Called by tests/component/strangers.sh in two
 * parts, joined by a pipe:
 *
 *   sniffer listen PORT    on a host of the job: tells of each collective packet that passes by
 *   sniffer forge          on another host: sends what follows from it, in its sender's name
 *
 * (sniffer record: writes all bytes that pass by, of any protocol.)
 *
 * For each packet that was heard it sends that packet once more, then for the present epoch and the
 * next one what would let a NIC go on too early (ARRIVE, DONE) or have its group fail (FAIL): with
 * the check of the packet, and with the check that somebody makes who knows all of it but the
 * secret. It goes on until it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "firmware/wire.h"

/* What is forged can be told by its time to live, so that it is not heard and forged once more. */
enum { OWN_TTL = 61, PAUSE_NS = 5000000 };

/* A collective packet on the wire. */
struct datagram {
    struct iphdr ip;
    struct udphdr udp;
    uint8_t payload[MCP_COLLECTIVE_BYTES];
} __attribute__((packed));

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "sniffer: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static int open_socket(int family, int type, int protocol)
{
    const int made = socket(family, type | SOCK_CLOEXEC, protocol);
    if (made < 0) {
        fail("socket");
    }
    return made;
}

static void listen_to(uint16_t port)
{
    const int wire = open_socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
    struct datagram heard;
    for (;;) {
        const ssize_t bytes = recv(wire, &heard, sizeof(heard), MSG_TRUNC);
        if (bytes < 0 && EINTR != errno) {
            fail("listening");
        }
        if (sizeof(heard) == bytes && 5 == heard.ip.ihl && IPPROTO_UDP == heard.ip.protocol &&
            htons(port) == heard.udp.dest && OWN_TTL != heard.ip.ttl &&
            sizeof(heard) != write(STDOUT_FILENO, &heard, sizeof(heard))) {
            fail("telling");
        }
    }
}

/* All that passes by, whatever it is. */
static void record(void)
{
    static uint8_t frame[1 << 17];
    const int wire = open_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    for (;;) {
        const ssize_t bytes = recv(wire, frame, sizeof(frame), 0);
        if (bytes > 0 && bytes != write(STDOUT_FILENO, frame, (size_t)bytes)) {
            fail("recording");
        }
    }
}

static void send_as_heard(int wire, struct datagram *datagram)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = datagram->ip.daddr};
    datagram->ip.ttl = OWN_TTL;
    datagram->udp.check = 0; /* none, which UDP allows */
    if (sizeof(*datagram) !=
        sendto(wire, datagram, sizeof(*datagram), 0, (const struct sockaddr *)&to, sizeof(to))) {
        fail("sending");
    }
}

static void send_header(int wire, struct datagram *datagram, const struct mcp_header *header)
{
    memcpy(datagram->payload, header, sizeof(datagram->payload));
    send_as_heard(wire, datagram);
}

static void forge(int wire, struct datagram *datagram)
{
    static const uint8_t types[] = {MCP_ARRIVE, MCP_DONE, MCP_FAIL};
    struct mcp_header heard = {.magic = 0};
    memcpy(&heard, datagram->payload, sizeof(datagram->payload));
    send_as_heard(wire, datagram);
    for (uint32_t ahead = 0; ahead < 2; ++ahead) {
        for (uint32_t t = 0; t < sizeof(types); ++t) {
            struct mcp_header forged = heard;
            const struct mcp_secret guess = {{heard.key, heard.check}};
            forged.type = types[t];
            forged.collective.epoch += ahead;
            send_header(wire, datagram, &forged);
            mcp_seal(&forged, &guess, NULL, 0);
            send_header(wire, datagram, &forged);
        }
    }
}

static bool hear_one(struct datagram *datagram)
{
    size_t bytes = 0;
    while (bytes < sizeof(*datagram)) {
        const ssize_t got =
            read(STDIN_FILENO, (uint8_t *)datagram + bytes, sizeof(*datagram) - bytes);
        if (got <= 0) {
            return false;
        }
        bytes += (size_t)got;
    }
    return true;
}

/* The last one that was heard; some time after the one before, so that the job gets its turn. */
static bool hear(struct datagram *datagram)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    nanosleep(&pause, NULL);
    bool heard = hear_one(datagram);
    while (heard && poll(&more, 1, 0) > 0) {
        heard = hear_one(datagram);
    }
    return heard;
}

int main(int argc, char **argv)
{
    struct datagram datagram;
    if (3 == argc && 0 == strcmp(argv[1], "listen")) {
        listen_to((uint16_t)strtoul(argv[2], NULL, 10));
    }
    if (2 == argc && 0 == strcmp(argv[1], "record")) {
        record();
    }
    if (2 != argc || 0 != strcmp(argv[1], "forge")) {
        fprintf(stderr, "usage: sniffer listen PORT | sniffer forge; sniffer record\n");
        return 64;
    }
    const int wire = open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
    while (hear(&datagram)) {
        forge(wire, &datagram);
    }
    return 0;
}
