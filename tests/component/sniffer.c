/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays an attacker who reads the wire and sends forged packets, which must not disturb a job.
 * tests/component/strangers.sh runs it in two parts that are connected by a pipe:
 *
 *   sniffer listen PORT  on a host of the job: writes each packet between NICs to the pipe
 *   sniffer forge  on another host: sends packets derived from these, in their senders' names
 *
 * (sniffer record: writes all bytes on the wire, of any protocol.)
 *
 * For each captured packet, the forger sends a copy, followed by packets that would do harm if a
 * NIC accepted them:
 *
 * - After a collective packet, for its epoch and the next one: packets that would release a NIC too
 *   early (ARRIVE, DONE) or make its group fail (FAIL).
 * - After a packet of a message, for its number and the next one: other contents (DATA), an
 *   acknowledgement that would make the sender drop a lost message (ACK), or one that would make it
 *   fail (REFUSE).
 *
 * Each packet is sent with the captured authentication code, with the code for the zero secret, and
 * with the code for a guessed secret. The program runs until it is killed.
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

/* Forged packets have a time to live of their own, so that they are recognised and not forged
 * again. */
enum { OWN_TTL = 61, PAUSE_NS = 5000000 };

/* A packet on the wire. Chains of packets are not reported. */
struct datagram {
    struct iphdr ip;
    struct udphdr udp;
    uint8_t payload[1500 - sizeof(struct iphdr) - sizeof(struct udphdr)];
} __attribute__((packed));

static size_t bytes_of(const struct datagram *datagram)
{
    return ntohs(datagram->ip.tot_len);
}

static size_t payload_of(const struct datagram *datagram)
{
    return bytes_of(datagram) - offsetof(struct datagram, payload);
}

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
    struct datagram seen;
    for (;;) {
        const ssize_t bytes = recv(wire, &seen, sizeof(seen), MSG_TRUNC);
        if (bytes < 0 && EINTR != errno) {
            fail("listening");
        }
        if (bytes >= (ssize_t)offsetof(struct datagram, payload) &&
            bytes <= (ssize_t)sizeof(seen) && bytes == (ssize_t)bytes_of(&seen) &&
            5 == seen.ip.ihl && IPPROTO_UDP == seen.ip.protocol && htons(port) == seen.udp.dest &&
            OWN_TTL != seen.ip.ttl && sizeof(seen) != write(STDOUT_FILENO, &seen, sizeof(seen))) {
            fail("writing");
        }
    }
}

/* Write all frames, whatever they contain. */
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

static void send_again(int wire, struct datagram *datagram)
{
    const struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = datagram->ip.daddr};
    datagram->ip.ttl = OWN_TTL;
    datagram->udp.check = 0; /* no checksum, which UDP permits */
    if ((ssize_t)bytes_of(datagram) !=
        sendto(wire, datagram, bytes_of(datagram), 0, (const struct sockaddr *)&to, sizeof(to))) {
        fail("sending");
    }
}

/* Send this header, with the datagram's payload or without, with each of the authentication
 * codes. */
static void send_header(int wire, const struct datagram *datagram, struct mcp_header header,
                        bool with_payload)
{
    const struct mcp_secret guesses[] = {{{0, 0}}, {{header.key, header.check}}};
    const size_t head = mcp_header_bytes(header.type);
    const size_t bytes = with_payload ? payload_of(datagram) - head : 0;
    struct datagram forged = *datagram;
    forged.ip.tot_len = htons((uint16_t)(offsetof(struct datagram, payload) + head + bytes));
    forged.ip.check = 0; /* the kernel fills it in */
    forged.udp.len = htons((uint16_t)(sizeof(forged.udp) + head + bytes));
    header.payload_bytes = (uint32_t)bytes;
    memcpy(forged.payload, &header, head);
    send_again(wire, &forged);
    for (size_t g = 0; g < sizeof(guesses) / sizeof(guesses[0]); ++g) {
        mcp_seal(&header, &guesses[g], forged.payload + head, bytes);
        memcpy(forged.payload, &header, head);
        send_again(wire, &forged);
    }
}

static void forge_collective(int wire, const struct datagram *seen, struct mcp_header header)
{
    static const uint8_t types[] = {MCP_ARRIVE, MCP_DONE, MCP_FAIL};
    for (uint32_t ahead = 0; ahead < 2; ++ahead, ++header.collective.epoch) {
        for (uint32_t t = 0; t < sizeof(types); ++t) {
            header.type = types[t];
            send_header(wire, seen, header, false);
        }
    }
}

static void forge_message(int wire, const struct datagram *seen, const struct mcp_header *header)
{
    struct datagram other = *seen;
    for (size_t at = MCP_MESSAGE_BYTES; at < payload_of(seen); ++at) {
        other.payload[at] ^= 0xff;
    }
    for (uint32_t ahead = 0; ahead < 2; ++ahead) {
        struct mcp_header forged = *header;
        if (MCP_DATA == header->type) {
            forged.message.sequence += ahead;
            send_header(wire, &other, forged, true);
        }
        forged.message = (struct mcp_message_part){.source = header->message.source,
                                                   .expected = header->message.expected + ahead};
        forged.type = MCP_ACK;
        send_header(wire, seen, forged, false);
        forged.message.sequence = forged.message.expected;
        forged.message.round = (uint16_t)-2; /* the first round (connection.h) */
        forged.message.detail = MCP_TOO_LONG;
        forged.type = MCP_REFUSE;
        send_header(wire, seen, forged, false);
    }
}

static void forge(int wire, struct datagram *datagram)
{
    struct mcp_header seen;
    if (mcp_parse(datagram->payload, payload_of(datagram), &seen)) {
        send_again(wire, datagram);
        if (mcp_is_collective(seen.type)) {
            forge_collective(wire, datagram, seen);
        } else {
            forge_message(wire, datagram, &seen);
        }
    }
}

static bool read_one(struct datagram *datagram)
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

/* Read the last packet that is in the pipe, some time after the previous one, so that the job
 * can proceed. */
static bool read_last(struct datagram *datagram)
{
    const struct timespec pause = {0, PAUSE_NS};
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};
    nanosleep(&pause, NULL);
    bool seen = read_one(datagram);
    while (seen && poll(&more, 1, 0) > 0) {
        seen = read_one(datagram);
    }
    return seen;
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
    while (read_last(&datagram)) {
        forge(wire, &datagram);
    }
    return 0;
}
