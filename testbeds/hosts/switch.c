/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network switch in user space, which forwards Ethernet frames between network interfaces. To
 * test programs on bad networks, it loses, duplicates, delays, reorders, corrupts and filters UDP
 * packets as requested.
 *
 * Called by nethosts instead of the kernel's bridge, in a network namespace that contains only one
 * end of each host's cable. Interface number i (from 1) leads to host i. Prints "ready" when hosts
 * may begin. On SIGUSR1, and when it is terminated by SIGTERM, it prints its counters in one line.
 *
 * Only UDP packets are subject to faults, and with --port only those from or to one port. All other
 * packets are forwarded immediately, unchanged and in order. A delayed packet is sent before any
 * packet that arrives after its due time. TCP frames may be larger than the MTU (segmentation
 * offload), and are forwarded without being split. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "testbeds/hosts/capture.h"
#include "testbeds/hosts/faults.h"
#include "testbeds/hosts/frame.h"
#include "testbeds/hosts/held.h"
#include "os/clock.h"

enum {
    PORTS = 256,
    BATCH = 64,          /* frames read from a port before the next port */
    BUFFER = 16 << 20,   /* receive buffer per port in bytes, so large that only faults lose
                            packets */
    SIGNALS = UINT16_MAX /* identifies the signals in epoll; ports are identified by their
                            numbers */
};

/* A cable: the interface's socket, and the last source address of its other end. */
struct port {
    int socket;
    bool learned;
    uint8_t address[ETH_ALEN];
};

struct network_switch {
    struct port port[PORTS];
    uint32_t ports;
    uint16_t udp_port; /* 0: all ports */
    struct faults faults;
    struct held held;
    struct capture capture;
    struct {
        uint64_t frames, chosen, cut, lost, doubled, held_back, damaged, repaired, refused;
    } count;
};

