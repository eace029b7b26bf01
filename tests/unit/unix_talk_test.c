/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the connection of a process to a daemon (unix_talk.c). A failure means that a process
 * trusts another user's fake daemon, or blocks on a daemon that does not respond.
 *
 * Invariants:
 *
 * - A client never connects to a socket that another user could have created.
 * - No call blocks.
 * - A stopped or hanging daemon times out, but not one that only lacks CPU time.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libmyr/unix_talk.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { NOBODY = 65534 };

static struct {
    char dir[90], path[sizeof(((struct sockaddr_un *)0)->sun_path)], moved[100];
    int listening;
    struct myr_error error;
} world;

static int listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(address.sun_path, world.path, sizeof(address.sun_path));
    assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listening, 1), 0);
    return listening;
}

static int begin(void **state)
{
    (void)state;
    crew_dir_make(world.dir, sizeof(world.dir));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.dir);
    snprintf(world.moved, sizeof(world.moved), "%s.moved", world.dir);
    world.listening = listen_there();
    world.error = (struct myr_error){.text = ""};
    return 0;
}

static int end(void **state)
{
    (void)state;
    close(world.listening);
    (void)unlink(world.path);
    crew_dir_remove(world.dir);
    return 0;
}

static enum myr_status try_to_connect(const char *path, bool root_allowed, int *connection)
{
    world.error.text[0] = '\0';
    return myr_talk_connect(path, "myrd", root_allowed, connection, &world.error);
}

static bool accepts_one(void)
{
    const int visitor = accept(world.listening, NULL, NULL);
    if (visitor >= 0) {
        close(visitor);
    }
    return visitor >= 0;
}

/* ---- the socket's path ---- */

static void expect_refused(const char *path, const char *words)
{
    for (int root_allowed = 0; root_allowed < 2; ++root_allowed) {
        int connection;
        assert_int_equal(try_to_connect(path, root_allowed, &connection), MYR_ERR_SYSTEM);
        assert_int_equal(connection, -1);
        if (NULL == strstr(world.error.text, words)) {
            fail_msg("\"%s\" does not say \"%s\"", world.error.text, words);
        }
        assert_false(accepts_one());
    }
}

#define TALK(name) TEST_IN(name, begin, end)

TALK(an_own_dir)
{
    int connection;
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    assert_true(accepts_one());
    close(connection);
    assert_int_equal(chmod(world.dir, 0755), 0); /* others may read it, and connect */
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    close(connection);
}

/* A symbolic link to a safe directory is refused, with any spelling, because the owner of the link
 * could change it. */
TALK(unsafe_dirs)
{
    static const mode_t modes[] = {0720, 0702, 01777};
    const char *const formats[] = {"%s/sock", "%s//sock"};
    char path[240];
    for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); ++m) {
        assert_int_equal(chmod(world.dir, modes[m]), 0);
        expect_refused(world.path, "its directory is writable for others");
    }
    assert_int_equal(chmod(world.dir, 0700), 0);
    if (0 == geteuid()) {
        assert_int_equal(chown(world.dir, NOBODY, NOBODY), 0);
        expect_refused(world.path, "belongs to another user");
        assert_int_equal(chown(world.dir, 0, 0), 0);
    }
    assert_int_equal(symlink(world.dir, world.moved), 0);
    for (int f = 0; f < 2; ++f) {
        snprintf(path, sizeof(path), formats[f], world.moved);
        expect_refused(path, "is not a directory");
    }
    assert_int_equal(unlink(world.moved), 0);
    snprintf(path, sizeof(path), "%s/sock", world.path); /* a file in its place */
    expect_refused(path, "is not a directory");
}

/* Connect as user nobody: root's daemon is accepted only if the caller permits that. */
static void connect_as_nobody(uint32_t rank, void *context)
{
    int connection;
    (void)rank;
    (void)context;
    CREW_CHECK(0 == setresuid(NOBODY, NOBODY, NOBODY), "cannot change the user");
    CREW_CHECK(MYR_OK == try_to_connect(world.path, true, &connection), "%s", world.error.text);
    close(connection);
    CREW_CHECK(MYR_ERR_SYSTEM == try_to_connect(world.path, false, &connection),
               "it connected to root's daemon");
}

