/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meetings: peers that are looked for before a group is opened.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "myrd/kernel_hosts.h"
#include "myrd/kernel_meeting.h"
#include "myrd/users.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_double.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/kernel_server/tests.h"

enum { MEETINGS = 4 * MYRD_MEETINGS_OF_ONE };

static struct myrd_meeting *join(struct myrd_meetings *meetings, uint64_t key, uint32_t uid)
{
    const struct mcp_kernel_plan plan = plan_of(key, uid);
    struct myrd_meeting *meeting = myrd_meetings_join(meetings, &plan, NOW);
    assert_non_null(meeting);
    return meeting;
}

/* Go on with all that are due, as the server does. Those that end get counted; returns how many
 * went on. */
static uint32_t go_on(struct myrd_meetings *meetings, const struct myrd_hosts *hosts, uint64_t now,
                      uint32_t *gone, uint32_t *full)
{
    struct myrd_meeting *meeting;
    uint32_t went = 0;
    while (NULL != (meeting = myrd_meetings_next(meetings, &nobody)) &&
           meeting->look_at_ms <= now) {
        enum myr_status status;
        struct myr_error error = {.text = ""};
        ++went;
        if (myrd_meeting_go_on(meeting, NULL, hosts, now, &status, &error)) {
            assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
            *gone += MYR_ERR_GONE == status;
            *full += MYR_ERR_FULL == status;
            myrd_meetings_leave(meetings, meeting, now);
        }
    }
    return went;
}

/* One user has many groups opened whose peers are not there. Only some of them are asked for at a
 * time, and all are given up in the time in which one is. Others go on at once. */
void a_user_has_so_many_meetings(void **state)
{
    struct myrd_meetings meetings = {NULL};
    struct myrd_hosts hosts = {.socket = -1};
    const struct mcp_ip peer = ip_of("127.0.0.2");
    uint32_t gone = 0, full = 0;
    (void)state;
    double_reset();
    double_set_absent(peer, true);
    for (uint64_t key = 1; key <= MEETINGS; ++key) {
        (void)join(&meetings, key, ALICE);
    }
    assert_int_equal(go_on(&meetings, &hosts, NOW, &gone, &full), MYRD_MEETINGS_OF_ONE);
    (void)join(&meetings, MEETINGS + 1, BOB);
    assert_int_equal(go_on(&meetings, &hosts, NOW, &gone, &full), 1);
    myrd_hosts_believe(&hosts, &peer, NOW);
    double_set_absent(peer, false);
    assert_int_equal(go_on(&meetings, &hosts, NOW + 2, &gone, &full), MEETINGS + 1); /* in turn */
    assert_null(meetings.first);
    assert_int_equal(gone + full, 0);
    double_set_absent(ip_of("127.0.0.2"), true);
    for (uint64_t key = 1; key <= MEETINGS; ++key) {
        (void)join(&meetings, key, ALICE);
    }
    uint64_t now = NOW;
    uint32_t rounds = 0;
    while (NULL != meetings.first) {
        rounds += go_on(&meetings, &hosts, ++now, &gone, &full);
    }
    assert_in_range(now, NOW + 1000, NOW + 3000);
    assert_int_equal(gone + full, MEETINGS);
    assert_true(gone >= MYRD_MEETINGS_OF_ONE);
    assert_in_range(rounds, MEETINGS, MEETINGS + 40 * MYRD_MEETINGS_OF_ONE);
}

/* Processes that open the same group meet its peers once; the meeting lasts until all have left. */
void who_opens_the_same_group_meets_once(void **state)
{
    (void)state;
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

/* A user who has had its time waits for the next turn, with its meetings as well. */
void meetings_take_turns(void **state)
{
    (void)state;
    static struct myrd_users users;
    struct myrd_meetings meetings = {NULL};
    struct myrd_meeting *alices = join(&meetings, 7, ALICE), *bobs = join(&meetings, 8, BOB);
    myrd_users_come(&users, ALICE);
    myrd_users_come(&users, BOB);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), alices);
    myrd_users_took(&users, ALICE, MYRD_USERS_TURN_US);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), bobs);
    myrd_users_took(&users, BOB, MYRD_USERS_TURN_US);
    assert_null(myrd_meetings_next(&meetings, &users));
    myrd_users_turn(&users);
    assert_ptr_equal(myrd_meetings_next(&meetings, &users), alices);
    myrd_meetings_leave(&meetings, alices, NOW);
    myrd_meetings_leave(&meetings, bobs, NOW);
}
