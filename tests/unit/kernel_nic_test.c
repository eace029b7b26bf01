/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests a client of myrd --kernel whose daemon responds late or restarts (kernel_nic.c). A failure
 * means that the process mistakes an old response for the response to another request, leaks
 * descriptors, or gives up the NIC.
 *
 * Invariants:
 *
 * - Each request gets its own response or none, however late responses arrive.
 * - Descriptors that arrive with a late response are closed.
 * - Once a slow daemon responds again, it is used as before.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/unix_talk.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static struct {
    char dir[90], path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int ready[2], go_on[2];
    pid_t daemon;
    struct myr_kernel_nic *nic;
} world;

/* ---- daemons ---- */

static bool take(int connection, struct myr_kernel_question *question)
{
    return sizeof(*question) == recv(connection, question, sizeof(*question), 0);
}

static void answer(int connection, const struct myr_kernel_question *question,
                   enum myr_status status)
{
    const struct myr_kernel_answer words = {
        .magic = MYR_KERNEL_MAGIC, .status = status, .nic = {.key = 77}};
    const struct myr_kernel_missing missing = {.magic = MYR_KERNEL_MAGIC,
                                               .count = (uint32_t)question->key};
    const bool opens = MYR_KERNEL_OPEN == question->ask;
    const int page = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const bool sent = MYR_KERNEL_MISSING == question->ask
                          ? myr_talk_send(connection, &missing, sizeof(missing), NULL, 0, 0)
                          : myr_talk_send(connection, &words, sizeof(words), &page, opens, 0);
    CREW_CHECK(sent, "cannot send a response");
    close(page);
}

static int listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    memcpy(address.sun_path, world.path, sizeof(address.sun_path));
    CREW_CHECK(0 == bind(listening, (struct sockaddr *)&address, sizeof(address)) &&
                   0 == listen(listening, 1) && 1 == write(world.ready[1], "", 1),
               "cannot listen");
    return listening;
}

/* Check that this request arrives, and send this response. With MYR_ERR_NOT_YET, send none. */
static void expect_request(int visitor, enum myr_kernel_ask ask, uint64_t key,
                           enum myr_status status)
{
    struct myr_kernel_question question;
    CREW_CHECK(take(visitor, &question) && ask == question.ask && key == question.key,
               "request %u with key %u instead of %u with key %u", question.ask,
               (unsigned)question.key, (unsigned)ask, (unsigned)key);
    if (MYR_ERR_NOT_YET != status) {
        answer(visitor, &question, status);
    }
}

/* Run a daemon that responds only to the hello until the test calls go_on(), and from then on to
 * all requests, including those queued. At the end it checks that each opened group was closed. */
static void respond_late(uint32_t rank, void *context)
{
    struct myr_kernel_question question;
    const int visitor = accept(listen_there(), NULL, NULL);
    char word;
    (void)rank;
    (void)context;
    expect_request(visitor, MYR_KERNEL_HELLO, 0, MYR_OK);
    CREW_CHECK(1 == read(world.go_on[0], &word, 1), "the test has ended");
    uint32_t opened = 0, closed = 0;
    while (take(visitor, &question)) {
        opened += MYR_KERNEL_OPEN == question.ask;
        closed += MYR_KERNEL_CLOSE == question.ask;
        if (MYR_KERNEL_CLOSE != question.ask) {
            answer(visitor, &question, MYR_OK);
        }
    }
    CREW_CHECK(opened <= closed, "%u groups opened, %u closed", opened, closed);
}

/* Run two daemons that die while they open a group, and a third one that succeeds. If `recorded` is
 * set, each next daemon has a record of this process. */
static void die_twice(uint32_t recorded, void *context)
{
    const int listening = listen_there();
    (void)context;
    for (int daemon = 0; daemon < 3; ++daemon) {
        const int visitor = accept(listening, NULL, NULL);
        expect_request(visitor, MYR_KERNEL_HELLO, 0, MYR_OK);
        if (daemon > 0) {
            expect_request(visitor, MYR_KERNEL_RETURN, 0, recorded ? MYR_OK : MYR_ERR_GONE);
        }
        if (daemon > 0 && recorded) {
            expect_request(visitor, MYR_KERNEL_SETTLE, 5, MYR_ERR_NOT_YET);
        }
        expect_request(visitor, MYR_KERNEL_OPEN, 5, daemon < 2 ? MYR_ERR_NOT_YET : MYR_OK);
        if (2 == daemon) {
            expect_request(visitor, MYR_KERNEL_CLOSE, 5, MYR_ERR_NOT_YET);
        }
        close(visitor);
    }
}

