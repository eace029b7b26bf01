/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests a daemon that runs out of file descriptors. A failure means that it spins at its listening
 * socket, or leaves clients waiting for ever.
 *
 * Invariants: each client then gets an error and is disconnected, after which the socket is not
 * readable any more; once descriptors are available, the next client is accepted.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "myrd/listener.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static struct {
    char dir[200], path[220];
    struct myrd_listener listener;
    struct rlimit before;
} world;

static int begin(void **state)
{
    (void)state;
    struct myr_error error;
    crew_dir_make(world.dir, sizeof(world.dir));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.dir);
    return 0 != getrlimit(RLIMIT_NOFILE, &world.before) ||
           MYR_OK != myrd_listener_open(&world.listener, world.path, 0600, &error);
}

static int end(void **state)
{
    (void)state;
    myrd_listener_close(&world.listener);
    crew_dir_remove(world.dir);
    return setrlimit(RLIMIT_NOFILE, &world.before);
}

static int visit(void)
{
    const int visit = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(
        connect(visit, (struct sockaddr *)&world.listener.address, sizeof(world.listener.address)),
        0);
    return visit;
}

/* Limit this process to `count` more descriptors. */
static void leave_descriptors(rlim_t count)
{
    struct rlimit limit = world.before;
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    limit.rlim_cur = (rlim_t)next + count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void allow_all(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &world.before), 0);
}

/* Returns whether a daemon that polls the socket would wake up. */
static bool readable(void)
{
    struct pollfd watched = {.fd = world.listener.listening,
                             .events = myrd_listener_events(&world.listener)};
    assert_true(poll(&watched, 1, 0) >= 0);
    return 0 != watched.revents;
}

/* Accept the waiting client. Returns the reason why it is refused, or NULL. */
static const char *accept_one(struct myrd_visitor *visitor)
{
    const char *why;
    assert_true(readable());
    assert_true(myrd_listener_accept(&world.listener, visitor, &why));
    assert_int_equal(visitor->uid, geteuid());
    return why;
}

static void expect_accepted(void)
{
    struct myrd_visitor visitor;
    assert_null(accept_one(&visitor));
    assert_int_equal(visitor.pid, getpid());
    myrd_visitor_leave(&visitor);
}

static void expect_refused(void)
{
    struct myrd_visitor visitor;
    const char *why = accept_one(&visitor);
    assert_non_null(why);
    assert_non_null(strstr(why, "descriptors"));
    myrd_visitor_leave(&visitor);
}

#define LISTENER_TEST(name) TEST_IN(name, begin, end)

/* A client is refused if no descriptor is left for the connection, or one for it, but none for
 * the pidfd. */
LISTENER_TEST(without_descriptors_clients_are_refused)
{
    for (rlim_t left = 0; left < 2; ++left) {
        const int first = visit(), second = visit(), third = visit();
        char word;
        leave_descriptors(left);
        expect_refused();
        assert_int_equal(recv(first, &word, 1, MSG_DONTWAIT), 0);
        expect_refused();
        assert_int_equal(recv(second, &word, 1, MSG_DONTWAIT), 0);
        allow_all();
        expect_accepted();
        assert_false(readable());
        close(first);
        close(second);
        close(third);
    }
}

/* While the reserved descriptor is in use, clients cannot be refused, and the socket is not
 * polled. */
LISTENER_TEST(clients_that_cannot_be_refused_are_not_polled)
{
    struct myrd_visitor visitor;
    const char *why;
    const int first = visit(), second = visit(), third = visit();
    leave_descriptors(0);
    assert_true(myrd_listener_accept(&world.listener, &visitor, &why)); /* and stays connected */
    assert_non_null(why);
    assert_false(readable());
    assert_in_range(myrd_listener_timeout(&world.listener, -1), 1, 1000); /* it will retry */
    assert_int_equal(myrd_listener_timeout(&world.listener, 0), 0);
    assert_false(myrd_listener_accept(&world.listener, &visitor, &why)); /* in vain */
    assert_false(readable());
    allow_all();
    expect_accepted();
    assert_int_equal(myrd_listener_timeout(&world.listener, -1), -1);
    close(first);
    close(second);
    close(third);
}
