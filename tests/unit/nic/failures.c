/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that all processes of a node get an error if a group cannot be created or completed, and
 * that nothing of the group stays in the NIC.
 */
#include "libmyr/soft/nic_inspect.h"
#include "tests/unit/nic/machine.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/play.h"
#include "tests/unit/nic/world.h"
#include "libmyr/soft/soft_group.h"
#include "tests/unit/test.h"

static enum myr_status join_as(struct member *member, uint32_t local,
                               const struct myr_nic_name names[2], uint64_t key,
                               struct myr_nic_group *group)
{
    const struct myr_nic_name *const by_node[] = {&names[0], &names[1]};
    const struct myr_nic_members members = {
        .key = key,
        .nodes = 2,
        .locals = 2,
        .local = local,
        .names = by_node,
        .unit_most = member->world->unit_most,
    };
    struct myr_error error = {0};
    return myr_soft_group_join(group, member->nic, &member->waiter, &members, schedule_of,
                               member->world, &error);
}

static void expect_no_group(struct member *member)
{
    struct myr_soft_view view;
    assert_int_equal(groups_in(member->segment), 0);
    assert_int_equal(myr_inspect_nic(myr_segment_fd(member->segment), &view, NULL), MYR_OK);
    assert_int_equal(view.groups, 0);
    myr_soft_view_free(&view);
}

/* The first process lacks a node's address, or has no memory. Then the second one fails with the
 * same status, although it could join, and the NIC has no group in freed memory. */
static void fail_as_the_first(uint32_t unit_most)
{
    struct world *world = make_world(2, 2, 0);
    world->unit_most = unit_most;
    struct myr_nic_name good[2], bad[2];
    struct myr_nic_group group[2];
    struct member member;
    uint32_t failures = 0;
    open_nic(&member, world, 0);
    myr_soft_get_name(member.nic, &good[0]);
    good[1] = bad[0] = bad[1] = good[0];
    ++good[1].key;
    bad[1].count = 0;

    assert_int_equal(join_as(&member, 0, bad, 1, &group[0]), MYR_ERR_NOT_THERE);
    assert_int_equal(join_as(&member, 1, good, 1, &group[1]), MYR_ERR_NOT_THERE);
    expect_no_group(&member);

    enum myr_status status = MYR_ERR_OUT_OF_MEMORY;
    for (int enough = 0; MYR_OK != status; ++enough) { /* each allocation fails once */
        allocations_left = enough;
        status = join_as(&member, 0, good, 2 + (uint64_t)enough, &group[0]);
        allocations_left = -1;
        failures += MYR_OK != status;
        assert_int_equal(join_as(&member, 1, good, 2 + (uint64_t)enough, &group[1]), status);
        for (uint32_t local = 0; MYR_OK == status && local < 2; ++local) {
            myr_nic_group_leave(&group[local]);
        }
        expect_no_group(&member);
    }
    assert_true(failures > 0);
    close_nic(&member);
    end_world(world);
}

TEST(the_first_of_two_fails)
{
    fail_as_the_first(0);
    fail_as_the_first(UNIT_MOST);
}

/* The first process has joined, and the second one has no memory. When the first one leaves,
 * before or after that, no record of the group stays. */
static void fail_as_the_second(uint32_t unit_most)
{
    struct world *world = make_world(2, 2, 0);
    world->unit_most = unit_most;
    struct myr_nic_name names[2];
    struct myr_nic_group group[2];
    struct member member;
    open_nic(&member, world, 0);
    myr_soft_get_name(member.nic, &names[0]);
    names[1] = names[0];
    ++names[1].key;
    enum myr_status status = MYR_ERR_OUT_OF_MEMORY;
    uint64_t key = 1;
    for (int enough = 0; MYR_OK != status; ++enough) { /* each allocation fails once */
        for (int before = 0; before < 2; ++before, ++key) {
            assert_int_equal(join_as(&member, 0, names, key, &group[0]), MYR_OK);
            if (before) {
                myr_nic_group_leave(&group[0]);
            }
            allocations_left = enough;
            status = join_as(&member, 1, names, key, &group[1]);
            allocations_left = -1;
            if (!before) {
                myr_nic_group_leave(&group[0]);
            }
            if (MYR_OK == status) {
                myr_nic_group_leave(&group[1]);
            }
            expect_no_group(&member);
        }
    }
    assert_true(key > 3); /* at least one allocation has failed */
    close_nic(&member);
    end_world(world);
}

TEST(the_second_of_two_fails)
{
    fail_as_the_second(0);
    fail_as_the_second(UNIT_MOST);
}

/* The other node never arrives. The waiting process learns which node is missing, and makes the
 * group fail. */
TEST(a_missing_node)
{
    struct myr_nic_group group;
    struct member member;
    struct mcp_missing missing[2];
    struct mcp_counters counters;
    uint32_t node;
    open_alone(&member, 8 << 20);
    join_with_absent(&member, 1, 1, &group);
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 0);
    const uint32_t epoch = myr_nic_group_arrive(&group);
    assert_false(myr_nic_group_wait(&group, epoch, 5000));
    assert_int_equal(myr_nic_group_missing(&group, missing, 0), 0);
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 1);
    assert_int_equal(missing[0].node, 1);
    assert_int_equal(missing[0].heard_ms, 0);
    assert_false(myr_nic_group_over(&group));
    assert_false(myr_nic_group_failed(&group, &node));
    myr_nic_group_fail(&group, 1);
    assert_true(myr_nic_group_over(&group));
    assert_true(myr_nic_group_failed(&group, &node));
    assert_int_equal(node, 1);
    assert_false(myr_nic_group_wait(&group, epoch, 0)); /* otherwise it would wait for ever */
    assert_false(myr_nic_group_wait(&group, myr_nic_group_arrive(&group), 0));
    assert_int_equal(myr_nic_group_missing(&group, missing, 2), 0);
    myr_soft_count(member.nic, &counters);
    assert_int_equal(counters.failed, 1);
    myr_nic_group_leave(&group);
    close_nic(&member);
}
