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

enum { PAYLOAD = 1000, KEY = 77 };

/* ---- the kernel ---- */

static struct {
    int error;          /* 0: as it is */
    in_addr_t to;       /* of messages for this address, in chains or not; 0: of all chains */
    uint32_t refused;   /* so often */
    uint32_t as_chains; /* so many messages were chains, refused or not */
} kernel;

int __real_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __real_sendmsg(int socket, const struct msghdr *message, int flags);
int __wrap_sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags);
ssize_t __wrap_sendmsg(int socket, const struct msghdr *message, int flags);

static bool refuses(const struct msghdr *message)
{
    const struct sockaddr_in *to = message->msg_name;
    const bool chain = 0 != message->msg_controllen;
    const bool meant = 0 != kernel.to ? kernel.to == to->sin_addr.s_addr : chain;
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
    struct mcp_address address; /* there */
    uint32_t sent, taken;
};

static void open_end(struct mcp_udp *udp)
{
    const int socket = mcp_udp_socket(htonl(INADDR_LOOPBACK), 0);
    assert_true(socket >= 0);
    assert_true(mcp_udp_open(udp, socket));
}

static int set_up(void **state)
{
    static struct ends ends;
    memset(&ends, 0, sizeof(ends));
    memset(&kernel, 0, sizeof(kernel));
    open_end(&ends.here);
    open_end(&ends.there);
    ends.address.ip = htonl(INADDR_LOOPBACK);
    ends.address.port = mcp_udp_port(ends.there.socket);
    *state = &ends;
    return 0;
}

static int tear_down(void **state)
{
    struct ends *ends = *state;
    mcp_udp_close(&ends->here);
    mcp_udp_close(&ends->there);
    return 0;
}

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
    (void)from;
    assert_int_equal(bytes, mcp_header_bytes(MCP_DATA) + PAYLOAD);
    memcpy(&header, packet, mcp_header_bytes(MCP_DATA));
    assert_int_equal(header.message.sequence, ends->taken);
    ++ends->taken;
}

static void expect_all(struct ends *ends)
{
    while (0 != mcp_udp_take(&ends->there, false, take_it, ends)) {
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

static void chains_arrive(void **state)
{
    struct ends *ends = *state;
    expect_chains(ends, true);
}

/* Errors of a destination, or of the moment. */
static void a_destination_refuses(void **state)
{
    struct ends *ends = *state;
    static const int errors[] = {EHOSTUNREACH, ENETUNREACH,  EPERM,  EACCES,  EMSGSIZE,
                                 EINVAL,       ECONNREFUSED, EAGAIN, ENOBUFS, ENOMEM};
    const struct mcp_address elsewhere = {.ip = htonl(0x7f000002), .port = ends->address.port};
    for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); ++e) {
        const uint32_t sent = ends->sent;
        kernel.error = errors[e];
        kernel.to = elsewhere.ip;
        gather(ends, &elsewhere, 4);
        ends->sent = sent; /* these do not arrive */
        gather(ends, &ends->address, 3);
        assert_int_equal(mcp_udp_flush(&ends->here), 4);
        assert_true(kernel.refused > 0);
        expect_all(ends);
        expect_chains(ends, true);
    }
}

/* The same, of the real kernel: from the loopback interface there is no way to others. */
static void the_kernel_refuses_a_destination(void **state)
{
    struct ends *ends = *state;
    const struct mcp_address elsewhere = {.ip = inet_addr("192.0.2.1"), .port = htons(9)};
    gather(ends, &elsewhere, 4);
    ends->sent = 0;
    assert_int_equal(mcp_udp_flush(&ends->here), 4);
    expect_chains(ends, true);
}

/* What kernels and interfaces say that cannot do it; the first packet shows that the way is there.
 * The others of that chain are lost packets. */
static void chains_are_not_supported(void **state)
{
    struct ends *ends = *state;
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

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chains_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_destination_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_kernel_refuses_a_destination, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chains_are_not_supported, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("udp", tests, NULL, NULL);
}