static void fail(const char *what)
{
    fprintf(stderr, "switch: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static void report(const struct network_switch *sw)
{
    fprintf(stderr,
            "switch: frames %" PRIu64 ", udp %" PRIu64 ", cut %" PRIu64 ", lost %" PRIu64
            ", duplicated %" PRIu64 ", reordered %" PRIu64 ", corrupted %" PRIu64
            " (of these repaired %" PRIu64 "), refused %" PRIu64 ", held %" PRIu32 "\n",
            sw->count.frames, sw->count.chosen, sw->count.cut, sw->count.lost, sw->count.doubled,
            sw->count.held_back, sw->count.damaged, sw->count.repaired, sw->count.refused,
            sw->held.count);
}

/* ---- forwarding ---- */

static void put(struct network_switch *sw, uint32_t to, const struct frame *frame)
{
    struct iovec part[2] = {{(void *)&frame->offload, sizeof(frame->offload)},
                            {(void *)frame->bytes, frame->count}};
    const struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    if (sendmsg(sw->port[to].socket, &message, MSG_DONTWAIT) < 0) {
        ++sw->count.refused;
    }
}

/* Returns the port to the frame's destination, or sw->ports if it is unknown. */
static uint32_t route(const struct network_switch *sw, const struct frame *frame)
{
    uint32_t to = 0;
    while (to < sw->ports &&
           !(sw->port[to].learned && 0 == memcmp(sw->port[to].address, frame->bytes, ETH_ALEN))) {
        ++to;
    }
    return to;
}

/* Returns whether a frame from port `from` is forwarded to port `to`. Frames to unknown
 * destinations are forwarded to all other ports. */
static bool goes_to(const struct network_switch *sw, uint32_t from, uint32_t to, uint32_t routed)
{
    return to != from && (to == routed || sw->ports == routed);
}

static void forward(struct network_switch *sw, uint32_t from, const struct frame *frame)
{
    const uint32_t routed = route(sw, frame);
    for (uint32_t to = 0; to < sw->ports; ++to) {
        if (goes_to(sw, from, to, routed)) {
            put(sw, to, frame);
        }
    }
}

static void put_later(struct network_switch *sw, uint32_t to, const struct frame *frame,
                      uint64_t hold_ns)
{
    if (0 == hold_ns) {
        put(sw, to, frame);
    } else if (!held_put(&sw->held, os_now_ns() + hold_ns, to, frame)) {
        ++sw->count.refused;
    }
}

static void put_due(struct network_switch *sw)
{
    struct held_entry entry;
    while (held_take(&sw->held, os_now_ns(), &entry)) {
        put(sw, entry.to, entry.frame);
        free(entry.frame);
    }
}

/* ---- faults ---- */

static bool chosen(const struct network_switch *sw, const struct frame *frame,
                   struct frame_udp *udp)
{
    return frame_find_udp(frame, udp) &&
           (0 == sw->udp_port || udp->from == sw->udp_port || udp->to == sw->udp_port);
}

static void damage(struct network_switch *sw, struct frame *frame, const struct frame_udp *udp,
                   const struct fate *fate)
{
    if (0 == udp->payload_bytes) {
        return;
    }
    frame_flip(frame, udp, fate->bit % (8 * udp->payload_bytes), fate->repaired);
    ++sw->count.damaged;
    sw->count.repaired += fate->repaired;
}

/* Forwards the frame to all ports that must receive it, after a delay. */
static void forward_later(struct network_switch *sw, uint32_t from, const struct frame *frame,
                          uint64_t hold_ns)
{
    const uint32_t routed = route(sw, frame);
    for (uint32_t to = 0; to < sw->ports; ++to) {
        if (!goes_to(sw, from, to, routed)) {
            continue;
        }
        if (faults_cut(&sw->faults, sw->count.chosen, from + 1, to + 1)) {
            ++sw->count.cut;
        } else {
            put_later(sw, to, frame, hold_ns);
        }
    }
}

static void forward_chosen(struct network_switch *sw, uint32_t from, struct frame *frame,
                           const struct frame_udp *udp)
{
    struct fate fate;
    ++sw->count.chosen;
    frame_complete(frame, udp);
    capture_put(&sw->capture, frame);
    faults_next(&sw->faults, &fate);
    if (fate.lost) {
        ++sw->count.lost;
        return;
    }
    if (fate.doubled) {
        ++sw->count.doubled;
        forward_later(sw, from, frame, fate.copy_hold_ns);
    }
    if (fate.corrupted) {
        damage(sw, frame, udp, &fate);
    }
    sw->count.held_back += fate.held_back;
    forward_later(sw, from, frame, fate.hold_ns);
}

static void handle(struct network_switch *sw, uint32_t from, struct frame *frame)
{
    struct frame_udp udp;
    ++sw->count.frames;
    sw->port[from].learned = true;
    memcpy(sw->port[from].address, frame->bytes + ETH_ALEN, ETH_ALEN);
    if (chosen(sw, frame, &udp)) {
        forward_chosen(sw, from, frame, &udp);
    } else {
        forward(sw, from, frame);
    }
}

/* Receives frames from a port, up to a batch. */
static void take(struct network_switch *sw, uint32_t from)
{
    static _Alignas(struct frame) uint8_t memory[sizeof(struct frame) + FRAME_MOST];
    struct frame *frame = (struct frame *)memory;
    for (int i = 0; i < BATCH; ++i) {
        struct iovec part[2] = {{&frame->offload, sizeof(frame->offload)},
                                {frame->bytes, FRAME_MOST}};
        struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
        const ssize_t got = recvmsg(sw->port[from].socket, &message, MSG_DONTWAIT);
        if (got < 0 && EAGAIN != errno && EINTR != errno && ENETDOWN != errno) {
            fail("receiving");
        }
        if (got < (ssize_t)(sizeof(frame->offload) + ETH_HLEN)) {
            return;
        }
        frame->count = (size_t)got - sizeof(frame->offload);
        put_due(sw);
        handle(sw, from, frame);
    }
}

/* ---- from start to end ---- */

static int open_socket(const char *interface)
{
    const int on = 1, buffer = BUFFER;
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0) {
        fail("packet socket");
    }
    /* Without the necessary privilege, the size of the buffer is subject to the limit of the
     * system. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) < 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
    const struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                        .sll_protocol = htons(ETH_P_ALL),
                                        .sll_ifindex = (int)if_nametoindex(interface)};
    if (0 == address.sll_ifindex ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        fail(interface);
    }
    return fd;
}

static void watch(int poll, int fd, uint32_t number)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0) {
        fail("epoll");
    }
}

/* Handles a signal. SIGUSR1 requests the counters; SIGTERM and SIGINT end the switch. Returns false
 * if the switch has to end. */
static bool handle_signal(const struct network_switch *sw, int signals)
{
    struct signalfd_siginfo info;
    if (sizeof(info) != read(signals, &info, sizeof(info))) {
        fail("signalfd");
    }
    report(sw);
    return SIGUSR1 == info.ssi_signo;
}

static int wait_for(int poll, struct epoll_event *event, int most, uint64_t until_ns)
{
    const uint64_t now = os_now_ns();
    const struct timespec left = os_timespec_of_ns(until_ns > now ? until_ns - now : 0);
    const int events = epoll_pwait2(poll, event, most, 0 == until_ns ? NULL : &left, NULL);
    if (events < 0 && EINTR != errno) {
        fail("epoll");
    }
    return events;
}

static void run(struct network_switch *sw, int poll, int signals)
{
    struct epoll_event event[PORTS];
    for (;;) {
        const int events = wait_for(poll, event, PORTS, held_first_ns(&sw->held));
        put_due(sw);
        for (int i = 0; i < events; ++i) {
            if (event[i].data.u32 < sw->ports) {
                take(sw, event[i].data.u32);
            } else if (!handle_signal(sw, signals)) {
                return;
            }
        }
    }
}

static void usage(void)
{
    fprintf(stderr,
            "usage: switch [OPTION...] INTERFACE...\n"
            "  --loss, --duplicate, --reorder, --corrupt PERCENT; --delay MICROSECONDS\n"
            "  --cut HOST-HOST [--cut-after PACKETS]; --seed N; --port N (UDP); --record FILE\n");
    exit(64);
}

static double number(const char *text, double most)
{
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (0 != errno || text == end || '\0' != *end || !(value >= 0) || value > most) {
        fprintf(stderr, "switch: '%s' is not a number from 0 to %.0f\n", text, most);
        exit(64);
    }
    return value;
}

static void add_cut(struct faults *faults, const char *text)
{
    char rest;
    if (FAULTS_CUTS == faults->cuts ||
        2 != sscanf(text, "%" SCNu32 "-%" SCNu32 "%c", &faults->cut[faults->cuts].one,
                    &faults->cut[faults->cuts].other, &rest)) {
        fprintf(stderr, "switch: --cut takes two hosts, such as 1-2, not '%s'\n", text);
        exit(64);
    }
    ++faults->cuts;
}

static const struct option options[] = {
    {"loss", required_argument, NULL, 'l'},
    {"duplicate", required_argument, NULL, 'd'},
    {"reorder", required_argument, NULL, 'o'},
    {"corrupt", required_argument, NULL, 'c'},
    {"delay", required_argument, NULL, 't'},
    {"seed", required_argument, NULL, 's'},
    {"port", required_argument, NULL, 'p'},
    {"cut", required_argument, NULL, 'x'},
    {"cut-after", required_argument, NULL, 'a'},
    {"record", required_argument, NULL, 'r'},
    {0},
};

static void set_option(struct network_switch *sw, int key)
{
    struct faults *faults = &sw->faults;
    switch (key) {
    case 'l':
        faults->loss = number(optarg, 100) / 100;
        return;
    case 'd':
        faults->duplicate = number(optarg, 100) / 100;
        return;
    case 'o':
        faults->reorder = number(optarg, 100) / 100;
        return;
    case 'c':
        faults->corrupt = number(optarg, 100) / 100;
        return;
    case 't':
        faults->delay_ns = (uint64_t)(number(optarg, 1e9) * 1000);
        return;
    case 's':
        faults->random = (uint64_t)number(optarg, 1e15);
        return;
    case 'p':
        sw->udp_port = (uint16_t)number(optarg, UINT16_MAX);
        return;
    case 'x':
        add_cut(faults, optarg);
        return;
    case 'a':
        faults->cut_after = (uint64_t)number(optarg, 1e15);
        return;
    case 'r':
        if (!capture_open(&sw->capture, optarg)) {
            fail(optarg);
        }
        return;
    default:
        usage();
    }
}

int main(int argc, char **argv)
{
    static struct network_switch sw;
    int key;
    while (-1 != (key = getopt_long(argc, argv, "", options, NULL))) {
        set_option(&sw, key);
    }
    if (optind == argc || argc - optind > PORTS) {
        usage();
    }
    sigset_t handled;
    sigemptyset(&handled);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGUSR1);
    sigprocmask(SIG_BLOCK, &handled, NULL);
    const int signals = signalfd(-1, &handled, SFD_CLOEXEC);
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    watch(poll, signals, SIGNALS);
    for (; optind < argc; ++optind) {
        sw.port[sw.ports].socket = open_socket(argv[optind]);
        watch(poll, sw.port[sw.ports].socket, sw.ports);
        ++sw.ports;
    }
    puts("ready");
    fclose(stdout);
    run(&sw, poll, signals);
    capture_close(&sw.capture);
    return EXIT_SUCCESS;
}
