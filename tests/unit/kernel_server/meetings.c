/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests meetings, in which the daemon contacts the peers of a group before it opens the group:
 * absent peers of one user must not delay other users.
 */
#include "myrd/kernel_hosts.h"
#include "myrd/kernel_meeting.h"
#include "myrd/users.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

enum { MEETINGS = 4 * MYRD_MEETINGS_OF_ONE };

static struct myrd_meeting *join(struct myrd_meetings *meetings, uint64_t key, uint32_t uid)
{
    const struct mcp_kernel_plan plan = plan_of(key, uid);
    struct myrd_meeting *meeting = myrd_meetings_join(meetings, &plan, NOW);
    assert_non_null(meeting);
    return meeting;
}

/* Continue all meetings that are due, as the server does. Counts in `absent` and `full` those that
 * fail, and returns the number of those that were continued. */
static uint32_t go_on(struct myrd_meetings *meetings, const struct myrd_hosts *hosts, uint64_t now,
                      uint32_t *absent, uint32_t *full)
{
    struct myrd_meeting *meeting;
    uint32_t continued = 0;
    while (NULL != (meeting = myrd_meetings_next(meetings, &no_users)) &&
           meeting->next_at_ms <= now) {
        enum myr_status status;
        struct myr_error error = {.text = ""};
        ++continued;
        if (myrd_meeting_go_on(meeting, NULL, hosts, now, &status, &error)) {
            assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
            *absent += MYR_ERR_GONE == status;
            *full += MYR_ERR_FULL == status;
            myrd_meetings_leave(meetings, meeting, now);
        }
    }
    return continued;
}

/* One user opens many groups whose peers are absent. The daemon queries only some of them at a
 * time, and gives all up in the time that it takes for one. Other users' meetings continue at
 * once. */
TEST(meetings_have_a_quota)
{
    struct myrd_meetings meetings = {NULL};
    struct myrd_hosts hosts = {.socket = -1};
    const struct mcp_ip peer = ip_of("127.0.0.2");
    uint32_t absent = 0, full = 0;
    fake_reset();
    fake_set_absent(peer, true);
    for (uint64_t key = 1; key <= MEETINGS; ++key) {
        (void)join(&meetings, key, ALICE);
    }
    assert_int_equal(go_on(&meetings, &hosts, NOW, &absent, &full), MYRD_MEETINGS_OF_ONE);
    (void)join(&meetings, MEETINGS + 1, BOB);
    assert_int_equal(go_on(&meetings, &hosts, NOW, &absent, &full), 1);
    myrd_hosts_believe(&hosts, &peer, NOW);
    fake_set_absent(peer, false);
    assert_int_equal(go_on(&meetings, &hosts, NOW + 2, &absent, &full),
                     MEETINGS + 1); /* one after the other */
    assert_null(meetings.first);
    assert_int_equal(absent + full, 0);
    fake_set_absent(ip_of("127.0.0.2"), true);
    for (uint64_t key = 1; key <= MEETINGS; ++key) {
        (void)join(&meetings, key, ALICE);
    }
    uint64_t now = NOW;
    uint32_t rounds = 0;
    while (NULL != meetings.first) {
        rounds += go_on(&meetings, &hosts, ++now, &absent, &full);
    }
    assert_in_range(now, NOW + 1000, NOW + 3000);
    assert_int_equal(absent + full, MEETINGS);
    assert_true(absent >= MYRD_MEETINGS_OF_ONE);
    assert_in_range(rounds, MEETINGS, MEETINGS + 40 * MYRD_MEETINGS_OF_ONE);
}

/* Processes that open the same group share a meeting, which lasts until all have left it. */
TEST(equal_groups_share_a_meeting)
{
    struct myrd_meetings meetings = {NULL};
    struct myrd_meeting *one = join(&meetings, 7, ALICE);
    assert_ptr_equal(join(&meetings, 7, ALICE), one);
    struct myrd_meeting *other = join(&meetings, 7, BOB), *third = join(&meetings, 8, ALICE);
    assert_true(other != one && third != one && third != other);
    myrd_meetings_leave(&meetings, one, NOW);
    assert_ptr_equal(join(&meetings, 7, ALICE), one);
    myrd_meetings_leave(&meetings, one, NOW);
    myrd_meetings_leave(&meetings, third, NOW);
    myrd_meetings_leave(&meetings, one, NOW);
    assert_ptr_equal(meetings.first, other);
    myrd_meetings_leave(&meetings, other, NOW);
    assert_null(meetings.first);
}

/* The meetings of a user whose time is used up wait for the next iteration of the server's loop. */
TEST(meetings_share_time_between_users)
{
    static struct myrd_users users;
    struct myrd_meetings meetings = {NULL};
    struct myrd_meeting *alices = join(&meetings, 7, ALICE), *bobs = join(&meetings, 8, BOB);
    myrd_users_come(&users, ALICE);
    myrd_users_come(&users, BOB);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), alices);
    myrd_users_took(&users, ALICE, MYRD_USERS_ITERATION_US);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), bobs);
    myrd_users_took(&users, BOB, MYRD_USERS_ITERATION_US);
    assert_null(myrd_meetings_next(&meetings, &users));
    myrd_users_begin_iteration(&users);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), alices);
    myrd_meetings_leave(&meetings, alices, NOW);
    myrd_meetings_leave(&meetings, bobs, NOW);
}
