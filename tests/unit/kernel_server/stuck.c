/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the daemon sends ASKs for groups that are stuck, because otherwise a lost packet hangs
 * their job, and sends none for other groups.
 */
#include "myrd/users.h"
#include "tests/unit/kernel_fake.h"
#include "tests/unit/kernel_server/groups.h"
#include "tests/unit/kernel_server/questions.h"
#include "tests/unit/test.h"

/* Poll every millisecond from `*now` to `until`, and record the times at which ASKs were requested
 * for group 7. */
static uint32_t times_asked(struct myrd_groups *groups, uint64_t *now, uint64_t until,
                            uint64_t *times)
{
    uint32_t count = 0;
    for (; *now < until; ++*now) {
        const uint32_t before = asked(7);
        myrd_groups_poll(groups, *now);
        if (asked(7) != before && NULL != times) {
            times[count] = *now;
        }
        count += asked(7) - before;
    }
    return count;
}

GROUPS(stuck_groups_are_asked_for_with_backoff)
{
    struct myrd_groups *groups = *state;
    uint64_t now = NOW, times[64] = {0};
    open_for(groups, 7, ALICE, 1);
    assert_int_equal(times_asked(groups, &now, now + 100, NULL), 0); /* idle */
    fake_set(7, true, 3);
    const uint64_t since = now;
    const uint32_t met = fake_met_count();
    const uint32_t count = times_asked(groups, &now, now + 2000, times);
    assert_in_range(count, 2000 / (MOST_MS + MYRD_POLL_MS), 2000 / MYRD_POLL_MS / 2);
    assert_in_range(times[0] - since, MYRD_POLL_MS, 3 * MYRD_POLL_MS);
    for (uint32_t t = 2; t < count && t < 64; ++t) {
        const uint64_t last = times[t - 1] - times[t - 2];
        assert_in_range(times[t] - times[t - 1], last, MOST_MS + MYRD_POLL_MS);
    }
    assert_true(fake_met_count() > met); /* its peers may have moved to other addresses */
    fake_set(7, true, 4);                /* it has made progress */
    assert_int_equal(times_asked(groups, &now, now + MYRD_POLL_MS, NULL), 0);
    assert_true(times_asked(groups, &now, now + 2 * MYRD_POLL_MS, NULL) > 0);
}

GROUPS(groups_with_progress_are_not_asked_for)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    for (uint32_t epoch = 0; epoch < 100; ++epoch) {
        fake_set(7, true, epoch);
        myrd_groups_poll(groups, NOW + epoch * MYRD_POLL_MS);
    }
    assert_int_equal(asked(7), 0);
    uint64_t now = NOW + 100 * MYRD_POLL_MS;
    open_for(groups, 7, ALICE, 2);
    myrd_groups_reap(groups, 1);
    assert_int_equal(times_asked(groups, &now, now + 1000, NULL), 0); /* it has failed */
    assert_int_equal(myrd_groups_timeout(groups, now), -1);
}

GROUPS(nothing_is_due_without_groups)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(myrd_groups_timeout(groups, NOW), -1);
    open_for(groups, 7, ALICE, 1);
    myrd_groups_poll(groups, NOW);
    assert_int_equal(myrd_groups_timeout(groups, NOW), MYRD_POLL_MS);
    assert_int_equal(myrd_groups_timeout(groups, NOW + MYRD_POLL_MS + 1), 0);
}

/* Scans take at most 1 % of a CPU, and a scan that was interrupted for long counts as the
 * longest one. */
GROUPS(scans_back_off)
{
    static const struct {
        uint64_t took_ns, rest_ms;
    } polls[] = {{0, 10},        {99999, 10},      {100000, 10},        {200000, 20},
                 {9000000, 900}, {10000000, 1000}, {60000000000, 1000}, {UINT64_MAX, 1000}};
    struct myrd_groups *groups = *state;
    uint64_t now = NOW;
    for (size_t l = 0; l < sizeof(polls) / sizeof(polls[0]); ++l) {
        assert_int_equal(mcp_kernel_rest(polls[l].took_ns), 1000000 * polls[l].rest_ms);
    }
    open_for(groups, 7, ALICE, 1);
    for (size_t l = 0; l < sizeof(polls) / sizeof(polls[0]); ++l) {
        assert_true(myrd_groups_poll(groups, now));
        myrd_groups_took(groups, polls[l].took_ns);
        assert_int_equal(myrd_groups_timeout(groups, now), polls[l].rest_ms);
        now += polls[l].rest_ms;
        assert_false(myrd_groups_poll(groups, now - 1));
        assert_int_equal(myrd_groups_timeout(groups, now - 1), 1);
    }
    /* For a group that is stuck, a scan requests ASKs. */
    assert_true(myrd_groups_poll(groups, now));
    myrd_groups_took(groups, 3000000);
    fake_set(7, true, 3);
    assert_int_equal(times_asked(groups, &now, now + 300, NULL), 0);
    assert_int_equal(times_asked(groups, &now, now + 2 * MYRD_POLL_MS, NULL), 1);
}

/* If the kernel reports stuck groups the daemon does not scan, and requests no ASKs for other
 * groups. */