TALK(a_dir_of_root)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_int_equal(chmod(world.dir, 0755), 0);
    assert_int_equal(chmod(world.path, 0666), 0);
    assert_true(crew_join(crew_fork(connect_as_nobody, 0, NULL)));
    assert_true(accepts_one());
    assert_false(accepts_one());
}

/* Besides the owner of the directory, the daemon's own user is checked. */
static void serve_as_nobody(uint32_t rank, void *context)
{
    (void)rank;
    (void)context;
    CREW_CHECK(0 == setresuid(NOBODY, NOBODY, NOBODY), "cannot change the user");
    CREW_CHECK(0 == listen(world.listening, 1), "cannot listen");
}

TALK(a_daemon_of_another_user)
{
    int connection;
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(serve_as_nobody, 0, NULL)));
    assert_int_equal(try_to_connect(world.path, true, &connection), MYR_ERR_SYSTEM);
    assert_non_null(strstr(world.error.text, "belongs to another user"));
    assert_int_equal(connection, -1);
}

TALK(no_daemon)
{
    char path[240];
    int connection;
    snprintf(path, sizeof(path), "%s/nothing", world.dir);
    assert_int_equal(try_to_connect(path, false, &connection), MYR_ERR_NOT_THERE);
    snprintf(path, sizeof(path), "%s/no/sock", world.dir);
    assert_int_equal(try_to_connect(path, false, &connection), MYR_ERR_NOT_THERE);
    close(world.listening); /* the socket of a dead daemon */
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_ERR_NOT_THERE);
    assert_int_equal(connection, -1);
}

/* Paths without a directory, and those longer than a socket's address, are refused. */
TALK(other_paths)
{
    char before[300], name[300];
    int connection;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(world.dir), 0);
    assert_int_equal(try_to_connect("sock", false, &connection), MYR_OK);
    close(connection);
    assert_int_equal(chdir(before), 0);
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(try_to_connect(name, false, &connection), MYR_ERR_SYSTEM);
}

/* ---- a daemon that does not accept ---- */

TALK(a_full_backlog)
{
    enum { MORE_THAN_ENOUGH = 100 };
    int connections[MORE_THAN_ENOUGH], count = 0;
    enum myr_status status = MYR_OK;
    while (count < MORE_THAN_ENOUGH && MYR_OK == status) {
        status = try_to_connect(world.path, false, &connections[count]);
        count += MYR_OK == status;
    }
    assert_int_equal(status, MYR_ERR_NOT_YET);
    assert_non_null(strstr(world.error.text, "too many are pending"));
    assert_in_range(count, 1, MORE_THAN_ENOUGH - 1);
    assert_true(accepts_one()); /* a place in the backlog */
    assert_int_equal(try_to_connect(world.path, false, &connections[count]), MYR_OK);
    while (count >= 0) {
        close(connections[count--]);
    }
}

/* ---- a daemon that does not respond ---- */

static const struct myr_talk_timeout short_timeout = {40, 40};

/* Timeout for a daemon that must respond; it may be idle or lack CPU time for that long. */
static const struct myr_talk_timeout long_timeout = {2000, 100000};

static enum myr_status request(int connection, const struct myr_talk_timeout *timeout)
{
    world.error.text[0] = '\0';
    const enum myr_status status =
        myr_talk_send_to_daemon(connection, "myrd", "hello", 5, timeout, &world.error);
    return MYR_OK == status ? myr_talk_await(connection, "myrd", timeout, &world.error) : status;
}

static void expect_answer(int connection, const char *answer)
{
    char words[100] = "";
    assert_int_equal(myr_talk_receive(connection, words, sizeof(words), NULL, 0), strlen(answer));
    assert_string_equal(words, answer);
}

