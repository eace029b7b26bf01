/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests which responses clients get from the server, and that groups end correctly when a client or
 * the server exits: a job that lost a process must fail instead of hanging.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/server.h"
#include "tests/unit/test.h"

SERVER(clients_share_a_page)
{
    struct myr_kernel_nic *one = connect_client(), *other = connect_client();
    struct myr_nic_name name, same;
    struct fake_group group = {.open = false};
    int page, again;
    myr_kernel_nic_get_name(one, &name);
    myr_kernel_nic_get_name(other, &same);
    assert_memory_equal(&name, &same, sizeof(name));
    assert_int_equal(name.count, 1);
    assert_int_equal(mcp_ip_to_4(&name.address[0].ip), ip4_of("127.0.0.1"));
    assert_int_equal(name.address[0].port, htons(world.options.nic.port));
    assert_int_equal(name.address[0].prefix, MCP_IP_BEFORE_4 + 8);
    open_group(one, 7, &page);
    open_group(other, 7, &again);
    assert_true(fake_find_group(7, &group));
    assert_int_equal(group.plan.uid, geteuid());
    uint32_t *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    const uint32_t *theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, again, 0);
    *mine = 5;
    assert_int_equal(*theirs, 5);
    munmap(mine, 4096);
    munmap((void *)theirs, 4096);
    close(page);
    close(again);
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    myr_kernel_nic_ask_close(one, 7);
    assert_int_equal(myr_kernel_nic_report(one, report, NULL), MYR_OK);
    assert_int_equal(report->groups, 1); /* the other client still holds it */
    assert_int_equal(myr_kernel_nic_daemon(one), MYR_KERNEL_HERE);
    myr_kernel_nic_close(one);
    myr_kernel_nic_ask_close(other, 7);
    assert_int_equal(myr_kernel_nic_report(other, report, NULL), MYR_OK);
    assert_int_equal(report->groups, 0);
    assert_int_equal(report->closed, 1);
    assert_string_equal(report->interface, "lo");
    assert_int_equal(report->counters.barriers, 42);
    assert_int_equal(report->pid, getpid());
    free(report);
    myr_kernel_nic_close(other);
    assert_int_equal(failed(7), 0);
}

SERVER(members_learn_who_is_missing)
{
    struct myr_kernel_nic *member = connect_client(), *stranger = connect_client();
    struct myr_kernel_missing missing;
    open_group(member, 7, NULL);
    assert_true(myr_kernel_nic_ask_missing(member, 7, &missing));
    assert_int_equal(missing.count, 0);
    fake_set(7, true, 3);
    assert_true(myr_kernel_nic_ask_missing(member, 7, &missing));
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing.node[0].node, 1);
    assert_int_equal(missing.node[0].heard_ms, 42);
    assert_true(myr_kernel_nic_ask_missing(stranger, 7, &missing));
    assert_int_equal(missing.count, 0);
    assert_true(myr_kernel_nic_ask_missing(member, 8, &missing));
    assert_int_equal(missing.count, 0);
    myr_kernel_nic_close(stranger);
    myr_kernel_nic_close(member);
}

SERVER(refusals_have_a_message)
{
    struct myr_kernel_nic *nic = connect_client();
    struct myr_error error;
    struct mcp_kernel_seen seen;
    struct myr_kernel_question question = question_of_two(7, "10.0.0.1");
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "its own network"));
    assert_int_equal(seen.page, -1);
    myr_kernel_nic_ask_close(nic, 7); /* there is nothing to close */
    open_group(nic, 7, NULL);         /* the connection still works */
    myr_kernel_nic_close(nic);
}

SERVER(a_connection_that_ends_is_a_death)
{
    struct myr_kernel_nic *nic = connect_client();
    open_group(nic, 7, NULL);
    myr_kernel_nic_close(nic);
    fake_await_ring(7, MCP_RING_FAIL);
}

static void join_leave_and_end(uint32_t rank, void *context)
{
    struct myr_kernel_nic *nic = connect_client();
    int page;
    (void)rank;
    (void)context;
    open_group(nic, 7, &page);
    myr_kernel_nic_ask_close(nic, 7);
}

/* MYR_KERNEL_CLOSE has no response, so that a process that leaves may exit before the server has
 * read the request. The server must not treat that as a death. */
SERVER(a_process_may_exit_right_after_leaving)
{
    struct myr_kernel_nic *other = connect_client();
    open_group(other, 7, NULL);
    for (int round = 0; round < 100; ++round) {
        assert_true(crew_join(crew_fork(join_leave_and_end, 0, NULL)));
    }
    myr_kernel_nic_ask_close(other, 7);
    myr_kernel_nic_close(other);
    while (is_open(7)) {
        sched_yield();
    }
    assert_int_equal(failed(7), 0);
}

SERVER(the_server_asks_for_reported_groups)
{
    assert_int_equal(end_server(state), 0);
    fake_watch_next = true;
    assert_int_equal(begin_server(state), 0);
    struct myr_kernel_nic *nic = connect_client();
    open_group(nic, 7, NULL);
    fake_report_stuck(7, 0, 1);
    fake_await_ring(7, MCP_RING_ASK);
    myr_kernel_nic_ask_close(nic, 7);
    myr_kernel_nic_close(nic);
}

/* A member is killed while its child, which exits with the test, still holds the connection
 * open. */
struct orphan {
    int ready[2], leash[2];
};

static void join_and_wait(uint32_t rank, void *context)
{
    const struct orphan *orphan = context;
    int page;
    char word;
    (void)rank;
    close(orphan->leash[1]);
    open_group(connect_client(), 7, &page);
    if (0 != fork()) {
        CREW_CHECK(1 == write(orphan->ready[1], "", 1), "cannot write to the pipe");
        pause();
    }
    (void)!read(orphan->leash[0], &word, 1);
}

SERVER(a_killed_process_is_a_death)
{
    struct orphan orphan;
    char word;
    assert_int_equal(pipe(orphan.ready), 0);
    assert_int_equal(pipe(orphan.leash), 0);
    const pid_t child = crew_fork(join_and_wait, 0, &orphan);
    assert_int_equal(read(orphan.ready[0], &word, 1), 1);
    kill(child, SIGKILL);
    fake_await_ring(7, MCP_RING_FAIL);
    assert_false(crew_join(child));
    for (int e = 0; e < 2; ++e) {
        close(orphan.ready[e]);
        close(orphan.leash[e]);
    }
}

SERVER(a_server_that_ends_is_noticed)
{
    struct myr_kernel_nic *nic = connect_client(), *none;
    struct myr_kernel_question question = question_of_two(7, "127.0.0.2");
    struct myr_error error;
    struct mcp_kernel_seen seen;
    assert_int_equal(myr_kernel_nic_daemon(nic), MYR_KERNEL_HERE);
    assert_int_equal(end_server(state), 0);
    assert_int_not_equal(myr_kernel_nic_daemon(nic), MYR_KERNEL_HERE);
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    myr_kernel_nic_close(nic);
    assert_int_equal(myr_kernel_nic_open(false, &none, &error), MYR_ERR_NOT_THERE);
    assert_int_equal(begin_server(state), 0);
}
