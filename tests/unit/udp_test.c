/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The soft NIC's wire. Invariants: what the kernel takes arrives, in order and undamaged, alone or
 * as chains; what one destination refuses changes nothing for the others; a kernel that does not
 * know of chains is not asked for them again, and gets the packets one by one.
 *
 * The kernel's answer to a chain is this test's where `refusal` says so; else it is real.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "firmware/soft/udp.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"

enum { PAYLOAD = 1000, KEY = 77 };

/* ---- the kernel ---- */

static struct {
    int error;          /* 0: as it is */
    struct mcp_ip to;   /* of messages for this address, in chains or not; none: of all chains */
    uint32_t refused;   /* so often */
    uint32_t as_chains; /* so many messages were chains, refused or not */
} kernel;

int __real_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

static bool refuses(const struct msghdr *message)
{
    const struct mcp_ip to = mcp_address_ip(message->msg_name);
    const bool chain = 0 != message->msg_controllen;
    const bool meant = mcp_ip_is_none(&kernel.to) ? chain : mcp_same_ip(&kernel.to, &to);
    kernel.as_chains += chain;
    if (0 == kernel.error || !meant) {
        return false;
    }
    ++kernel.refused;
    errno = kernel.error;
    return true;
}

/* One message a call, as the kernel may. */
int __wrap_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags)
{
    (void)count;
    return refuses(&messages->msg_hdr) ? -1 : __real_sendmmsg(socket, messages, 1, flags);
}

ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags)
{
    return refuses(message) ? -1 : __real_sendmsg(socket, message, flags);
}

/* ---- a wire and its other end ---- */

struct ends {
    struct mcp_udp here, there;
    struct mcp_address address;   /* there, */
    struct mcp_address sender;    /* ... and here, as they are seen from the other end */
    struct mcp_address elsewhere; /* nobody is there, */
    struct mcp_address nowhere;   /* ... and no way leads there */
    uint32_t sent, taken;
};

/* Addresses of the ends' sockets, and what lies elsewhere. IPv4 goes by a socket of its own, or by
 * one that serves both families. */
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

/* False: this machine has no such addresses. */
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

/* Over all wires that this machine has. */
static void over_all(void (*test)(struct ends *ends))
{
    static struct ends ends;
    for (size_t w = 0; w < WIRES; ++w) {
        if (open_ends(&wires[w], &ends)) {
            test(&ends);
            close_ends(&ends);
        }
    }
}

/* A test that is played over all of them. */
#define OVER_ALL(name)                                                                             \
    static void name##_there(struct ends *ends);                                                   \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        over_all(name##_there);                                                                    \
    }                                                                                              \
    static void name##_there(struct ends *ends)

/* Packets with a payload, which are numbered by their epochs. */
static void gather(struct ends *ends, const struct mcp_address *to, uint32_t packets)
{
    static const uint8_t payload[PAYLOAD] = {1, 2, 3};
    for (uint32_t p = 0; p < packets; ++p) {
        struct mcp_header header = {.type = MCP_DATA, .key = KEY};
        header.message.sequence = ends->sent++;
        mcp_udp_gather(&ends->here, to, &header, payload, sizeof(payload));
    }
}

static void take_it(void *context, const struct mcp_address *from, const void *packet, size_t bytes)
{
    struct ends *ends = context;
    struct mcp_header header;
    assert_true(mcp_same_address(from, &ends->sender));
    assert_int_equal(bytes, mcp_header_bytes(MCP_DATA) + PAYLOAD);
    memcpy(&header, packet, mcp_header_bytes(MCP_DATA));
    assert_int_equal(header.message.sequence, ends->taken);
    ++ends->taken;
}

static void expect_all(struct ends *ends)
{
    while (MCP_UDP_NOTHING != mcp_udp_take(&ends->there, false, take_it, ends)) {
    }
    assert_int_equal(ends->taken, ends->sent);
}

/* Are chains still sent? */
static void expect_chains(struct ends *ends, bool chains)
{
    kernel.error = 0;
    kernel.as_chains = 0;
    gather(ends, &ends->address, 5);
    assert_int_equal(mcp_udp_flush(&ends->here), 0);
    assert_int_equal(kernel.as_chains, chains);
    expect_all(ends);
}

/* ---- tests ---- */

OVER_ALL(chains_arrive)
{
    expect_chains(ends, true);
}

/* Errors of a destination, or of the moment. */
OVER_ALL(a_destination_refuses)
{
    static const int errors[] = {EHOSTUNREACH, ENETUNREACH,  EPERM,  EACCES,  EMSGSIZE,
                                 EINVAL,       ECONNREFUSED, EAGAIN, ENOBUFS, ENOMEM};
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); ++e) {
        const uint32_t sent = ends->sent;
        kernel.error = errors[e];
        kernel.to = mcp_address_ip(&ends->elsewhere);
        gather(ends, &ends->elsewhere, 4);
        ends->sent = sent; /* these do not arrive */
        gather(ends, &ends->address, 3);
        assert_int_equal(mcp_udp_flush(&ends->here), 4);
        assert_true(kernel.refused > 0);
        expect_all(ends);
        expect_chains(ends, true);
    }
}

/* The same, of the real kernel: from the loopback interface there is no way to others. */
OVER_ALL(the_kernel_refuses_a_destination)
{
    gather(ends, &ends->nowhere, 4);
    ends->sent = 0;
    assert_int_equal(mcp_udp_flush(&ends->here), 4);
    expect_chains(ends, true);
}

/* What kernels and interfaces say that cannot do it; the first packet shows that the way is there.
 * The others of that chain are lost packets. */
OVER_ALL(chains_are_not_supported)
{
    static const int errors[] = {EIO, EINVAL, EMSGSIZE, EOPNOTSUPP, ENOPROTOOPT};
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); ++e) {
        ends->here.chains = true;
        kernel.error = errors[e];
        kernel.refused = 0;
        const uint32_t sent = ends->sent;
        gather(ends, &ends->address, 4);
        assert_int_equal(mcp_udp_flush(&ends->here), 3);
        ends->sent = sent + 1;
        expect_all(ends);
        assert_int_equal(kernel.refused, 1);
        expect_chains(ends, false);
    }
}

static void take_nothing(void *context, const struct mcp_address *from, const void *packet,
                         size_t bytes)
{
    struct ends *ends = context;
    (void)packet;
    assert_true(mcp_same_address(from, &ends->sender));
    assert_int_equal(bytes, 0);
    ++ends->taken;
}

/* One packet, and something has come: the one behind it is taken next. */
OVER_ALL(an_empty_datagram_is_a_packet)
{
    for (int chains = 0; chains <= 1; ++chains) {
        ends->taken = 0;
        assert_int_equal(sendto(ends->here.socket, NULL, 0, 0, &ends->address.at.any,
                                mcp_address_bytes(&ends->address)),
                         0);
        assert_int_equal(mcp_udp_take(&ends->there, chains, take_nothing, ends), 0);
        assert_int_equal(ends->taken, 1);
        assert_int_equal(mcp_udp_take(&ends->there, chains, take_nothing, ends), MCP_UDP_NOTHING);
        assert_int_equal(ends->taken, 1);
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_arrive),
        cmocka_unit_test(a_destination_refuses),
        cmocka_unit_test(the_kernel_refuses_a_destination),
        cmocka_unit_test(chains_are_not_supported),
        cmocka_unit_test(an_empty_datagram_is_a_packet),
    };
    return cmocka_run_group_tests_name("udp", tests, NULL, NULL);
}
