/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how the soft NIC sends and receives UDP packets. A failure means that it loses or corrupts
 * packets, or stops using segmentation offload.
 *
 * Invariants:
 *
 * - Packets that the kernel accepts arrive in order and undamaged, alone or as chains (UDP
 *   segmentation offload).
 * - An error of one destination does not affect others.
 * - If the kernel does not support chains, they are not tried again, and packets are sent
 *   individually.
 *
 * The test replaces the kernel's response to a send if `kernel.error` is set.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "firmware/soft/udp.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/test.h"

enum { PAYLOAD = 1000, KEY = 77 };

/* ---- the kernel ---- */

static struct {
    int error;          /* 0: the real kernel's result */
    struct mcp_ip to;   /* messages to this address fail; unset: all chains fail */
    uint32_t failed;    /* number of failed sends */
    uint32_t as_chains; /* number of messages that were chains, failed ones included */
} kernel;

int __real_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

static bool fails(const struct msghdr *message)
{
    const struct mcp_ip to = mcp_address_ip(message->msg_name);
    const bool chain = 0 != message->msg_controllen;
    const bool affected = mcp_ip_is_none(&kernel.to) ? chain : mcp_same_ip(&kernel.to, &to);
    kernel.as_chains += chain;
    if (0 == kernel.error || !affected) {
        return false;
    }
    ++kernel.failed;
    errno = kernel.error;
    return true;
}

/* Sends one message per call, which the kernel may do as well. */
int __wrap_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags)
{
    (void)count;
    return fails(&messages->msg_hdr) ? -1 : __real_sendmmsg(socket, messages, 1, flags);
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
    return fails(message) ? -1 : __real_sendmsg(socket, message, flags);
}

/* ---- two sockets ---- */

struct ends {
    struct mcp_udp here, there;
    struct mcp_address address;   /* address of `there` */
    struct mcp_address sender;    /* address of `here`, as the receiver gets it */
    struct mcp_address elsewhere; /* without a socket */
    struct mcp_address nowhere;   /* without a route */
    uint32_t sent, received;
};

/* The addresses of both sockets, and of destinations without a socket or a route. IPv4 uses a
 * socket of its own, or one that serves both families. */
enum { MOST_ADDRESSES = 2 };
static const struct wire {
    const char *address[MOST_ADDRESSES];
    const char *elsewhere, *nowhere;
} wires[] = {
    {{"::ffff:127.0.0.1"}, "::ffff:127.0.0.2", "::ffff:192.0.2.1"},
    {{"::1"}, "fd77::2", "::ffff:192.0.2.1"},
    {{"::ffff:127.0.0.1", "::1"}, "::ffff:127.0.0.2", "::ffff:255.255.255.255"},
};
enum { WIRES = sizeof(wires) / sizeof(wires[0]) };

/* Open an end of the wire. Returns false if this machine has no such addresses. */
static bool open_end(const struct wire *wire, struct mcp_udp *udp)
{
    struct mcp_local_address addresses[MOST_ADDRESSES];
    uint32_t count = 0;
    for (; count < MOST_ADDRESSES && NULL != wire->address[count]; ++count) {
        addresses[count].ip = ip_of(wire->address[count]);
    }
    const int socket = mcp_udp_socket(addresses, count, 0);
    assert_true(socket >= 0 || wire != &wires[0]);
    if (socket >= 0) {
        assert_true(mcp_udp_open(udp, socket));
    }
    return socket >= 0;
}

static struct mcp_address address_of(const struct mcp_udp *from, const char *text, uint16_t port)
{
    const struct mcp_ip ip = ip_of(text);
    return mcp_address_for(from->family, &ip, port);
}

static bool open_ends(const struct wire *wire, struct ends *ends)
{
    memset(ends, 0, sizeof(*ends));
    memset(&kernel, 0, sizeof(kernel));
    if (!open_end(wire, &ends->here)) {
        return false;
    }
    assert_true(open_end(wire, &ends->there));
    const uint16_t port = mcp_udp_port(ends->there.socket);
    assert_int_not_equal(port, 0);
    ends->address = address_of(&ends->here, wire->address[0], port);
    ends->sender = address_of(&ends->there, wire->address[0], mcp_udp_port(ends->here.socket));
    ends->elsewhere = address_of(&ends->here, wire->elsewhere, port);
    ends->nowhere = address_of(&ends->here, wire->nowhere, htons(9));
    return true;
}

static void close_ends(struct ends *ends)
{
    mcp_udp_close(&ends->here);
    mcp_udp_close(&ends->there);
}

/* Run a test with all wires that this machine supports. */
static void with_all_wires(void (*test)(struct ends *ends))
{
    static struct ends ends;
    for (size_t w = 0; w < WIRES; ++w) {
        if (open_ends(&wires[w], &ends)) {
            test(&ends);
            close_ends(&ends);
        }
    }
}

