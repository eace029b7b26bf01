/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nicbarr_raw_udp: measures the minimum cost of a message between two hosts, by UDP.
 *
 * It is a program for users, which bench/hosts.sh also starts on each of two hosts. It shows how
 * far a barrier across hosts is from the limit of the network. On one host the program replies to
 * packets. On the other host it repeatedly sends a packet of 24 bytes, the size of a barrier's
 * packet, and waits for the reply. Both sides wait in two ways, by polling and by blocking in
 * recv(), which alternate from chunk to chunk, so that changes in the speed of the machine affect
 * both. Between polls the program yields the core, because there may be fewer cores than hosts.
 *
 * A packet specifies how its receiver has to wait for the next packet. Packets are not
 * retransmitted, because an idle network on one machine does not lose any. If a packet is lost, the
 * program ends with an error. */
#include <argp.h>
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "alloc.h"
#include "argp_number.h"
#include "chunk.h"
#include "stats.h"

enum { TIMEOUT_S = 5 };
static const char port[] = "7399";
enum way { POLLING, BLOCKING, WAYS, END = WAYS };
static const char *const way_names[WAYS] = {"polling", "blocking"};

/* A packet of the same size as a packet of a barrier. */
struct packet {
    uint32_t number;
    uint32_t way; /* how to wait for the next packet; END: there is no next packet */
    uint8_t rest[16];
};

struct address {
    struct sockaddr_storage at;
    socklen_t bytes;
};

struct settings {
    struct address here, peer; /* if `peer` is empty: reply at `here` */
    unsigned chunks;
    bool csv;
};

struct link {
    int socket;
    uint32_t number;
    enum way way;
};

