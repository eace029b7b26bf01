/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that hosts can only read pages and buffers, and that no user can access another user's
 * memory or exhaust it.
 */
#include <bpf/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* Check that this process cannot write this map, neither by its mapping nor by a system call. */
static void expect_read_only(void *mapped, size_t bytes, int map, uint32_t index,
                             const void *forged)
{
    assert_ptr_equal(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0), MAP_FAILED);
    assert_ptr_equal(mmap(NULL, bytes, PROT_WRITE, MAP_SHARED, map, 0), MAP_FAILED);
    assert_int_equal(mprotect(mapped, bytes, PROT_READ | PROT_WRITE), -1);
    assert_true(bpf_map_update_elem(map, &index, forged, BPF_ANY) < 0);
    assert_true(bpf_map_update_elem(map, &index, forged, BPF_EXIST) < 0);
    assert_true(bpf_map_delete_elem(map, &index) < 0);
    expect_untouched();
}

TEST(pages_and_buffers_are_for_reading)
{
    static const struct mcp_kernel_line line = {.done = 7, .failed = 1};
    static const struct mcp_kernel_buffer buffer = {.word = {{7}}};
    open_small_with_data(64);
    expect_read_only(pair.page, PAGE, pair.page_map, (uint32_t)(pair.line - pair.page), &line);
    expect_read_only(pair.buffer, sizeof(buffer), pair.buffer_map, 0, &buffer);
    event_start(&pair, &(uint64_t){crew_seed()}); /* the program can write them */
    close_pair(&pair);
}

static uint32_t map_number(int map)
{
    struct bpf_map_info about = {.type = 0};
    uint32_t bytes = sizeof(about);
    assert_int_equal(bpf_obj_get_info_by_fd(map, &about, &bytes), 0);
    return about.id;
}

/* Each group that is opened gets a cache line of its own, with initial values. */
TEST(lines_begin_empty)
{
    enum { GROUPS = 100, ROUNDS = 3 };
    static struct pair pairs[GROUPS];
    uint64_t random = crew_seed() + 4;
    for (uint32_t round = 0; round < ROUNDS; ++round) {
        for (uint32_t p = 0; p < GROUPS; ++p) {
            plan_schedule(&pairs[p].plan, false, &random);
            open_pair(&pairs[p], geteuid(), &random);
            assert_int_equal(pairs[p].line->done, 0);
            assert_int_equal(pairs[p].line->failed, 0);
        }
        for (uint32_t p = 0; p < GROUPS; ++p) {
            if (0 == crew_below(&random, 2)) {
                assert_int_equal(mcp_kernel_ring(kernel, pairs[p].key, MCP_RING_FAIL), 0);
                while (0 == myr_load_acquire(&pairs[p].line->failed)) {
                    sched_yield();
                }
            }
        }
        for (uint32_t p = 0; p < GROUPS; ++p) {
            const bool failed = 0 != mcp_kernel_group_failed(kernel, pairs[p].key);
            assert_int_equal(0 != pairs[p].line->failed, failed);
            close_pair(&pairs[p]);
        }
    }
    skip_sent();
}

/* Open and close a group of this user. Its page stays mapped, because hosts may keep it. Returns
 * the page's number. */
static uint32_t open_for_a_moment(uint32_t uid)
{
    static struct mcp_kernel_plan plan;
    struct mcp_kernel_seen seen;
    char why[MCP_KERNEL_WHY];
    const uint64_t key = plan.key + 2;
    plan_small(&plan);
    plan.key = key;
    plan.uid = uid;
    if (mcp_kernel_group_open(kernel, &plan, &seen, why) < 0) {
        fail_msg("%s", why);
    }
    const uint32_t number = map_number(seen.page);
    assert_ptr_not_equal(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, seen.page, 0), MAP_FAILED);
    assert_true(mcp_kernel_group_close(kernel, key, false));
    mcp_kernel_group_forget(kernel, key);
    return number;
}

/* However many groups a user opens while it keeps their pages mapped, no more pages are used. */
TEST(pages_are_bounded)
{
    enum { GROUPS = 3000 };
    const uint32_t number = open_for_a_moment(GROUP_USER);
    for (uint32_t g = 0; g < GROUPS; ++g) {
        assert_int_equal(open_for_a_moment(GROUP_USER), number);
    }
}

/* One user or many can open groups until all indices are in use, and again after these groups are
 * closed. */
TEST(indices_are_reused)
{
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_seen seen;
    open_small(geteuid());
    struct mcp_kernel_plan plan = pair.plan;
    close_pair(&pair);
    for (uint32_t round = 0; round < 2; ++round) {
        for (uint32_t g = 0; g < MCP_KERNEL_GROUPS; ++g) {
            plan.key = g + 1;
            plan.uid = 0 == round ? GROUP_USER : GROUP_USER + g;
            if (mcp_kernel_group_open(kernel, &plan, &seen, why) < 0) {
                fail_msg("round %u, group %u: %s", round, g, why);
            }
        }
        plan.key = MCP_KERNEL_GROUPS + 1;
        assert_int_equal(mcp_kernel_group_open(kernel, &plan, &seen, why), -1);
        assert_non_null(strstr(why, "cannot add a group"));
        for (uint32_t g = 0; g < MCP_KERNEL_GROUPS; ++g) {
            assert_true(mcp_kernel_group_close(kernel, g + 1, false));
            mcp_kernel_group_forget(kernel, g + 1);
        }
    }
}

