/* SPDX-License-Identifier: BSD-3-Clause */
/* See groups.h. */
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

struct myrd_users no_users;

int begin_groups(void **state)
{
    fake_reset();
    *state = myrd_groups_make(NULL, &no_users);
    return NULL == *state;
}

int end_groups(void **state)
{
    myrd_groups_free(*state);
    assert_int_equal(fake_open_count(), 0);
    return 0;
}

enum myr_status open_for(struct myrd_groups *groups, uint64_t key, uint32_t uid, uint64_t holder)
{
    const struct mcp_kernel_plan plan = plan_of(key, uid);
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen = {.page = -1};
    const enum myr_status status = myrd_groups_open(groups, &plan, holder, &seen, &error);
    assert_int_equal(MYR_OK == status, seen.page >= 0);
    assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
    return status;
}

GROUPS(equal_groups_are_shared)
{
    struct myrd_groups *groups = *state;
    struct mcp_kernel_plan plan = plan_of(7, ALICE);
    struct myr_error another, other_tables;
    struct mcp_kernel_seen first, second, none = {.page = -1};
    assert_int_equal(myrd_groups_open(groups, &plan, 1, &first, NULL), MYR_OK);
    assert_int_equal(myrd_groups_open(groups, &plan, 2, &second, NULL), MYR_OK);
    assert_int_equal(first.page, second.page);
    assert_int_equal(first.line, second.line);
    assert_int_equal(fake_open_count(), 1);
    plan.uid = BOB;
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, &another), MYR_ERR_SYSTEM);
    plan = plan_of(7, ALICE);
    plan.peers[1].node = 2;
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, &other_tables), MYR_ERR_SYSTEM);
    assert_int_equal(none.page, -1);
    /* another user does not learn from the message whether the tables are equal */
    assert_string_equal(another.text, other_tables.text);
    plan = plan_with_window(7, ALICE);
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, NULL), MYR_ERR_SYSTEM);
    assert_false(myrd_groups_leave(groups, 7, 3));
    assert_true(myrd_groups_know(groups, 7));
    assert_false(myrd_groups_know(groups, 8));
}

GROUPS(the_last_one_closes_it)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 2);
    assert_true(myrd_groups_leave(groups, 7, 1));
    assert_false(myrd_groups_leave(groups, 7, 1));
    assert_true(is_open(7));
    assert_true(myrd_groups_leave(groups, 7, 2));
    assert_false(is_open(7));
    assert_true(is_kept(7));
    assert_int_equal(failed(7), 0);
    assert_int_equal(myrd_groups_timeout(groups, NOW), -1);
}

static void open_and_close(struct myrd_groups *groups, uint64_t first, uint32_t count, uint32_t uid)
{
    for (uint32_t g = 0; g < count; ++g) {
        assert_int_equal(open_for(groups, first + g, uid, uid), MYR_OK);
        assert_true(myrd_groups_leave(groups, first + g, uid));
    }
}

/* When a user's quota of closed groups is used up, its oldest one is forgotten, and no other
 * user's. */
GROUPS(closed_groups_have_a_quota)
{
    enum { ABOVE_QUOTA = MCP_KERNEL_LATE / 2, USERS = 3 };
    static struct myr_kernel_report report;
    struct myrd_groups *groups = *state;
    uint32_t last = MCP_KERNEL_LATE;
    open_and_close(groups, 1, 2, BOB);
    for (uint32_t user = 1; user <= USERS; ++user) {
        const uint64_t first = 2 * ABOVE_QUOTA * user;
        open_and_close(groups, first, ABOVE_QUOTA, BOB + user);
        myrd_groups_report(groups, BOB + user, &report);
        assert_in_range(report.closed, MCP_KERNEL_LATE / 16, last - 1);
        last = report.closed;
        assert_false(is_kept(first + ABOVE_QUOTA - last - 1));
        assert_true(is_kept(first + ABOVE_QUOTA - last));
        assert_true(is_kept(first + ABOVE_QUOTA - 1));
    }
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.closed, 2);
    assert_true(is_kept(1) && is_kept(2));
}

GROUPS(each_open_needs_a_close)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 1);
    assert_true(myrd_groups_leave(groups, 7, 1));
    assert_true(myrd_groups_leave(groups, 7, 1));
    assert_false(myrd_groups_leave(groups, 7, 1));
}

GROUPS(death_fails_what_was_held)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 2);
    open_for(groups, 8, ALICE, 2);
    open_for(groups, 9, ALICE, 1);
    myrd_groups_leave(groups, 9, 1);
    myrd_groups_reap(groups, 1);
    assert_int_equal(failed(7), 1);
    assert_int_equal(failed(8), 0);
    assert_int_equal(failed(9), 0);
    myrd_groups_reap(groups, 2);
    assert_int_equal(failed(7), 1); /* reported only once */
    assert_int_equal(failed(8), 1);
    assert_int_equal(fake_open_count(), 0);
}