static _Noreturn void exit_with_errno(const char *what)
{
    fprintf(stderr, "nicbarr_raw_udp: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- options ---- */

/* libc finds this variable by its name, so -fvisibility=hidden must not hide it. */
__attribute__((visibility("default"))) const char *argp_program_version =
    "nicbarr_raw_udp " NICBARR_VERSION;

static const struct argp_option argp_options[] = {
    {"to", 't', "ADDRESS", 0,
     "Measure the round trip to the nicbarr_raw_udp that answers at this address (default: answer)",
     0},
    {"at", 'a', "ADDRESS", 0,
     "Answer at this address of this host, :: for all of IPv6 (default: 0.0.0.0, all of IPv4)", 0},
    {"chunks", 'c', "N", 0, "Samples of each way to wait (default 300)", 0},
    {"csv", 'v', NULL, 0, "Print comma-separated values", 0},
    {0},
};

/* Parses an address. Any other text ends the program with a message. */
static void read_address(struct argp_state *state, const char *text, struct address *address)
{
    const struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found;
    if (getaddrinfo(text, port, &wanted, &found)) {
        argp_error(state, "'%s' is not an IPv4 or IPv6 address", text);
        return;
    }
    memcpy(&address->at, found->ai_addr, found->ai_addrlen);
    address->bytes = found->ai_addrlen;
    freeaddrinfo(found);
}

static error_t parse_raw_udp_option(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    switch (key) {
    case 't':
        read_address(state, argument, &settings->peer);
        return 0;
    case 'a':
        read_address(state, argument, &settings->here);
        return 0;
    case 'c':
        settings->chunks = parse_argp_number(state, argument, 1, 100000);
        return 0;
    case 'v':
        settings->csv = true;
        return 0;
    case ARGP_KEY_INIT:
        read_address(state, "0.0.0.0", &settings->here);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unknown argument '%s'", argument);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = argp_options,
    .parser = parse_raw_udp_option,
    .doc = "Measures the round trip of a small UDP packet between two hosts.",
};

/* ---- packets ---- */

static struct link open_link(const struct address *at, bool answering)
{
    struct link link = {.socket = socket(at->at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0),
                        .way = BLOCKING};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    if (link.socket < 0 ||
        (answering && bind(link.socket, (const struct sockaddr *)&at->at, at->bytes)) ||
        (!answering && setsockopt(link.socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout))))
        exit_with_errno("socket");
    return link;
}

static void connect_to(const struct link *link, const struct address *there)
{
    if (connect(link->socket, (const struct sockaddr *)&there->at, there->bytes))
        exit_with_errno("connect");
}

static void receive_udp_packet(const struct link *link, enum way way, struct packet *packet,
                               struct address *from)
{
    ssize_t got;
    from->bytes = sizeof(from->at);
    while ((got = recvfrom(link->socket, packet, sizeof(*packet), way == POLLING ? MSG_DONTWAIT : 0,
                           (struct sockaddr *)&from->at, &from->bytes)) < 0 &&
           way == POLLING && errno == EAGAIN)
        sched_yield();
    if (got != (ssize_t)sizeof(*packet))
        exit_with_errno(got < 0 ? "no answer" : "an unexpected packet");
}

static void send_udp_packet(const struct link *link, const struct packet *packet)
{
    if (send(link->socket, packet, sizeof(*packet), 0) != (ssize_t)sizeof(*packet))
        exit_with_errno("send");
}

static void answer_packets(struct link *link)
{
    struct packet packet;
    struct address from;
    puts("ready");
    fflush(stdout);
    receive_udp_packet(link, BLOCKING, &packet, &from);
    connect_to(link, &from);
    while (packet.way != END) {
        enum way way = packet.way == POLLING ? POLLING : BLOCKING;
        send_udp_packet(link, &packet);
        receive_udp_packet(link, way, &packet, &from);
    }
    send_udp_packet(link, &packet);
}

static void round_trip(struct link *link, enum way next)
{
    struct packet packet = {.number = ++link->number, .way = next};
    struct address from;
    send_udp_packet(link, &packet);
    receive_udp_packet(link, link->way, &packet, &from);
    if (packet.number != link->number) {
        errno = EPROTO;
        exit_with_errno("an answer out of order");
    }
}

/* ---- measuring ---- */

/* Returns the microseconds of `iterations` round trips, after some that synchronise both sides. */
static double run_round_trips(struct link *link, enum way way, unsigned iterations)
{
    link->way = way;
    for (unsigned i = chunk_approach(iterations) + 1; i > 0; i--)
        round_trip(link, way);
    double start = chunk_clock();
    for (unsigned i = iterations; i > 0; i--)
        round_trip(link, way);
    return chunk_clock() - start;
}

static unsigned find_iterations(struct link *link, enum way way)
{
    struct chunk_search search = chunk_search();
    while (!chunk_found(&search, run_round_trips(link, way, search.iterations)))
        ;
    return search.iterations;
}

static void report_times(const struct settings *settings, double *samples[WAYS])
{
    if (!settings->csv)
        printf("# microseconds of a UDP round trip, quartiles of %u interleaved "
               "chunks\n%-10s%9s%9s%9s\n",
               settings->chunks, "# waiting", "q1", "median", "q3");
    for (int way = 0; way < WAYS; way++) {
        struct nicbarr_quartiles time = stats_quartiles(samples[way], settings->chunks);
        printf(settings->csv ? "%s,%.3f,%.3f,%.3f\n" : "%-10s%9.3f%9.3f%9.3f\n", way_names[way],
               time.q1, time.median, time.q3);
    }
}

static void measure_ways(struct link *link, const struct settings *settings)
{
    double *samples[WAYS];
    unsigned iterations[WAYS];
    for (int way = 0; way < WAYS; way++) {
        samples[way] = bench_alloc(settings->chunks, sizeof(*samples[way]));
        iterations[way] = find_iterations(link, way);
    }
    for (unsigned chunk = 0; chunk < settings->chunks; chunk++)
        for (int way = 0; way < WAYS; way++)
            samples[way][chunk] = run_round_trips(link, way, iterations[way]) / iterations[way];
    round_trip(link, END);
    report_times(settings, samples);
    for (int way = 0; way < WAYS; way++)
        free(samples[way]);
}

int main(int argc, char **argv)
{
    struct settings settings = {.chunks = 300};
    argp_parse(&argp, argc, argv, 0, NULL, &settings);
    const bool answering = settings.peer.bytes == 0;
    struct link link = open_link(answering ? &settings.here : &settings.peer, answering);
    if (answering) {
        answer_packets(&link);
        return EXIT_SUCCESS;
    }
    connect_to(&link, &settings.peer);
    measure_ways(&link, &settings);
    return EXIT_SUCCESS;
}