GROUPS(reported_groups_are_asked_for)
{
    fake_enable_reports();
    struct myrd_groups *groups = myrd_groups_make(NULL, &no_users);
    const uint32_t met = fake_met_count();
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 8, ALICE, 2);
    fake_set(7, true, 3);
    fake_set(8, true, 3);
    assert_int_equal(myrd_groups_timeout(groups, NOW), -1);
    for (uint64_t now = NOW; now < NOW + 1000; ++now) {
        myrd_groups_poll(groups, now);
    }
    assert_int_equal(asked(7), 0);
    for (uint32_t reports = 1; reports <= MYRD_ASKED_BEFORE_MEET; ++reports) {
        assert_int_equal(fake_met_count(), met);
        fake_report_stuck(7, 3, reports);
        fake_report_stuck(9, 3, reports); /* which is closed meanwhile */
        myrd_groups_receive(groups, NOW + reports);
        assert_int_equal(asked(7), reports);
    }
    static struct myr_kernel_report report;
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.group[0].since_ms, NOW + 1); /* the time of the first report */
    fake_set(7, true, 4);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.group[0].since_ms, 0); /* it has made progress */
    assert_true(fake_met_count() > met);           /* its peers may have moved to other addresses */
    assert_int_equal(asked(8), 0);
    myrd_groups_reap(groups, 2);
    fake_report_stuck(8, 3, 1);
    myrd_groups_receive(groups, NOW + 100);
    assert_int_equal(asked(8), 0);
    myrd_groups_free(groups);
}

/* Report `count` groups as stuck, for the `reports`-th time. */
static void report_stuck(uint64_t first, uint32_t count, uint32_t reports)
{
    for (uint32_t g = 0; g < count; ++g) {
        fake_report_stuck(first + g, 0, reports);
    }
}

/* Open a group that may miss as many messages at a time as any group can. */
static enum myr_status open_wide(struct myrd_groups *groups, uint64_t key, uint32_t uid)
{
    struct mcp_kernel_plan plan = plan_of(key, uid);
    struct mcp_kernel_seen seen;
    struct myr_error error;
    plan.steps[0].waits = plan.nwaits = MCP_KERNEL_MESSAGES;
    return myrd_groups_open(groups, &plan, 1, &seen, &error);
}

static uint32_t all_asked(uint64_t first, uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t g = 0; g < count; ++g) {
        sum += asked(first + g);
    }
    return sum;
}

/* All groups of one user are stuck for a long time with all messages missing. The daemon requests a
 * limited number of messages per second, and serves the groups in turn. ASKs for another user's
 * groups are requested at once. */
GROUPS(asks_have_a_quota)
{
    enum {
        FOR_MS = 6000,
        REPORT_EACH_MS = 70,
        BOBS = 13,
        BOB_FIRST = 10000,
        AT_ONCE = MYRD_USERS_ASK_AHEAD_US / MYRD_USERS_ASK_US + 2 * MCP_KERNEL_MESSAGES,
        MOST = FOR_MS * (1000 / MYRD_USERS_ASK_US + 1) + AT_ONCE,
    };
    static struct myrd_users users;
    uint32_t alices = 0, before = 0, reports = 0, least = UINT32_MAX, most = 0;
    fake_enable_reports();
    struct myrd_groups *groups = myrd_groups_make(NULL, &users);
    myrd_users_come(&users, ALICE);
    myrd_users_come(&users, BOB);
    while (MYR_OK == open_wide(groups, 1 + alices, ALICE)) {
        ++alices;
    }
    for (uint32_t b = 0; b < BOBS; ++b) {
        assert_int_equal(open_for(groups, BOB_FIRST + b, BOB, 2), MYR_OK);
    }
    for (uint64_t now = NOW; now < NOW + FOR_MS; ++now) {
        if (0 == (now - NOW) % REPORT_EACH_MS) {
            ++reports;
            report_stuck(1, alices, reports);
            report_stuck(BOB_FIRST, BOBS, 1);
            myrd_groups_receive(groups, now);
            assert_int_equal(all_asked(BOB_FIRST, BOBS), reports * BOBS);
        }
        myrd_groups_poll(groups, now);
        const uint32_t sum = fake_asked_count() - reports * BOBS;
        assert_true((sum - before) * MCP_KERNEL_MESSAGES <= AT_ONCE);
        before = sum;
        assert_in_range(myrd_groups_timeout(groups, now), 1, 10000);
    }
    assert_true(before * MCP_KERNEL_MESSAGES <= MOST);
    /* its peers were contacted again meanwhile */
    assert_true(before * MCP_KERNEL_MESSAGES >= MOST / 4);
    for (uint32_t g = 0; g < alices; ++g) {
        least = asked(1 + g) < least ? asked(1 + g) : least;
        most = asked(1 + g) > most ? asked(1 + g) : most;
    }
    /* All groups get about equally many requests. */
    assert_true(least > 0 && most - least <= 2);
    /* When no group is reported any more, no more work is due. */
    for (uint64_t now = NOW + FOR_MS; myrd_groups_timeout(groups, now) >= 0; ++now) {
        myrd_groups_poll(groups, now);
    }
    assert_true(fake_asked_count() - reports * BOBS <= before + alices);
    myrd_groups_free(groups);
}