static void begin_with(void (*daemon)(uint32_t rank, void *context), uint32_t recorded)
{
    struct myr_error error = {.text = ""};
    char word;
    crew_dir_make(world.dir, sizeof(world.dir));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.dir);
    setenv("NICBARR_KERNEL_SOCKET", world.path, 1);
    assert_int_equal(pipe(world.ready), 0);
    assert_int_equal(pipe(world.go_on), 0);
    world.daemon = crew_fork(daemon, recorded, NULL);
    assert_int_equal(read(world.ready[0], &word, 1), 1);
    if (MYR_OK != myr_kernel_nic_open(false, &world.nic, &error)) {
        fail_msg("%s", error.text);
    }
}

static int begin(void **state)
{
    (void)state;
    begin_with(respond_late, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    myr_kernel_nic_close(world.nic);
    for (int i = 0; i < 2; ++i) {
        close(world.ready[i]);
        close(world.go_on[i]);
    }
    assert_true(crew_join(world.daemon));
    crew_dir_remove(world.dir);
    return 0;
}

static void go_on(void)
{
    assert_int_equal(write(world.go_on[1], "", 1), 1);
}

#define TEST_NIC(name) TEST_IN(name, begin, end)

TEST_NIC(late_responses_are_ignored)
{
    struct myr_kernel_missing missing;
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const uint32_t before = crew_descriptors();
    assert_false(myr_kernel_nic_ask_missing(world.nic, 3, &missing));
    assert_false(myr_kernel_nic_ask_missing(world.nic, 4, &missing)); /* not even sent */
    assert_int_equal(myr_kernel_nic_daemon(world.nic), MYR_KERNEL_HERE);
    go_on();
    assert_true(myr_kernel_nic_ask_missing(world.nic, 2, &missing));
    assert_int_equal(missing.count, 2);
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_OK);
    assert_true(seen.page >= 0);
    close(seen.page);
    myr_kernel_nic_ask_close(world.nic, 5);
    assert_int_equal(crew_descriptors(), before);
}

/* A group that is opened too late is closed again, and so is the descriptor of its page. */
TEST_NIC(groups_opened_late_are_closed)
{
    struct myr_kernel_missing missing;
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const uint32_t before = crew_descriptors();
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "does not answer"));
    assert_int_equal(seen.page, -1);
    go_on();
    assert_true(myr_kernel_nic_ask_missing(world.nic, 2, &missing));
    assert_int_equal(missing.count, 2);
    assert_int_equal(crew_descriptors(), before);
}

/* If the process has no descriptors left for a group that the daemon has opened, the group is
 * closed again. If only one of two descriptors arrives, that one is closed as well. */
TEST_NIC(groups_without_descriptors_are_closed)
{
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    struct rlimit limit, none;
    const uint32_t before = crew_descriptors();
    const int lowest = dup(world.ready[0]); /* all below are in use */
    close(lowest);
    go_on();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){(rlim_t)lowest, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const enum myr_status status = myr_kernel_nic_ask_open(world.nic, &question, &seen, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "no file descriptor for the memory"));
    assert_int_equal(seen.page, -1);
    question = (struct myr_kernel_question){.key = 6, .buffer_blocks = 1};
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_int_equal(seen.page, -1);
    assert_int_equal(seen.buffer, -1);
    assert_int_equal(crew_descriptors(), before);
}

/* If the daemon dies before it responds, the request is repeated, whether the next daemon has a
 * record of this process or not. */
TEST(open_is_repeated_after_restarts)
{
    for (uint32_t recorded = 0; recorded < 2; ++recorded) {
        struct myr_kernel_question question = {.key = 5};
        struct myr_error error = {.text = ""};
        struct mcp_kernel_seen seen;
        begin_with(die_twice, recorded);
        if (MYR_OK != myr_kernel_nic_ask_open(world.nic, &question, &seen, &error)) {
            fail_msg("recorded %u: %s", (unsigned)recorded, error.text);
        }
        close(seen.page);
        myr_kernel_nic_ask_close(world.nic, 5);
        (void)end(state);
    }
}

/* Closing sends a request, whether the daemon reads it or not, and does not wait. */
TEST_NIC(close_does_not_wait)
{
    enum { MANY = 2000 };
    for (uint64_t key = 1; key <= MANY; ++key) {
        myr_kernel_nic_ask_close(world.nic, key);
    }
    assert_int_equal(myr_kernel_nic_daemon(world.nic), MYR_KERNEL_HERE);
    go_on();
}
