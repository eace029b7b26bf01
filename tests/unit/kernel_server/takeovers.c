/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a new daemon takes over the groups and their holders in the state in which its
 * predecessor left them, because otherwise running jobs fail. A client that reconnects keeps the
 * groups that it claims to hold; a client that does not reconnect keeps its groups until it dies.
 */
#include "myrd/kernel_holders.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

enum { ONE_PID = 4000, OTHER_PID = 4001 };

static uint64_t one_holder(void)
{
    return myrd_holder_number(1, ONE_PID);
}

static uint64_t other_holder(void)
{
    return myrd_holder_number(2, OTHER_PID);
}

/* Let this daemon be killed, and the next one start. */
static struct myrd_groups *take_over(void **state)
{
    fake.keeps = true;
    myrd_groups_abandon(*state);
    struct myrd_groups *groups = myrd_groups_make(NULL, &no_users);
    *state = groups;
    assert_non_null(groups);
    return groups;
}

static uint32_t count_holders(const struct myrd_groups *groups)
{
    uint32_t count = 0;
    for (uint32_t h = 0; h < MCP_KERNEL_HOLDERS; ++h) {
        count += NULL != myrd_groups_holder(groups, h);
    }
    return count;
}

GROUPS(the_next_daemon_knows_the_holders)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_for(groups, 7, ALICE, one_holder()), MYR_OK);
    assert_int_equal(open_for(groups, 7, ALICE, other_holder()), MYR_OK);
    assert_int_equal(open_for(groups, 8, BOB, other_holder()), MYR_OK);
    assert_true(myrd_groups_leave(groups, 8, other_holder()));
    groups = take_over(state);
    assert_int_equal(count_holders(groups), 2);
    const struct mcp_kernel_holder *first = myrd_groups_holder(groups, 0);
    assert_int_equal(myrd_holder_pid(first->number), ONE_PID);
    assert_int_equal(first->uid, ALICE);
    myrd_groups_close_unheld(groups);
    assert_true(is_open(7));
    assert_true(is_kept(8));
    assert_false(myrd_groups_leave(groups, 8, other_holder()));
    assert_true(myrd_groups_leave(groups, 7, one_holder()));
    groups = take_over(state);
    assert_int_equal(count_holders(groups), 1);
    myrd_groups_reap(groups, other_holder());
    assert_int_equal(failed(7), 1);
    assert_false(is_open(7));
    assert_int_equal(count_holders(groups), 0);
}

GROUPS(clients_that_reconnect_keep_their_groups)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_for(groups, 7, ALICE, one_holder()), MYR_OK);
    assert_int_equal(open_for(groups, 8, ALICE, one_holder()), MYR_OK);
    assert_int_equal(open_for(groups, 9, ALICE, other_holder()), MYR_OK);
    groups = take_over(state);
    assert_true(myrd_groups_hold_on(groups, 7, one_holder()));
    assert_false(myrd_groups_hold_on(groups, 9, one_holder())); /* which it did not hold */
    assert_false(myrd_groups_hold_on(groups, 10, one_holder()));
    myrd_groups_settle(groups, one_holder(), 0);
    assert_true(is_open(7));
    assert_false(is_open(8)); /* its close was lost */
    assert_true(is_open(9));
    assert_int_equal(failed(8), 0);
    myrd_groups_settle(groups, one_holder(), 0);
    assert_true(is_open(7));
    groups = take_over(state);
    assert_true(myrd_groups_leave(groups, 7, one_holder()));
    assert_false(is_open(7));
    assert_int_equal(failed(7), 0);
}

/* The daemon was killed when the last member had left. */
GROUPS(groups_without_a_holder_are_closed)
{
    struct myrd_groups *groups = *state;
    const struct mcp_kernel_plan plan = plan_with_window(7, ALICE);
    struct mcp_kernel_seen seen;
    char why[MCP_KERNEL_WHY];
    assert_int_equal(mcp_kernel_group_open(NULL, &plan, &seen, why), 0);
    const struct mcp_kernel_plan silent = plan_of(8, ALICE);
    assert_int_equal(mcp_kernel_group_open(NULL, &silent, &seen, why), 0);
    groups = take_over(state);
    myrd_groups_close_unheld(groups);
    assert_true(is_open(7)); /* in its closing epoch */
    assert_int_equal(started(7), 1);
    assert_true(is_kept(8));
    groups = take_over(state); /* which continues the closing epoch */
    myrd_groups_close_unheld(groups);
    assert_true(is_open(7));
    fake_set(7, false, 1);
    (void)myrd_groups_poll(groups, NOW);
    (void)myrd_groups_poll(groups, NOW + MOST_MS);
    assert_true(is_kept(7));
}

/* The daemon was killed while it opened a group that broadcasts. When its client repeats the
 * request, it gets the same group and holds it once, and no closing epoch has begun. */
GROUPS(a_group_is_opened_again)
{
    struct myrd_groups *groups = *state;
    const struct mcp_kernel_plan plan = plan_with_window(7, ALICE);
    struct fake_group opened = {.open = false};
    struct mcp_kernel_seen seen;
    assert_int_equal(myrd_groups_open(groups, &plan, one_holder(), &seen, NULL), MYR_OK);
    assert_true(fake_find_group(7, &opened));
    assert_true(opened.recorded); /* so that the group always has a holder */
    groups = take_over(state);
    myrd_groups_close_unheld(groups);
    myrd_groups_settle(groups, one_holder(), 7);
    assert_int_equal(started(7), 0);
    assert_int_equal(myrd_groups_open(groups, &plan, one_holder(), &seen, NULL), MYR_OK);
    assert_int_equal(started(7), 0);
    assert_true(myrd_groups_leave(groups, 7, one_holder()));
    assert_int_equal(started(7), 1); /* it was held once */
    assert_false(myrd_groups_leave(groups, 7, one_holder()));
}

/* The daemon was killed between recording a holder and opening the group. */
GROUPS(holders_without_groups_are_forgotten)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_for(groups, 7, ALICE, one_holder()), MYR_OK);
    struct mcp_kernel_holder holder = *myrd_groups_holder(groups, 0);
    holder.number = other_holder();
    memset(holder.groups, 0, sizeof(holder.groups));
    holder.groups[0] = UINT64_C(1) << 63;
    mcp_kernel_record_holder(NULL, 1, &holder);
    groups = take_over(state);
    assert_int_equal(count_holders(groups), 1);
    assert_int_equal(fake_open_count(), 1);
}

/* Closed groups are kept, and count for the user who closed them. */
GROUPS(closed_groups_stay_closed)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_for(groups, 7, ALICE, one_holder()), MYR_OK);
    assert_true(myrd_groups_leave(groups, 7, one_holder()));
    groups = take_over(state);
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    assert_non_null(report);
    myrd_groups_report(groups, ALICE, report);
    assert_int_equal(report->closed, 1);
    assert_int_equal(report->groups, 0);
    myrd_groups_report(groups, BOB, report);
    assert_int_equal(report->closed, 0);
    free(report);
}