/* A process dies while the interface is down: the daemon repeats the doorbell until the NIC has
 * received it. */
GROUPS(a_lost_failure_is_repeated)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 2);
    fake.deaf = true;
    myrd_groups_reap(groups, 1);
    for (uint64_t now = NOW; now < NOW + 1000; now += (uint64_t)myrd_groups_timeout(groups, now)) {
        (void)myrd_groups_poll(groups, now);
        assert_int_equal(failed(7), 0);
        assert_in_range(myrd_groups_timeout(groups, now), 1, MYRD_FAIL_AGAIN_MS);
    }
    fake.deaf = false;
    (void)myrd_groups_poll(groups, NOW + 2000);
    (void)myrd_groups_poll(groups, NOW + 3000);
    assert_int_equal(failed(7), 1);
    assert_int_equal(myrd_groups_timeout(groups, NOW + 3000), -1);
}

/* If the last member dies while the interface is down, the group is closed as failed, so that it
 * answers ASKs with FAIL. */
GROUPS(a_lost_failure_is_kept)
{
    struct myrd_groups *groups = *state;
    struct fake_group closed = {.fails = false};
    open_for(groups, 7, ALICE, 1);
    fake.deaf = true;
    myrd_groups_reap(groups, 1);
    assert_true(fake_find_group(7, &closed));
    assert_true(closed.kept && closed.fails);
    open_for(groups, 8, ALICE, 1);
    assert_true(myrd_groups_leave(groups, 8, 1));
    assert_true(fake_find_group(8, &closed));
    assert_true(closed.kept && !closed.fails);
}

/* If there is no memory to close a group, the daemon tries again later, without a closing epoch.
 * Meanwhile no process can open it, and other groups are opened and closed as usual. */
GROUPS(a_close_is_repeated)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 8, ALICE, 1);
    fake_set(7, false, 5);
    fake.full = true;
    assert_true(myrd_groups_leave(groups, 7, 1));
    myrd_groups_reap(groups, 1);
    for (uint64_t now = NOW; now < NOW + 1000; now += (uint64_t)myrd_groups_timeout(groups, now)) {
        (void)myrd_groups_poll(groups, now);
        assert_true(is_open(7) && is_open(8));
        assert_in_range(myrd_groups_timeout(groups, now), 1, MOST_MS);
    }
    assert_int_not_equal(open_for(groups, 7, ALICE, 2), MYR_OK);
    open_for(groups, 9, ALICE, 2);
    fake.full = false;
    (void)myrd_groups_poll(groups, NOW + 2000);
    assert_true(is_kept(7) && is_kept(8) && is_open(9));
    assert_int_equal(started(7), 0);
    assert_int_equal(failed(8), 1);
    assert_true(myrd_groups_leave(groups, 9, 2));
    assert_int_equal(myrd_groups_timeout(groups, NOW + 2000), -1);
}

GROUPS(members_have_a_quota)
{
    struct myrd_groups *groups = *state;
    for (uint64_t holder = 1; holder <= MYRD_HOLDERS_OF_ONE; ++holder) {
        assert_int_equal(open_for(groups, 7, ALICE, holder), MYR_OK);
    }
    assert_int_equal(open_for(groups, 7, ALICE, 1), MYR_ERR_FULL);
}

GROUPS(users_see_their_own_groups)
{
    struct myrd_groups *groups = *state;
    static struct myr_kernel_report report;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 8, BOB, 2);
    open_for(groups, 9, BOB, 2);
    fake_set(8, true, 5);
    open_for(groups, 7, ALICE, 3);
    myrd_groups_reap(groups, 1);
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.groups, 2);
    assert_int_equal(report.group[0].done, 5);
    assert_true(report.group[0].waits && !report.group[1].waits);
    assert_int_equal(report.group[0].missing, 1);
    assert_int_equal(report.group[0].node_missing[0].node, 1);
    assert_int_equal(mcp_ip_to_4(&report.group[0].node_missing[0].ip), ip4_of("127.0.0.2"));
    assert_int_equal(report.group[0].node_missing[0].heard_ms, 42);
    assert_int_equal(report.group[0].since_ms, 0);
    myrd_groups_poll(groups, NOW + 5);
    myrd_groups_poll(groups, NOW + 5000);
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.group[0].since_ms, NOW + 5);
    assert_int_equal(report.group[1].missing, 0);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.groups, 1);
    /* the process that has died belonged to this node */
    assert_int_equal(report.group[0].failed, report.group[0].node + 1);
    assert_int_equal(report.group[0].lost.node, report.group[0].node);
    myrd_groups_report(groups, 0, &report);
    assert_int_equal(report.groups, 3);
    myrd_groups_report(groups, ALICE + 100, &report);
    assert_int_equal(report.groups, 0);
}
