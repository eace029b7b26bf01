/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of myrd --kernel (kernel_nic.c) whose daemon does not answer in time. Invariants: each
 * question gets its own answer or none, however late answers come; nothing that comes with a late
 * one is leaked; a daemon that was silent for a while is as good as before when it speaks again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/unix_talk.h"
#include "tests/unit/crew.h"

static struct {
    char folder[90], path[sizeof(((struct sockaddr_un *)0)->sun_path)];
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
    CREW_CHECK(sent, "an answer was not sent");
    close(page);
}

static int listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    memcpy(address.sun_path, world.path, sizeof(address.sun_path));
    CREW_CHECK(0 == bind(listening, (struct sockaddr *)&address, sizeof(address)) &&
                   0 == listen(listening, 1) && 1 == write(world.ready[1], "", 1),
               "it cannot listen");
    return listening;
}

/* Take a question of this kind, and answer it so; or, with MYR_ERR_NOT_YET, do not. */
static void hear(int visitor, enum myr_kernel_ask ask, uint64_t key, enum myr_status status)
{
    struct myr_kernel_question question;
    CREW_CHECK(take(visitor, &question) && ask == question.ask && key == question.key,
               "asked %u for %u, not %u for %u", question.ask, (unsigned)question.key,
               (unsigned)ask, (unsigned)key);
    if (MYR_ERR_NOT_YET != status) {
        answer(visitor, &question, status);
    }
}

/* It answers the hello, and then no question until it is told to; from then on all, and first those
 * that it has kept. Afterwards it knows what it was asked. */
static void keep_back(uint32_t rank, void *context)
{
    struct myr_kernel_question question;
    const int visitor = accept(listen_there(), NULL, NULL);
    char word;
    (void)rank;
    (void)context;
    hear(visitor, MYR_KERNEL_HELLO, 0, MYR_OK);
    CREW_CHECK(1 == read(world.go_on[0], &word, 1), "no word");
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

/* One is killed when it is asked for a group, and another one after it, which knows who comes back
 * if the one before could note that. */
static void die_twice(uint32_t knows, void *context)
{
    const int listening = listen_there();
    (void)context;
    for (int daemon = 0; daemon < 3; ++daemon) {
        const int visitor = accept(listening, NULL, NULL);
        hear(visitor, MYR_KERNEL_HELLO, 0, MYR_OK);
        if (daemon > 0) {
            hear(visitor, MYR_KERNEL_RETURN, 0, knows ? MYR_OK : MYR_ERR_GONE);
        }
        if (daemon > 0 && knows) {
            hear(visitor, MYR_KERNEL_SETTLE, 5, MYR_ERR_NOT_YET);
        }
        hear(visitor, MYR_KERNEL_OPEN, 5, daemon < 2 ? MYR_ERR_NOT_YET : MYR_OK);
        if (2 == daemon) {
            hear(visitor, MYR_KERNEL_CLOSE, 5, MYR_ERR_NOT_YET);
        }
        close(visitor);
    }
}

static void begin_with(void (*daemon)(uint32_t rank, void *context), uint32_t knows)
{
    struct myr_error error = {.text = ""};
    char word;
    crew_folder_make(world.folder, sizeof(world.folder));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.folder);
    setenv("NICBARR_KERNEL_SOCKET", world.path, 1);
    assert_int_equal(pipe(world.ready), 0);
    assert_int_equal(pipe(world.go_on), 0);
    world.daemon = crew_fork(daemon, knows, NULL);
    assert_int_equal(read(world.ready[0], &word, 1), 1);
    if (MYR_OK != myr_kernel_nic_open(false, &world.nic, &error)) {
        fail_msg("%s", error.text);
    }
}

static int begin(void **state)
{
    (void)state;
    begin_with(keep_back, 0);
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
    crew_folder_remove(world.folder);
    return 0;
}

static void go_on(void)
{
    assert_int_equal(write(world.go_on[1], "", 1), 1);
}

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void late_answers_are_passed_over(void **state)
{
    (void)state;
    struct myr_kernel_missing missing;
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const int before = descriptors();
    assert_false(myr_kernel_nic_ask_missing(world.nic, 3, &missing));
    assert_false(myr_kernel_nic_ask_missing(world.nic, 4, &missing)); /* not even said */
    assert_int_equal(myr_kernel_nic_daemon(world.nic), MYR_KERNEL_HERE);
    go_on();
    assert_true(myr_kernel_nic_ask_missing(world.nic, 2, &missing));
    assert_int_equal(missing.count, 2);
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_OK);
    assert_true(seen.page >= 0);
    close(seen.page);
    myr_kernel_nic_ask_close(world.nic, 5);
    assert_int_equal(descriptors(), before);
}

/* What is opened too late is closed again, and its page is given back. */
static void groups_that_come_late_are_closed(void **state)
{
    (void)state;
    struct myr_kernel_missing missing;
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    const int before = descriptors();
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "does not answer"));
    assert_int_equal(seen.page, -1);
    go_on();
    assert_true(myr_kernel_nic_ask_missing(world.nic, 2, &missing));
    assert_int_equal(missing.count, 2);
    assert_int_equal(descriptors(), before);
}

/* A group that the daemon has opened, but whose descriptors have no room here, is closed again; one
 * of two that came is given back. */
static void groups_without_descriptors_are_closed(void **state)
{
    (void)state;
    struct myr_kernel_question question = {.key = 5};
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen;
    struct rlimit limit, none;
    const int before = descriptors();
    const int lowest = dup(world.ready[0]); /* all below are taken */
    close(lowest);
    go_on();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){(rlim_t)lowest, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    const enum myr_status status = myr_kernel_nic_ask_open(world.nic, &question, &seen, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "sent no page"));
    assert_int_equal(seen.page, -1);
    question = (struct myr_kernel_question){.key = 6, .places = 1};
    assert_int_equal(myr_kernel_nic_ask_open(world.nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_int_equal(seen.page, -1);
    assert_int_equal(seen.buffer, -1);
    assert_int_equal(descriptors(), before);
}

/* The daemon is killed before it has answered, twice: the group is asked for until one answers. The
 * next one may know this process, as it was noted; or not. */
static void groups_are_asked_for_again(void **state)
{
    (void)state;
    for (uint32_t knows = 0; knows < 2; ++knows) {
        struct myr_kernel_question question = {.key = 5};
        struct myr_error error = {.text = ""};
        struct mcp_kernel_seen seen;
        begin_with(die_twice, knows);
        if (MYR_OK != myr_kernel_nic_ask_open(world.nic, &question, &seen, &error)) {
            fail_msg("knows %u: %s", (unsigned)knows, error.text);
        }
        close(seen.page);
        myr_kernel_nic_ask_close(world.nic, 5);
        (void)end(state);
    }
}

/* Closing is said, whether anybody listens or not, and is not waited for. */
static void closing_waits_for_nobody(void **state)
{
    (void)state;
    enum { MANY = 2000 };
    for (uint64_t key = 1; key <= MANY; ++key) {
        myr_kernel_nic_ask_close(world.nic, key);
    }
    assert_int_equal(myr_kernel_nic_daemon(world.nic), MYR_KERNEL_HERE);
    go_on();
}

int main(void)
{
#define NIC(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        NIC(late_answers_are_passed_over),
        NIC(groups_that_come_late_are_closed),
        NIC(groups_without_descriptors_are_closed),
        NIC(closing_waits_for_nobody),
        cmocka_unit_test(groups_are_asked_for_again),
    };
    crew_watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
