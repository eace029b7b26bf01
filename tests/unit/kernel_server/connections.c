/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the server refuses clients of other networks, and that one user's connections do not
 * keep other users out.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

static void connect_from_other_network(uint32_t rank, void *context)
{
    struct myr_kernel_nic *nic;
    struct myr_error error = {.text = ""};
    (void)rank;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        *(bool *)context = true;
        return;
    }
    CREW_CHECK(MYR_OK != myr_kernel_nic_open(false, &nic, &error), "the client was admitted");
    CREW_CHECK(NULL != strstr(error.text, "another network namespace"), "%s", error.text);
}

SERVER(other_networks_are_refused)
{
    bool *unable = crew_memory(sizeof(*unable));
    *unable = false;
    assert_true(crew_join(crew_fork(connect_from_other_network, 0, unable)));
    const bool skipped = *unable;
    crew_memory_free(unable, sizeof(*unable));
    if (skipped) {
        skip();
    }
}

SERVER(one_server_at_a_path)
{
    void *second;
    struct myr_error error;
    assert_int_equal(myrd_kernel_owner.open(&world.options, &second, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "is already running"));
    struct myrd_options options = world.options;
    char path[230];
    snprintf(path, sizeof(path), "%s2", world.path);
    options.socket = path;
    assert_int_equal(myrd_kernel_owner.open(&options, &second, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "--port"));
    assert_int_equal(access(path, F_OK), -1);
    options.nic.network = "nosuch0";
    assert_int_equal(myrd_kernel_owner.open(&options, &second, &error), MYR_ERR_NOT_THERE);
    assert_non_null(strstr(error.text, "nosuch0"));
    myr_kernel_nic_close(connect_client()); /* the first one still serves */
}

/* Set this thread's effective user ID, by which the server identifies clients. Only root can. */
static void set_user(uid_t uid)
{
    assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
}

/* Wait for a response or for the end of this connection, without reading. Returns whether the
 * connection was closed without a response. */
static bool is_closed_silently(int raw)
{
    char word;
    struct pollfd watched = {.fd = raw, .events = POLLIN};
    assert_int_equal(poll(&watched, 1, -1), 1);
    return 0 == recv(raw, &word, sizeof(word), MSG_PEEK);
}

static uint64_t refused(struct myr_kernel_nic *nic)
{
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    assert_non_null(report);
    assert_int_equal(myr_kernel_nic_report(nic, report, NULL), MYR_OK);
    const uint64_t count = report->refused;
    free(report);
    return count;
}

/* Connect as this user as often as it is permitted. Returns the number of connections. */
static uint32_t connect_often(uid_t uid, struct myr_kernel_nic **nic)
{
    struct myr_error error = {.text = ""};
    uint32_t count = 0;
    set_user(uid);
    while (MYR_OK == myr_kernel_nic_open(false, &nic[count], &error)) {
        ++count;
    }
    set_user(0);
    assert_non_null(strstr(error.text, "it has too many"));
    return count;
}

/* Start a server whose descriptors suffice for fewer than `most` clients, and let all users
 * connect. */
static void begin_small_server(void **state, uint32_t most)
{
    const rlim_t descriptors = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * (rlim_t)most;
    const struct rlimit room = {descriptors, descriptors};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(state), 0);
    assert_int_equal(chmod(world.dir, 0711), 0);
}

static void connect_user_after_user(uint32_t rank, void *context)
{
    enum { MOST = 256, USERS = 40 };
    static struct myr_kernel_nic *nic[MOST];
    uint32_t count = 0, last = MOST;
    (void)rank;
    begin_small_server(context, MOST);
    for (uint32_t user = 0; user < USERS; ++user) {
        const uint32_t connected = connect_often(ALICE + user, &nic[count]);
        assert_true(connected <= last);
        assert_true(user > 10 || connected > 0);
        last = connected;
        count += connected;
    }
    nic[count++] = connect_client(); /* as root */
    assert_int_equal(refused(nic[count - 1]), USERS);
    while (count > 0) {
        myr_kernel_nic_close(nic[--count]);
    }
    assert_int_equal(end_server(context), 0);
}

/* Connect as this user from another network until a connection is closed without a response, or
 * `most` have got a refusal. Returns the number of refusals, none of which is read. */
static uint32_t be_refused_often(uid_t uid, uint32_t most, int raw[])
{
    uint32_t count = 0;
    set_user(uid);
    raw[0] = connect_raw();
    while (count < most && !is_closed_silently(raw[count])) {
        raw[++count] = connect_raw();
    }
    set_user(0);
    return count;
}

static void be_refused_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128 };
    int raw[MOST + 1], by_root[MOST + 1];
    (void)rank;
    begin_small_server(context, MOST);
    const int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_true(home >= 0);
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    const uint32_t count = be_refused_often(ALICE, MOST, raw);
    assert_in_range(count, 1, MOST / 4);
    const uint32_t roots = be_refused_often(0, MOST, by_root); /* which may be a container's */
    assert_in_range(roots, 1, MOST / 4);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    const uint32_t second = be_refused_often(BOB, MOST, raw); /* there is space again */
    assert_true(second > 0);
    assert_int_equal(setns(home, CLONE_NEWNET), 0);
    struct myr_kernel_nic *nic = connect_client();
    assert_int_equal(refused(nic), count + 1 + roots + 1 + second + 1);
    myr_kernel_nic_close(nic);
    for (uint32_t r = 0; r <= second; ++r) {
        close(raw[r]);
    }
    for (uint32_t r = 0; r <= roots; ++r) {
        close(by_root[r]);
    }
    close(home);
    assert_int_equal(end_server(context), 0);
}

/* An unread refusal occupies memory of the server, so it counts as a connection of its user. Once
 * the user's quota is used up, further connections are closed without a response. */
TEST(refusals_are_bounded)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(be_refused_and_read_nothing, 0, state)));
}

static void connect_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128 };
    static struct myr_kernel_nic *nic[MOST];
    int raw[MOST + 1];
    uint32_t count = 0, connected = 0;
    (void)rank;
    begin_small_server(context, MOST);
    set_user(ALICE);
    raw[0] = connect_raw();
    while (count < MOST && MYR_OK == ask_and_peek(raw[count])) {
        ask_until_disconnected(raw[count]);
        raw[++count] = connect_raw();
    }
    set_user(0);
    assert_in_range(count, 1, MOST / 2);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    while (connected < count) {
        connected += connect_often(ALICE, &nic[connected]);
    }
    assert_int_equal(connected, count);
    while (connected > 0) {
        myr_kernel_nic_close(nic[--connected]);
    }
    assert_int_equal(end_server(context), 0);
}

/* Responses that a user does not read count as connections, also after the server has closed its
 * end, until the client closes the connection. */
TEST(unread_answers_count)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(connect_and_read_nothing, 0, state)));
}

/* When one user has used up its quota, others can still connect, and root can always. */
TEST(users_have_shares_of_connections)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(connect_user_after_user, 0, state)));
}
