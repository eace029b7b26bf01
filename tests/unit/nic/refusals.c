/* SPDX-License-Identifier: BSD-3-Clause */
/* See refusals.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libmyr/soft/nic_inside.h"
#include "libmyr/soft/nic_inspect.h"
#include "tests/unit/crew.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/refusals.h"
#include "tests/unit/nic/world.h"
#include "tests/unit/test.h"

void expect_refusal(struct myr_segment *segment, const struct myr_soft_options *options,
                    enum myr_status status, const char *text)
{
    struct myr_soft_nic *nic;
    struct myr_error error = {0};
    assert_int_equal(myr_soft_open(segment, options, &nic, &error), status);
    if (NULL == strstr(error.text, text)) {
        fail_msg("\"%s\" is not in \"%s\"", text, error.text);
    }
}

TEST(no_network)
{
    const struct myr_soft_options nowhere = {.network = "10.255.255.0/24,nosuch0"};
    struct myr_segment *segment;
    struct myr_soft_view view;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &nowhere, MYR_ERR_NOT_THERE, "nosuch0");
    expect_refusal(segment, &loopback, MYR_ERR_NOT_THERE, "nosuch0"); /* the same message */
    assert_int_equal(myr_inspect_nic(myr_segment_fd(segment), &view, NULL), MYR_OK);
    assert_false(view.there);
    assert_non_null(strstr(view.why, "nosuch0"));
    myr_soft_view_free(&view);
    myr_segment_leave(segment);

    static const struct pretended loopback_only[] = {
        {"lo", "127.0.0.1", "255.0.0.0", IFF_UP | IFF_LOOPBACK}, {NULL, NULL, NULL, 0}};
    const struct myr_soft_options any = {.network = NULL};
    pretended = loopback_only;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &any, MYR_ERR_NOT_THERE, "no interface but loopback");
    myr_segment_leave(segment);
    pretended = NULL;
}

TEST(port_in_use)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof(address);
    const int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(other, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(other, (struct sockaddr *)&address, &bytes), 0);
    const struct myr_soft_options options = {.network = "lo", .port = ntohs(address.sin_port)};
    struct myr_segment *segment;
    char text[40];
    snprintf(text, sizeof(text), "UDP port %u", (unsigned)options.port);
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    expect_refusal(segment, &options, MYR_ERR_SYSTEM, text);
    expect_refusal(segment, &loopback, MYR_ERR_SYSTEM, text); /* the same message */
    myr_segment_leave(segment);
    close(other);

    /* When the port is free, the NIC gets it. */
    struct myr_soft_nic *nic;
    struct myr_nic_name name;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    assert_int_equal(myr_soft_open(segment, &options, &nic, NULL), MYR_OK);
    myr_soft_get_name(nic, &name);
    assert_int_equal(name.address[0].port, address.sin_port);
    myr_soft_close(nic);
    myr_segment_leave(segment);
}

/* The process that opened the NIC forbids others to take its descriptors. */
static void not_dumpable(uint32_t rank, void *context)
{
    struct world *world = context;
    struct member member;
    open_nic(&member, world, rank);
    prctl(PR_SET_DUMPABLE, 0);
    meet(world, 0, 2);
    await_come(world, 1, 1);
}

static void without_rights(uint32_t rank, void *context)
{
    struct world *world = context;
    struct myr_segment *segment;
    struct myr_soft_nic *nic;
    struct myr_error error = {0};
    (void)rank;
    CREW_CHECK(MYR_OK == myr_segment_join(world->dir[0], 0, &segment, &error), "%s", error.text);
    meet(world, 0, 2);
    if (0 == geteuid()) {
        CREW_CHECK(0 == setresuid(65534, 65534, 65534), "setresuid");
    }
    const enum myr_status status = myr_soft_open(segment, &loopback, &nic, &error);
    CREW_CHECK(MYR_ERR_SYSTEM == status && NULL != strstr(error.text, "pidfd_getfd"), "%d: %s",
               (int)status, error.text);
    atomic_store(&world->come[1], 1);
}

TEST(the_socket_is_refused)
{
    struct world *world = make_world(1, 1, 0);
    const pid_t first = crew_fork(not_dumpable, 0, world);
    await_come(world, 0, 1);
    const pid_t second = crew_fork(without_rights, 1, world);
    assert_true(crew_join(second));
    assert_true(crew_join(first));
    end_world(world);
}

/* If the NIC cannot use a socket that it is given, the caller remains its owner, and the NIC
 * must not close it. (The number of a descriptor that is closed twice may already be another
 * thread's.) */
TEST(a_refused_socket_stays_open)
{
    struct member member;
    struct myr_soft_nic *second = NULL;
    struct myr_error error = {0};
    open_alone(&member, 1 << 20);
    const int given = dup(myr_soft_socket(member.nic));
    assert_true(given >= 0);
    uint32_t refusals = 0;
    enum myr_status status;
    do { /* each allocation fails once */
        allocations_left = (int)refusals;
        status = myr_soft_open_given(member.segment, given, &second, &error);
        allocations_left = -1;
        assert_true(fcntl(given, F_GETFD) >= 0);
        refusals += MYR_OK != status;
    } while (MYR_ERR_OUT_OF_MEMORY == status);
    assert_int_equal(status, MYR_OK);
    assert_true(refusals >= 2);
    myr_soft_close(second);
    assert_int_equal(fcntl(given, F_GETFD), -1); /* the NIC owned it this time */
    close_nic(&member);
}
