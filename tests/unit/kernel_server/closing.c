/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a group with data or broadcasts is not closed while a peer may miss some of them,
 * because that peer's job would hang. A closing epoch is the exchange of close messages before such
 * a group is closed.
 */
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

/* Open a group with data for this user, execute some epochs, and leave it. */
static enum myr_status open_play_leave(struct myrd_groups *groups, uint64_t key, uint32_t uid,
                                       uint32_t epochs)
{
    const struct mcp_kernel_plan plan = plan_with_data(key, uid);
    struct mcp_kernel_seen seen;
    const enum myr_status status = myrd_groups_open(groups, &plan, 1, &seen, NULL);
    if (MYR_OK == status) {
        assert_true(seen.buffer >= 0);
        fake_set(key, false, epochs);
        assert_true(myrd_groups_leave(groups, key, 1));
    }
    return status;
}

/* Do all work that is due until `end_ms`. Returns the time at which the group was closed, or 0. */
static uint64_t poll_until(struct myrd_groups *groups, uint64_t key, uint64_t now_ms,
                           uint64_t end_ms)
{
    while (now_ms < end_ms) {
        (void)myrd_groups_poll(groups, now_ms);
        if (!is_open(key)) {
            return now_ms;
        }
        const int next = myrd_groups_timeout(groups, now_ms);
        assert_in_range(next, 1, MOST_MS);
        now_ms += (uint64_t)next;
    }
    return 0;
}

/* A group that all members have left begins one more epoch, and is closed soon after that is
 * complete. Meanwhile it cannot be opened. */
GROUPS(groups_with_data_linger)
{
    struct myrd_groups *groups = *state;
    static struct myr_kernel_report report;
    const struct mcp_kernel_plan plan = plan_with_data(7, ALICE);
    struct mcp_kernel_seen seen;
    assert_int_equal(open_play_leave(groups, 7, ALICE, 5), MYR_OK);
    assert_int_equal(started(7), 1);
    fake_set(7, true, 5);
    assert_int_equal(poll_until(groups, 7, NOW, NOW + 2000), 0);
    assert_int_equal(started(7), 1);
    assert_true(asked(7) > 2);
    assert_int_not_equal(myrd_groups_open(groups, &plan, 2, &seen, NULL), MYR_OK);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.groups, 0);
    assert_int_equal(report.closed, 1);
    fake_set(7, false, 6);
    assert_in_range(poll_until(groups, 7, NOW + 2000, UINT64_MAX), NOW, NOW + 2000 + MOST_MS);
    assert_true(is_kept(7));
    assert_int_equal(started(7), 1);
    assert_int_equal(failed(7), 0);
    assert_int_equal(myrd_groups_timeout(groups, NOW + 3000), -1);
}

/* If the doorbell for the closing epoch is lost, it is repeated. If a peer never arrives in this
 * epoch, the group is closed after a timeout. */
GROUPS(closing_epochs_begin_and_end)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_play_leave(groups, 7, ALICE, 5), MYR_OK);
    assert_int_equal(poll_until(groups, 7, NOW, NOW + 10), 0);
    assert_true(started(7) > 1);
    fake_set(7, true, 5);
    const uint64_t end_ms = poll_until(groups, 7, NOW + 10, UINT64_MAX);
    assert_in_range(end_ms, NOW + MYRD_CLOSING_MS, NOW + MYRD_CLOSING_MS + MOST_MS);
    assert_true(is_kept(7));
}

/* A peer may miss a broadcast whether an epoch is outstanding, or none was ever started. */
GROUPS(groups_that_broadcast_linger)
{
    struct myrd_groups *groups = *state;
    for (uint32_t waits = 0; waits < 2; ++waits) {
        const uint64_t key = 7 + waits;
        const struct mcp_kernel_plan plan = plan_with_window(key, ALICE);
        struct mcp_kernel_seen seen;
        assert_int_equal(myrd_groups_open(groups, &plan, 1, &seen, NULL), MYR_OK);
        assert_true(seen.buffer >= 0);
        fake_set(key, waits, 0);
        assert_true(myrd_groups_leave(groups, key, 1));
        assert_true(is_open(key));
        assert_int_equal(started(key), 1);
        fake_set(key, true, waits); /* the closing epoch is the epoch after it */
        assert_int_equal(poll_until(groups, key, NOW, NOW + 100), 0);
        fake_set(key, false, 1 + waits);
        assert_in_range(poll_until(groups, key, NOW + 100, UINT64_MAX), NOW + 100,
                        NOW + 100 + MOST_MS);
        assert_true(is_kept(key));
    }
}

/* A group has no closing epoch if it has executed no epoch, has failed, is in an epoch that it
 * cannot complete, or carries no data, because its peers cannot miss anything. */
GROUPS(other_groups_do_not_linger)
{
    struct myrd_groups *groups = *state;
    struct mcp_kernel_seen seen;
    const struct mcp_kernel_plan plan = plan_with_data(9, ALICE);
    assert_int_equal(open_play_leave(groups, 7, ALICE, 0), MYR_OK);
    assert_false(is_open(7));
    open_for(groups, 8, ALICE, 1);
    fake_set(8, false, 5);
    assert_true(myrd_groups_leave(groups, 8, 1));
    assert_false(is_open(8));
    for (int fails = 0; fails < 2; ++fails) {
        assert_int_equal(myrd_groups_open(groups, &plan, 1, &seen, NULL), MYR_OK);
        assert_int_equal(myrd_groups_open(groups, &plan, 2, &seen, NULL), MYR_OK);
        fake_set(9, !fails, 5);
        if (fails) {
            myrd_groups_reap(groups, 2);
        } else {
            assert_true(myrd_groups_leave(groups, 9, 2));
        }
        assert_true(myrd_groups_leave(groups, 9, 1));
        assert_false(is_open(9));
        assert_int_equal(started(9), 0);
    }
    /* A failure ends a closing epoch. */
    assert_int_equal(open_play_leave(groups, 10, ALICE, 5), MYR_OK);
    fake_set(10, true, 5);
    assert_int_equal(poll_until(groups, 10, NOW, NOW + 100), 0);
    assert_int_equal(mcp_kernel_ring(NULL, 10, MCP_RING_FAIL), 0);
    assert_in_range(poll_until(groups, 10, NOW + 100, UINT64_MAX), NOW + 100, NOW + 100 + MOST_MS);
}

/* Lingering groups do not reduce the capacity for others: the oldest ones of the user are
 * evicted. */
GROUPS(lingering_groups_are_evicted)
{
    struct myrd_groups *groups = *state;
    enum { MOST = MCP_KERNEL_GROUPS / 4, MORE = 10 };
    assert_int_equal(open_play_leave(groups, 5000, BOB, 5), MYR_OK);
    for (uint64_t key = 1; key <= MOST + MORE; ++key) {
        assert_int_equal(open_play_leave(groups, key, ALICE, 5), MYR_OK);
        fake_set(key, true, 5);
        (void)myrd_groups_poll(groups, NOW + key);
    }
    assert_true(is_open(5000));
    assert_true(is_open(MOST + MORE));
    for (uint64_t key = 1; key <= MORE; ++key) {
        assert_false(is_open(key));
    }
}