#define WITH_ALL_WIRES(name)                                                                       \
    static void name##_there(struct ends *ends);                                                   \
    TEST(name)                                                                                     \
    {                                                                                              \
        with_all_wires(name##_there);                                                              \
    }                                                                                              \
    static void name##_there(struct ends *ends)

/* Queue packets with a payload and consecutive sequence numbers. */
static void queue_packets(struct ends *ends, const struct mcp_address *to, uint32_t packets)
{
    static const uint8_t payload[PAYLOAD] = {1, 2, 3};
    for (uint32_t p = 0; p < packets; ++p) {
        struct mcp_header header = {.type = MCP_DATA, .key = KEY};
        header.message.sequence = ends->sent++;
        mcp_udp_gather(&ends->here, to, &header, payload, sizeof(payload));
    }
}

static void check_packet(void *context, const struct mcp_address *from, const void *packet,
                         size_t bytes)
{
    struct ends *ends = context;
    struct mcp_header header;
    assert_true(mcp_same_address(from, &ends->sender));
    assert_int_equal(bytes, mcp_header_bytes(MCP_DATA) + PAYLOAD);
    memcpy(&header, packet, mcp_header_bytes(MCP_DATA));
    assert_int_equal(header.message.sequence, ends->received);
    ++ends->received;
}

static void expect_all(struct ends *ends)
{
    while (MCP_UDP_NOTHING != mcp_udp_take(&ends->there, false, check_packet, ends)) {
    }
    assert_int_equal(ends->received, ends->sent);
}

/* Check whether packets are sent as chains. */
static void expect_chains(struct ends *ends, bool chains)
{
    kernel.error = 0;
    kernel.as_chains = 0;
    queue_packets(ends, &ends->address, 5);
    assert_int_equal(mcp_udp_flush(&ends->here), 0);
    assert_int_equal(kernel.as_chains, chains);
    expect_all(ends);
}

/* ---- tests ---- */

WITH_ALL_WIRES(chains_arrive)
{
    expect_chains(ends, true);
}

/* Temporary errors, and errors of one destination, do not affect later packets. */
WITH_ALL_WIRES(a_destination_refuses)
{
    static const int errors[] = {EHOSTUNREACH, ENETUNREACH,  EPERM,  EACCES,  EMSGSIZE,
                                 EINVAL,       ECONNREFUSED, EAGAIN, ENOBUFS, ENOMEM};
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); ++e) {
        const uint32_t sent = ends->sent;
        kernel.error = errors[e];
        kernel.to = mcp_address_ip(&ends->elsewhere);
        queue_packets(ends, &ends->elsewhere, 4);
        ends->sent = sent; /* these do not arrive */
        queue_packets(ends, &ends->address, 3);
        assert_int_equal(mcp_udp_flush(&ends->here), 4);
        assert_true(kernel.failed > 0);
        expect_all(ends);
        expect_chains(ends, true);
    }
}

/* The real kernel refuses a destination: the loopback interface has no route to other hosts. */
WITH_ALL_WIRES(the_kernel_refuses_a_destination)
{
    queue_packets(ends, &ends->nowhere, 4);
    ends->sent = 0;
    assert_int_equal(mcp_udp_flush(&ends->here), 4);
    expect_chains(ends, true);
}

/* Kernels and interfaces without segmentation offload return errors. The first packet, sent
 * alone, shows that the destination is reachable. The others of that chain are lost. */
WITH_ALL_WIRES(unsupported_chains)
{
    static const int errors[] = {EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT};
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); ++e) {
        ends->here.chains = true;
        kernel.error = errors[e];
        kernel.failed = 0;
        const uint32_t sent = ends->sent;
        queue_packets(ends, &ends->address, 4);
        assert_int_equal(mcp_udp_flush(&ends->here), 3);
        ends->sent = sent + 1;
        expect_all(ends);
        assert_int_equal(kernel.failed, 1);
        expect_chains(ends, false);
    }
}

static void check_empty_packet(void *context, const struct mcp_address *from, const void *packet,
                               size_t bytes)
{
    struct ends *ends = context;
    (void)packet;
    assert_true(mcp_same_address(from, &ends->sender));
    assert_int_equal(bytes, 0);
    ++ends->received;
}

/* An empty datagram counts as a received packet, and the next call finds no other. */
WITH_ALL_WIRES(an_empty_datagram_is_a_packet)
{
    for (int chains = 0; chains <= 1; ++chains) {
        ends->received = 0;
        assert_int_equal(sendto(ends->here.socket, NULL, 0, 0, &ends->address.at.any,
                                mcp_address_bytes(&ends->address)),
                         0);
        assert_int_equal(mcp_udp_take(&ends->there, chains, check_empty_packet, ends), 0);
        assert_int_equal(ends->received, 1);
        assert_int_equal(mcp_udp_take(&ends->there, chains, check_empty_packet, ends),
                         MCP_UDP_NOTHING);
        assert_int_equal(ends->received, 1);
    }
}
