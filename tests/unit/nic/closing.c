/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the NIC keeps a group whose processes have left as long as a peer may miss its data,
 * but not for ever. A closing epoch is the exchange of close messages before the group is freed.
 */
#include "libmyr/groups/carry.h"
#include "libmyr/soft/nic_inside.h"
#include "tests/unit/nic/member.h"
#include "tests/unit/nic/play.h"
#include "tests/unit/nic/world.h"
#include "libmyr/soft/soft_group.h"
#include "tests/unit/test.h"

/* Two nodes with one process each, both in this process. */
struct pair {
    struct world *world;
    struct member member[2];
};

static void begin_pair(struct pair *pair)
{
    pair->world = make_world(2, 1, 0);
    pair->world->unit_most = UNIT_MOST;
    for (uint32_t n = 0; n < 2; ++n) {
        open_nic(&pair->member[n], pair->world, n);
        myr_soft_get_name(pair->member[n].nic, &pair->world->name[n]);
    }
}

static void end_pair(struct pair *pair)
{
    for (uint32_t n = 0; n < 2; ++n) {
        close_nic(&pair->member[n]);
    }
    end_world(pair->world);
}

/* Make both nodes join a group with this number, and exchange data once. */
static void meet_in_group(struct pair *pair, uint32_t number, struct myr_nic_group group[2])
{
    for (uint32_t n = 0; n < 2; ++n) {
        struct member *member = &pair->member[n];
        join_one(member, pair->world->key + number, UNIT_MOST, false, &member->group);
        do { /* until the epoch has data */
            ++member->generation;
        } while (0 == part_of(member, 1));
        (void)arrive_with_data(member);
    }
    while (!myr_nic_group_test(&pair->member[0].group, 1) ||
           !myr_nic_group_test(&pair->member[1].group, 1)) {
        (void)myr_soft_poll(pair->member[0].nic);
        (void)myr_soft_poll(pair->member[1].nic);
    }
    for (uint32_t n = 0; n < 2; ++n) {
        expect_blocks(&pair->member[n], 1);
        group[n] = pair->member[n].group;
    }
}

/* Poll until no more than these numbers of groups are left on the nodes. */
static void await_closed(struct pair *pair, uint32_t left0, uint32_t left1)
{
    static uint64_t key = UINT64_MAX / 2;
    for (uint32_t polls = 0;
         groups_in(pair->member[0].segment) > left0 || groups_in(pair->member[1].segment) > left1;
         ++polls) {
        for (uint32_t n = 0; n < 2; ++n) {
            (void)myr_soft_poll(pair->member[n].nic);
            if (0 == polls % POLLS) {
                join_and_leave(&pair->member[n], ++key);
            }
        }
    }
    assert_int_equal(groups_in(pair->member[0].segment), left0);
    assert_int_equal(groups_in(pair->member[1].segment), left1);
}

/* The oldest lingering groups are evicted. */
TEST(more_closing_groups_than_fit)
{
    enum { GROUPS = MYR_SOFT_LINGERING + 8 };
    static struct myr_nic_group group[GROUPS][2];
    struct pair pair;
    begin_pair(&pair);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        meet_in_group(&pair, g, group[g]);
        assert_int_equal(groups_in(pair.member[1].segment), g + 1);
        myr_nic_group_leave(&group[g][0]);
        assert_int_equal(groups_in(pair.member[0].segment),
                         g < MYR_SOFT_LINGERING ? g + 1 : MYR_SOFT_LINGERING);
    }
    for (uint32_t g = 0; g < GROUPS; ++g) {
        myr_nic_group_leave(&group[g][1]);
    }
    await_closed(&pair, 0, 0); /* all had sent their close messages before */
    end_pair(&pair);
}

/* A group whose peer is late stays, however many other groups are opened and closed. */
TEST(one_long_closing_epoch)
{
    struct myr_nic_group late[2], quick[2];
    struct pair pair;
    begin_pair(&pair);
    meet_in_group(&pair, 0, late);
    myr_nic_group_leave(&late[0]);
    for (uint32_t g = 1; g < 2 * MYR_SOFT_LINGERING; ++g) {
        meet_in_group(&pair, g, quick);
        myr_nic_group_leave(&quick[g % 2]);
        myr_nic_group_leave(&quick[1 - g % 2]);
        await_closed(&pair, 1, 1);
    }
    myr_nic_group_leave(&late[1]);
    await_closed(&pair, 0, 0);
    end_pair(&pair);
}

/* A NIC that is created anew has none of the groups that lingered in the previous one. */
TEST(a_new_nic_keeps_no_groups)
{
    struct myr_nic_group group[2];
    struct pair pair;
    begin_pair(&pair);
    struct member *first = &pair.member[0];
    for (uint32_t creations = 0; creations < 3; ++creations) {
        struct myr_segment *kept;
        assert_int_equal(myr_segment_join(pair.world->dir[0], 4 << 20, &kept, NULL), MYR_OK);
        meet_in_group(&pair, creations, group);
        myr_nic_group_leave(&group[0]);
        assert_int_equal(groups_in(kept), 1);
        close_nic(first);
        open_nic(first, pair.world, 0);
        first->generation = pair.member[1].generation;
        assert_int_equal(groups_in(kept), 0);
        struct mcp_board *board;
        assert_int_equal(myr_soft_enter(first->nic, &board)->counters.packets_sent, 0);
        myr_soft_leave(first->nic);
        myr_segment_leave(kept);
        myr_nic_group_leave(&group[1]); /* it may linger, because its peer is gone */
        myr_soft_get_name(first->nic, &pair.world->name[0]);
    }
    end_pair(&pair);
}

/* A block that is too short to be useful is refused, and so are more nodes than a plan can have. */
TEST(impossible_data_are_refused)
{
    struct pair pair;
    struct myr_error error = {0};
    struct myr_nic_group group;
    begin_pair(&pair);
    const struct myr_nic_name *const names[] = {&pair.world->name[0], &pair.world->name[1]};
    struct myr_nic_members members = {
        .key = 5, .nodes = 2, .locals = 1, .names = names, .unit_most = MCP_BLOCK_UNIT};
    assert_int_equal(myr_soft_group_join(&group, pair.member[0].nic, &pair.member[0].waiter,
                                         &members, schedule_of, pair.world, &error),
                     MYR_ERR_TOO_LONG);
    assert_false(myr_nic_group_joined(&group));
    members = (struct myr_nic_members){
        .key = 6, .nodes = MYR_CARRY_NODES + 1, .locals = 1, .unit_most = UNIT_MOST};
    assert_int_equal(myr_soft_group_join(&group, pair.member[0].nic, &pair.member[0].waiter,
                                         &members, schedule_of, pair.world, &error),
                     MYR_ERR_TOO_LONG);
    assert_int_equal(groups_in(pair.member[0].segment), 0);
    end_pair(&pair);
}
