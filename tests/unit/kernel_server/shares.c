/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests quotas: one user must not be able to use up the NIC, its connections or the daemon's time
 * at the expense of others.
 */
#include <unistd.h>

#include "myrd/accounts.h"
#include "myrd/share.h"
#include "myrd/users.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

TEST(users_wait_when_their_time_is_used_up)
{
    static struct myrd_users users;
    myrd_users_come(&users, ALICE);
    myrd_users_come(&users, BOB);
    myrd_users_come(&users, ALICE);
    assert_int_equal(myrd_users_connections(&users, ALICE), 2);
    for (int round = 0; round < 3; ++round) {
        myrd_users_begin_iteration(&users);
        assert_false(myrd_users_had_time(&users, ALICE));
        myrd_users_took(&users, ALICE, MYRD_USERS_ITERATION_US - 1);
        assert_false(myrd_users_had_time(&users, ALICE));
        myrd_users_took(&users, ALICE, 1);
        assert_true(myrd_users_had_time(&users, ALICE));
        assert_false(myrd_users_had_time(&users, BOB));
    }
    myrd_users_go(&users, ALICE);
    assert_true(myrd_users_had_time(&users, ALICE));
    myrd_users_go(&users, ALICE);
    assert_int_equal(myrd_users_connections(&users, ALICE), 0);
    assert_int_equal(myrd_users_connections(&users, BOB), 1);
    assert_int_equal(users.count, 1);
    myrd_users_took(&users, ALICE, MYRD_USERS_ITERATION_US); /* ALICE has disconnected */
    assert_false(myrd_users_had_time(&users, ALICE));
}

/* Take the whole quota of this user. */
static uint32_t take_all(uint32_t all, uint32_t taken, uid_t uid)
{
    uint32_t own = 0;
    while (myrd_share_allows(all, taken, own, uid)) {
        ++own;
    }
    return own;
}

TEST(quotas_shrink_with_the_number_of_users)
{
    for (uint32_t all = 0; all <= 4096; all = 2 * all + 1) {
        uint32_t taken = 0, last = all;
        for (uid_t uid = 1; uid < 100; ++uid) {
            const uint32_t own = take_all(all, taken, uid);
            assert_true(own <= last);
            assert_true(0 != own || taken >= all - all / 32); /* as long as anything is left */
            taken += own;
            last = own;
        }
        assert_true(taken <= all - all / 32);
        assert_int_equal(take_all(all, taken, 0), all - taken); /* reserved for root */
    }
    assert_int_equal(take_all(1024, 0, ALICE), 248);
    /* Four such quotas would leave nothing, so the second one is smaller. */
    assert_true(take_all(1024, 4 * 248, ALICE) == 0);
    assert_int_equal(take_all(1024, 248, BOB), 186);
}

/* Users use up their quotas one after the other. Each leaves capacity for others, at least for
 * root, and no open group is closed. */
GROUPS(groups_have_a_quota)
{
    enum { USERS = 40 };
    struct myrd_groups *groups = *state;
    uint64_t key = 1;
    uint32_t before = 0;
    for (uint32_t user = 0; user < USERS; ++user) {
        while (MYR_OK == open_for(groups, key, ALICE + user, 1)) {
            ++key;
        }
        assert_int_equal(open_for(groups, key, ALICE + user, 1), MYR_ERR_FULL);
        if (user < 20) {
            assert_true(fake_open_count() > before);
        }
        before = fake_open_count();
    }
    assert_int_equal(open_for(groups, 5, ALICE, 2), MYR_OK); /* which is open already */
    assert_int_equal(fake_open_count(), before);
    while (MYR_OK == open_for(groups, key, 0, 3)) {
        ++key;
    }
    assert_true(fake_open_count() >= before + MCP_KERNEL_GROUPS / 32);
    assert_int_equal(fake_open_count(), MCP_KERNEL_GROUPS);
    myrd_groups_leave(groups, key - 1, 3);
    assert_int_equal(open_for(groups, key, 0, 3), MYR_OK);
}

/* ---- accounts ---- */

static void write_subuid(const char *lines)
{
    char path[] = "/tmp/nicbarr-test-subuid.XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, lines, strlen(lines)), strlen(lines));
    close(file);
    myrd_accounts_read(path);
    assert_int_equal(unlink(path), 0);
}

TEST(subordinates_are_an_account)
{
    write_subuid("bob:165536:65536\nalice:100000:65536\n1005:300000:10\nroot:1000000:1000000000\n"
                 "0:2000:10\ncarol:300005:10\nnonsense\n:\ndave:x:5\neve:7\nfrank:500000:0\n"
                 "grace:4294967295:65536\nheidi:99999999999:65536\n");
    static const struct {
        uid_t uid, account;
    } of[] = {
        {0, 0},           {1000, 1000},     {99999, 99999},           {100000, 100000},
        {165535, 100000}, {165536, 165536}, {231071, 165536},         {231072, 231072},
        {300004, 300000}, {300012, 300000}, {300015, 300015},         {1000001, 1000001},
        {2001, 2001},     {500000, 500000}, {UINT32_MAX, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); ++i) {
        assert_int_equal(myrd_account(of[i].uid), of[i].account);
    }
    myrd_accounts_read("/nowhere");
    assert_int_equal(myrd_account(165535), 165535);
}

/* Subordinates of one user share that user's quota of open and closed groups, connections and
 * time. */
GROUPS(subordinates_share_a_quota)
{
    struct myrd_groups *groups = *state;
    enum { FIRST = 100000, MOST = MCP_KERNEL_GROUPS };
    static struct myrd_users users;
    static struct myr_kernel_report report;
    uint32_t opened = 0;
    write_subuid("alice:100000:65536\n");
    while (MYR_OK == open_for(groups, 1 + opened, FIRST + opened, 1)) {
        ++opened;
    }
    const uint32_t others = opened;
    assert_int_equal(others, take_all(MCP_KERNEL_GROUPS, 0, FIRST));
    for (uint32_t g = 0; g < opened; ++g) {
        assert_true(myrd_groups_leave(groups, 1 + g, 1));
    }
    for (uint32_t g = 0; g < MCP_KERNEL_LATE; ++g) {
        assert_int_equal(open_for(groups, MOST + g, FIRST + g, 1), MYR_OK);
        assert_true(myrd_groups_leave(groups, MOST + g, 1));
    }
    myrd_groups_report(groups, 0, &report);
    assert_int_equal(report.closed, take_all(MCP_KERNEL_LATE, 0, FIRST));
    myrd_users_come(&users, FIRST);
    myrd_users_come(&users, FIRST + 1);
    myrd_users_come(&users, ALICE);
    assert_int_equal(myrd_users_connections(&users, FIRST + 2), 2);
    myrd_users_begin_iteration(&users);
    myrd_users_took(&users, FIRST, MYRD_USERS_ITERATION_US);
    assert_true(myrd_users_had_time(&users, FIRST + 1));
    assert_false(myrd_users_had_time(&users, ALICE));
    myrd_users_go(&users, FIRST + 1);
    myrd_users_go(&users, FIRST);
    assert_int_equal(users.count, 1);
    myrd_accounts_read("/nowhere");
}