/* Subordinate user IDs of one user (/etc/subuid). */
enum { FIRST_SUBORDINATE = 300000, SUBORDINATES = 65536 };

static uint32_t account_of(uint32_t uid)
{
    return uid - FIRST_SUBORDINATE < SUBORDINATES ? FIRST_SUBORDINATE : uid;
}

/* However many subordinate user IDs open groups, no other user loses a page. */
TEST(subordinates_share_pages)
{
    enum { USERS = 2 * MCP_KERNEL_PAGES };
    static uint32_t numbers[USERS];
    mcp_kernel_count_by(kernel, account_of);
    const uint32_t other = open_for_a_moment(OTHER_USER);
    for (uint32_t user = 0; user < USERS; ++user) {
        numbers[user] = open_for_a_moment(FIRST_SUBORDINATE + user);
        assert_int_not_equal(numbers[user], other);
        if (user >= MCP_KERNEL_PAGES_OF_ONE) { /* the least recently used one */
            assert_int_equal(numbers[user], numbers[user - MCP_KERNEL_PAGES_OF_ONE]);
        }
    }
    assert_int_equal(open_for_a_moment(OTHER_USER), other);
}

/* Each user has a page of its own until all pages are in use. Then the least recently used page
 * is reused: that of the user who has not opened a group for the longest time. */
TEST(users_have_pages_of_their_own)
{
    enum { FIRST = 100000, OTHERS = MCP_KERNEL_PAGES - 1, USERS = 2 * OTHERS };
    static uint32_t numbers[USERS];
    open_small(OTHER_USER);
    const uint32_t kept = map_number(pair.page_map);
    for (uint32_t user = 0; user < USERS; ++user) {
        uint32_t other = 0;
        numbers[user] = open_for_a_moment(FIRST + user);
        assert_int_not_equal(numbers[user], kept); /* the page of a user who has a group open */
        while (numbers[other] != numbers[user]) {
            ++other;
        }
        assert_int_equal(other, user < OTHERS ? user : user - OTHERS);
    }
    assert_int_equal(open_for_a_moment(FIRST + USERS - 1), numbers[USERS - 1]);
    close_pair(&pair);
}

/* Open groups of this user with data until no buffer is left. Returns the number of groups opened,
 * and a range that includes the buffers' numbers. For FIRST_SUBORDINATE, each group belongs to
 * another subordinate user ID. */
static uint32_t open_all_buffers(uint32_t uid, uint32_t *first, uint32_t *last)
{
    const bool spread = FIRST_SUBORDINATE == uid;
    char why[MCP_KERNEL_WHY];
    struct mcp_kernel_seen seen;
    struct mcp_kernel_plan plan = pair.plan;
    uint32_t opened = 0;
    plan.uid = uid;
    *first = UINT32_MAX;
    *last = 0;
    for (plan.key = 1; mcp_kernel_group_open(kernel, &plan, &seen, why) == 0; ++plan.key) {
        plan.uid += spread;
        const uint32_t number = map_number(seen.buffer);
        *first = number < *first ? number : *first;
        *last = number > *last ? number : *last;
        ++opened;
    }
    assert_non_null(strstr(why, "cannot add a group"));
    for (uint32_t g = 1; g <= opened; ++g) {
        assert_true(mcp_kernel_group_close(kernel, g, false));
        mcp_kernel_group_forget(kernel, g);
    }
    return opened;
}

/* A buffer still belongs to its user when the group is closed, so each user has a quota. (This test
 * is the last one because it uses up the buffers.) */
TEST(buffers_have_a_quota)
{
    enum { USERS = MCP_KERNEL_BUFFERS / MCP_KERNEL_BUFFERS_OF_ONE, FIRST = 200000 };
    uint32_t first[USERS], last[USERS], first_again, last_again;
    uint32_t uids[USERS];
    for (uint32_t user = 0; user < USERS; ++user) {
        uids[user] = 1 == user ? FIRST_SUBORDINATE : FIRST + user;
    }
    mcp_kernel_count_by(kernel, account_of);
    open_small_with_data(64);
    close_pair(&pair); /* so that this user has a few buffers already */
    for (uint32_t user = 0; user < USERS - 1; ++user) {
        assert_int_equal(open_all_buffers(uids[user], &first[user], &last[user]),
                         MCP_KERNEL_BUFFERS_OF_ONE);
        assert_true(0 == user || last[user - 1] < first[user]);
    }
    for (uint32_t user = 0; user < USERS - 1; ++user) {
        assert_int_equal(open_all_buffers(uids[user], &first_again, &last_again),
                         MCP_KERNEL_BUFFERS_OF_ONE);
        assert_int_equal(first_again, first[user]);
        assert_int_equal(last_again, last[user]);
    }
    assert_in_range(open_all_buffers(FIRST + USERS, &first_again, &last_again), 1,
                    MCP_KERNEL_BUFFERS_OF_ONE - 1);
    assert_int_equal(open_all_buffers(FIRST + USERS + 1, &first_again, &last_again), 0);
}
