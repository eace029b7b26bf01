/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stranger who reads the wire and writes it, too. Called by tests/component/strangers.sh in two
 * parts, joined by a pipe:
 *
 *   sniffer listen PORT    on a host of the job: tells of each packet between NICs that passes by
 *   sniffer forge          on another host: sends what follows from it, in its sender's name
 *
 * (sniffer record: writes all bytes that pass by, of any protocol.)
 *
 * For each packet that was heard it sends that packet once more, then what would do harm if it were
 * believed. After a collective packet: for the present epoch and the next one what would let a NIC
 * go on too early (ARRIVE, DONE) or have its group fail (FAIL). After a packet of a message: for
 * the present number and the next one other content (DATA), what would have a message forgotten
 * that was lost (ACK), or fail (REFUSE). Each with the check of the packet, with the check of
 * somebody who thinks that there is no secret, and with that of somebody who guesses. It goes on
 * until it is killed.
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

/* A packet on the wire. (Of a chain nothing is told.) */
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
    struct datagram heard;
    for (;;) {
        const ssize_t bytes = recv(wire, &heard, sizeof(heard), MSG_TRUNC);
        if (bytes < 0 && EINTR != errno) {
            fail("listening");
        }
        if (bytes >= (ssize_t)offsetof(struct datagram, payload) &&
            bytes <= (ssize_t)sizeof(heard) && bytes == (ssize_t)bytes_of(&heard) &&
            5 == heard.ip.ihl && IPPROTO_UDP == heard.ip.protocol &&
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
    if ((ssize_t)bytes_of(datagram) !=
        sendto(wire, datagram, bytes_of(datagram), 0, (const struct sockaddr *)&to, sizeof(to))) {
        fail("sending");
    }
}

/* This header with the payload that the datagram has, or without: with each of the checks. */
static void send_header(int wire, const struct datagram *datagram, struct mcp_header header,
                        bool with_payload)
{
    const struct mcp_secret guesses[] = {{{0, 0}}, {{header.key, header.check}}};
    const size_t head = mcp_header_bytes(header.type);
    const size_t bytes = with_payload ? payload_of(datagram) - head : 0;
    struct datagram forged = *datagram;
    forged.ip.tot_len = htons((uint16_t)(offsetof(struct datagram, payload) + head + bytes));
    forged.ip.check = 0; /* the system makes it */
    forged.udp.len = htons((uint16_t)(sizeof(forged.udp) + head + bytes));
    header.payload_bytes = (uint32_t)bytes;
    memcpy(forged.payload, &header, head);
    send_as_heard(wire, &forged);
    for (size_t g = 0; g < sizeof(guesses) / sizeof(guesses[0]); ++g) {
        mcp_seal(&header, &guesses[g], forged.payload + head, bytes);
        memcpy(forged.payload, &header, head);
        send_as_heard(wire, &forged);
    }
}

static void forge_collective(int wire, const struct datagram *heard, struct mcp_header header)
{
    static const uint8_t types[] = {MCP_ARRIVE, MCP_DONE, MCP_FAIL};
    for (uint32_t ahead = 0; ahead < 2; ++ahead, ++header.collective.epoch) {
        for (uint32_t t = 0; t < sizeof(types); ++t) {
            header.type = types[t];
            send_header(wire, heard, header, false);
        }
    }
}

static void forge_message(int wire, const struct datagram *heard, const struct mcp_header *header)
{
    struct datagram other = *heard;
    for (size_t at = MCP_MESSAGE_BYTES; at < payload_of(heard); ++at) {
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
        send_header(wire, heard, forged, false);
        forged.message.sequence = forged.message.expected;
        forged.message.round = (uint16_t)-2; /* the first one (connection.h) */
        forged.message.detail = MCP_TOO_LONG;
        forged.type = MCP_REFUSE;
        send_header(wire, heard, forged, false);
    }
}

static void forge(int wire, struct datagram *datagram)
{
    struct mcp_header heard;
    if (mcp_parse(datagram->payload, payload_of(datagram), &heard)) {
        send_as_heard(wire, datagram);
        if (mcp_is_collective(heard.type)) {
            forge_collective(wire, datagram, heard);
        } else {
            forge_message(wire, datagram, &heard);
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