TALK(nobody_accepts)
{
    int connection;
    char pid[20];
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    assert_int_equal(request(connection, myr_talk_timeout_for_hello(true)), MYR_ERR_NOT_YET);
    snprintf(pid, sizeof(pid), "(process %d)", (int)getpid());
    assert_non_null(strstr(world.error.text, pid));
    close(connection);
}

/* A daemon that responds to each request after using this much CPU time. */
struct daemon {
    int ready[2];
    uint64_t work_us;
};

static uint64_t processor_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
}

static void serve(uint32_t rank, void *context)
{
    struct daemon *daemon = context;
    struct pollfd watched = {.fd = world.listening, .events = POLLIN};
    char words[100];
    (void)rank;
    /* The daemon is the process that has called listen(). */
    CREW_CHECK(0 == listen(world.listening, 1), "cannot listen");
    CREW_CHECK(1 == write(daemon->ready[1], "", 1), "the test has ended");
    CREW_CHECK(1 == poll(&watched, 1, -1), "no connection");
    const int visitor = accept(world.listening, NULL, NULL);
    while (recv(visitor, words, sizeof(words), 0) > 0) {
        for (const uint64_t began = processor_us(); processor_us() - began < daemon->work_us;) {
        }
        (void)send(visitor, "answer", 6, MSG_NOSIGNAL);
    }
    close(visitor);
}

static pid_t begin_daemon(struct daemon *daemon, uint64_t work_us)
{
    char word;
    daemon->work_us = work_us;
    assert_int_equal(pipe(daemon->ready), 0);
    const pid_t pid = crew_fork(serve, 0, daemon);
    assert_int_equal(read(daemon->ready[0], &word, 1), 1);
    close(daemon->ready[0]);
    close(daemon->ready[1]);
    return pid;
}

static void stop(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

/* A request to a stopped daemon times out. A client that still waits gets its response later. */
TALK(a_stopped_daemon)
{
    struct daemon daemon;
    int connection;
    char words[20];
    const pid_t pid = begin_daemon(&daemon, 0);
    stop(pid);
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    assert_int_equal(request(connection, &short_timeout), MYR_ERR_NOT_YET);
    snprintf(words, sizeof(words), "process %d", (int)pid);
    assert_non_null(strstr(world.error.text, words));
    assert_non_null(strstr(world.error.text, "kill -CONT"));
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(myr_talk_await(connection, "myrd", &long_timeout, &world.error), MYR_OK);
    expect_answer(connection, "answer");
    close(connection);
    assert_true(crew_join(pid));
}

/* The daemon works far longer than the timeout of an idle daemon. */
TALK(a_busy_daemon)
{
    static const struct myr_talk_timeout timeout = {60, 100000};
    struct daemon daemon;
    int connection;
    const pid_t pid = begin_daemon(&daemon, 300000);
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    assert_int_equal(request(connection, &timeout), MYR_OK);
    expect_answer(connection, "answer");
    close(connection);
    assert_true(crew_join(pid));
}

/* The socket's buffer is full of unread requests, so that the next request times out. */
TALK(unread_requests)
{
    static const char words[4096] = "";
    int connection;
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    while (myr_talk_send(connection, words, sizeof(words), NULL, 0, 0)) {
    }
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(request(connection, &short_timeout), MYR_ERR_NOT_YET);
    close(connection);
}

/* The daemon has sent an error and closed the connection before the request. */
TALK(an_early_answer)
{
    int connection;
    assert_int_equal(try_to_connect(world.path, false, &connection), MYR_OK);
    const int visitor = accept(world.listening, NULL, NULL);
    assert_int_equal(send(visitor, "go away", 7, 0), 7);
    close(visitor);
    assert_int_equal(request(connection, &short_timeout), MYR_OK);
    expect_answer(connection, "go away");
    /* A closed connection counts as a response. */
    assert_int_equal(request(connection, &short_timeout), MYR_OK);
    assert_int_equal(myr_talk_receive(connection, NULL, 0, NULL, 0), 0);
    close(connection);
}
