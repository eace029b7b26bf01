/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: who is let in, and how many.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/kernel_server/tests.h"

static void come_from_elsewhere(uint32_t rank, void *context)
{
    struct myr_kernel_nic *nic;
    struct myr_error error = {.text = ""};
    (void)rank;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        *(bool *)context = true;
        return;
    }
    CREW_CHECK(MYR_OK != myr_kernel_nic_open(false, &nic, &error), "it was let in");
    CREW_CHECK(NULL != strstr(error.text, "another network namespace"), "%s", error.text);
}

void other_networks_are_refused(void **state)
{
    (void)state;
    bool *unable = crew_memory(sizeof(*unable));
    *unable = false;
    assert_true(crew_join(crew_fork(come_from_elsewhere, 0, unable)));
    const bool skipped = *unable;
    crew_memory_free(unable, sizeof(*unable));
    if (skipped) {
        skip();
    }
}

void one_server_at_a_place(void **state)
{
    (void)state;
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
    myr_kernel_nic_close(come()); /* the first one is there as before */
}

/* Be this user, to whom one connects. (Only this thread is; root alone can.) */
static void become(uid_t uid)
{
    assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
}

/* Is this one closed without a word? It is not, if it was told something that it has not read. */
static bool hears_nothing(int raw)
{
    char word;
    struct pollfd watched = {.fd = raw, .events = POLLIN};
    assert_int_equal(poll(&watched, 1, -1), 1);
    return 0 == recv(raw, &word, sizeof(word), MSG_PEEK);
}

/* How many connections has the server refused? */
static uint64_t refused(struct myr_kernel_nic *nic)
{
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    assert_non_null(report);
    assert_int_equal(myr_kernel_nic_report(nic, report, NULL), MYR_OK);
    const uint64_t count = report->refused;
    free(report);
    return count;
}

/* Come as this user as often as it is let in. Returns how often. */
static uint32_t come_often(uid_t uid, struct myr_kernel_nic **nic)
{
    struct myr_error error = {.text = ""};
    uint32_t count = 0;
    become(uid);
    while (MYR_OK == myr_kernel_nic_open(false, &nic[count], &error)) {
        ++count;
    }
    become(0);
    assert_non_null(strstr(error.text, "it has too many"));
    return count;
}

static void come_one_after_the_other(uint32_t rank, void *context)
{
    enum {
        MOST = 256,
        USERS = 40,
        DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST
    };
    static struct myr_kernel_nic *nic[MOST];
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS}; /* for no more clients */
    uint32_t count = 0, last = MOST;
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    for (uint32_t user = 0; user < USERS; ++user) {
        const uint32_t came = come_often(ALICE + user, &nic[count]);
        assert_true(came <= last);
        assert_true(user > 10 || came > 0);
        last = came;
        count += came;
    }
    nic[count++] = come(); /* root */
    assert_int_equal(refused(nic[count - 1]), USERS);
    while (count > 0) {
        myr_kernel_nic_close(nic[--count]);
    }
    assert_int_equal(end_server(context), 0);
}

/* As this user, from another network. Returns how many are told why they may not come in, until one
 * is told nothing, or so many have been. None of them is read. */
static uint32_t be_refused_often(uid_t uid, uint32_t most, int raw[])
{
    uint32_t count = 0;
    become(uid);
    raw[0] = connect_raw();
    while (count < most && !hears_nothing(raw[count])) {
        raw[++count] = connect_raw();
    }
    become(0);
    return count;
}

static void be_refused_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128, DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST };
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS};
    int raw[MOST + 1], by_root[MOST + 1];
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    const int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_true(home >= 0);
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    const uint32_t count = be_refused_often(ALICE, MOST, raw);
    assert_in_range(count, 1, MOST / 4);
    const uint32_t roots = be_refused_often(0, MOST, by_root); /* it may be a container's */
    assert_in_range(roots, 1, MOST / 4);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    const uint32_t again = be_refused_often(BOB, MOST, raw); /* there is room again */
    assert_true(again > 0);
    assert_int_equal(setns(home, CLONE_NEWNET), 0);
    struct myr_kernel_nic *nic = come();
    assert_int_equal(refused(nic), count + 1 + roots + 1 + again + 1);
    myr_kernel_nic_close(nic);
    for (uint32_t r = 0; r <= again; ++r) {
        close(raw[r]);
    }
    for (uint32_t r = 0; r <= roots; ++r) {
        close(by_root[r]);
    }
    close(home);
    assert_int_equal(end_server(context), 0);
}

/* A refusal that nobody reads is the server's memory. So it counts as a connection of its user's;
 * and who has no more room is refused without a word. */
void refusals_are_bounded(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(be_refused_and_read_nothing, 0, state)));
}

static void come_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128, DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST };
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS};
    static struct myr_kernel_nic *nic[MOST];
    int raw[MOST + 1];
    uint32_t count = 0, came = 0;
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    become(ALICE);
    raw[0] = connect_raw();
    while (count < MOST && MYR_OK == ask_and_look(raw[count])) {
        ask_on(raw[count]);
        raw[++count] = connect_raw();
    }
    become(0);
    assert_in_range(count, 1, MOST / 2);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    while (came < count) {
        came += come_often(ALICE, &nic[came]);
    }
    assert_int_equal(came, count);
    while (came > 0) {
        myr_kernel_nic_close(nic[--came]);
    }
    assert_int_equal(end_server(context), 0);
}

/* What a user leaves unread counts as its connections, also when the server has done with them;
 * and no longer when it is gone. */
void what_is_unread_counts(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(come_and_read_nothing, 0, state)));
}

/* Whoever takes all the room that he may, others get in; and root whenever it comes. */
void users_have_shares_of_connections(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(come_one_after_the_other, 0, state)));
}
