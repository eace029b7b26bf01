/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * myrd --kernel, over a double of the kernel's NIC. Invariants. A group is its user's alone,
 * whoever knows its key. When a member dies, its group fails. When a member leaves, it does not.
 * The last one to leave closes it, and its last epoch is kept. One that carries data, or
 * broadcasts, says farewell to its peers before, and holds up nobody by that. A user has a share of
 * the NIC, not all of it. A group that is stuck is asked for, ever more seldom, and others are not.
 * What a client says is never believed. Only hosts that have a myrd --kernel can be peers. Nobody
 * holds up others, not even by a host that does not answer.
 *
 * What is due is tried with pretended time. The server's own tests run it in a thread and wait for
 * what happens, not for time to pass.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "libmyr/groups/group_player.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_group.h"
#include "libmyr/kernel/kernel_inside.h"
#include "libmyr/node/segment.h"
#include "myrd/kernel_groups.h"
#include "myrd/kernel_hosts.h"
#include "myrd/kernel_meeting.h"
#include "myrd/kernel_plan.h"
#include "myrd/owner.h"
#include "myrd/share.h"
#include "myrd/users.h"
#include "tests/unit/crew.h"
#include "tests/unit/ip_of.h"
#include "tests/unit/kernel_double.h"

enum { ALICE = 1001, BOB = 1002, NOW = 5000, MOST_MS = MCP_PATIENCE_MOST_NS / 1000000 };

/* One of IPv4 (network byte order). */
static uint32_t ip4_of(const char *text)
{
    const struct mcp_ip ip = ip_of(text);
    return mcp_ip_to_4(&ip);
}

static uint16_t nic_port = 7077; /* of all hosts */

/* Our NIC, and two nodes' part of a barrier: the other one is `peer`. */
static struct myr_nic_name our_name(void)
{
    struct myr_nic_name name = {.key = 1, .count = 1};
    name.address[0].ip = ip_of("127.0.0.1");
    name.address[0].port = htons(nic_port);
    name.address[0].prefix = MCP_IP_BEFORE_4 + 8;
    return name;
}

static struct myr_kernel_question question_of_two(uint64_t key, const char *peer)
{
    struct myr_kernel_question question = {
        .key = key, .nodes = 2, .nsteps = 1, .nsends = 1, .nwaits = 1};
    question.steps[0] = (struct mcp_step){1, 1};
    for (int p = 0; p < 2; ++p) {
        question.peers[p].ip = ip_of(peer);
        question.peers[p].port = htons(nic_port);
        question.peers[p].node = 1;
    }
    return question;
}

/* It carries data: each node has a block of so many bytes. */
static void carry(struct myr_kernel_question *question, uint32_t unit_most)
{
    question->places = 2;
    question->unit_most = unit_most;
    question->peers[0].blocks = question->peers[1].blocks = question->peers[1].at = 1;
}

/* It broadcasts blocks of so many bytes. */
static void broadcast(struct myr_kernel_question *question, uint32_t block)
{
    question->slot_bytes = mcp_bcast_slot_bytes(block);
    question->window = mcp_bcast_window(question->slot_bytes);
    question->peers[0].at = question->peers[1].at = 1;
}

static struct mcp_kernel_plan plan_for(const struct myr_kernel_question *question, uint32_t uid)
{
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    assert_int_equal(myrd_kernel_plan(question, uid, &name, &plan, NULL), MYR_OK);
    return plan;
}

static struct mcp_kernel_plan plan_of(uint64_t key, uint32_t uid)
{
    const struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    return plan_for(&question, uid);
}

static struct mcp_kernel_plan plan_with_data(uint64_t key, uint32_t uid)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    carry(&question, 16);
    return plan_for(&question, uid);
}

static struct mcp_kernel_plan plan_with_window(uint64_t key, uint32_t uid)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    broadcast(&question, 64);
    return plan_for(&question, uid);
}

static bool is_open(uint64_t key)
{
    struct double_group group;
    return double_look(key, &group) && group.open;
}

static bool is_kept(uint64_t key)
{
    struct double_group group;
    return double_look(key, &group) && group.kept;
}

static uint32_t asked(uint64_t key)
{
    struct double_group group = {.open = false};
    assert_true(double_look(key, &group));
    return group.asked;
}

static uint32_t failed(uint64_t key)
{
    struct double_group group = {.open = false};
    assert_true(double_look(key, &group));
    return group.failed;
}

static uint32_t started(uint64_t key)
{
    struct double_group group = {.open = false};
    assert_true(double_look(key, &group));
    return group.started;
}

/* ---- plans ---- */

static enum myr_status judge(const struct myr_kernel_question *question)
{
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    struct myr_error error = {.text = ""};
    const enum myr_status status = myrd_kernel_plan(question, ALICE, &name, &plan, &error);
    assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
    return status;
}

static void a_good_question_is_a_plan(void **state)
{
    (void)state;
    const struct mcp_kernel_plan plan = plan_of(7, ALICE);
    assert_int_equal(plan.key, 7);
    assert_int_equal(plan.uid, ALICE);
    assert_int_equal(plan.nsteps, 1);
    assert_int_equal(plan.steps[0].sends, 1);
    assert_int_equal(mcp_ip_to_4(&plan.peers[1].ip), ip4_of("127.0.0.2"));
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const struct myr_kernel_question good = question_of_two(7, "127.0.0.2");
    struct myr_kernel_question bad;
#define REFUSED(field, value, status)                                                              \
    bad = good;                                                                                    \
    bad.field = (value);                                                                           \
    assert_int_equal(judge(&bad), status)
    REFUSED(key, 0, MYR_ERR_SYSTEM);
    REFUSED(nodes, 0, MYR_ERR_SYSTEM);
    REFUSED(nodes, 65537, MYR_ERR_SYSTEM);
    REFUSED(node, 2, MYR_ERR_SYSTEM); /* of two */
    REFUSED(peers[1].node, 2, MYR_ERR_SYSTEM);
    REFUSED(node, 1, MYR_ERR_SYSTEM); /* its own peer */
    REFUSED(nsteps, 0, MYR_ERR_SYSTEM);
    REFUSED(nsteps, MCP_KERNEL_STEPS + 1, MYR_ERR_TOO_LONG);
    REFUSED(nsteps, UINT32_MAX, MYR_ERR_TOO_LONG);
    REFUSED(nsends, MCP_KERNEL_MESSAGES + 1, MYR_ERR_TOO_LONG);
    REFUSED(nwaits, UINT32_MAX, MYR_ERR_TOO_LONG);
    REFUSED(nsends, 0, MYR_ERR_SYSTEM);
    REFUSED(nwaits, 2, MYR_ERR_SYSTEM);
    REFUSED(steps[0].sends, 2, MYR_ERR_SYSTEM);
    REFUSED(steps[0].waits, 0, MYR_ERR_SYSTEM);
    REFUSED(peers[0].slot, MCP_KERNEL_MESSAGES, MYR_ERR_SYSTEM);
    REFUSED(peers[0].port, 0, MYR_ERR_SYSTEM);
    REFUSED(peers[1].port, htons(53), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("127.0.0.1"), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("10.0.0.1"), MYR_ERR_SYSTEM);
    REFUSED(peers[1].ip, ip_of("fd00::2"), MYR_ERR_SYSTEM);
#undef REFUSED
    /* Two messages to a host, or from one. */
    bad = good;
    bad.steps[0].sends = bad.nsends = 2;
    bad.peers[2] = bad.peers[1];
    assert_int_equal(judge(&bad), MYR_ERR_SYSTEM);
    bad.peers[1].ip = ip_of("127.0.0.3");
    assert_int_equal(judge(&bad), MYR_OK);
    bad = good;
    bad.steps[0].waits = bad.nwaits = 2;
    bad.peers[2] = bad.peers[1];
    assert_int_equal(judge(&bad), MYR_ERR_SYSTEM);
    bad.peers[2].ip = ip_of("127.0.0.3");
    assert_int_equal(judge(&bad), MYR_OK);
    /* One side will do, but not none. (There is somebody to ring by.) */
    bad = good;
    bad.steps[0].waits = bad.nwaits = 0;
    assert_int_equal(judge(&bad), MYR_OK);
    bad.steps[0].sends = bad.nsends = 0;
    assert_int_equal(judge(&bad), MYR_ERR_SYSTEM);
    bad.steps[0].waits = bad.nwaits = 1;
    assert_int_equal(judge(&bad), MYR_OK);
    /* A sum that overflows. */
    bad = good;
    bad.nsteps = 2;
    bad.steps[0].sends = UINT32_MAX;
    bad.steps[1].sends = 2;
    assert_int_equal(judge(&bad), MYR_ERR_SYSTEM);
}

/* Whatever comes must have room in the buffer, and whatever is sent in a packet. */
static void data_that_have_no_room_are_refused(void **state)
{
    (void)state;
    enum { MOST = MCP_KERNEL_BUFFER / MCP_BLOCK_UNIT };
    const struct {
        uint32_t places, unit_most, blocks, at;
        bool good;
    } cases[] = {
        {2, 16, 1, 1, true},
        {2, MCP_PAYLOAD_MOST, 1, 1, true},
        {2, MCP_PAYLOAD_MOST + 8, 1, 1, false}, /* a packet is not that long */
        {4, 608, 2, 2, true},
        {4, 616, 2, 2, false},
        {MOST, 8, 152, 1, true},
        {MOST, 8, 153, 1, false},
        {MOST + 1, 8, 1, 1, false}, /* nor is a buffer */
        {UINT32_MAX, 16, 1, 1, false},
        {1, UINT32_MAX - 7, 0, 0, false},
        {MCP_KERNEL_BUFFER, UINT32_C(1) << 31, 0, 0, false}, /* the product of both is 0 */
        {2, 16, 1, 2, false},                                /* beyond the places */
        {2, 16, 2, 1, false},
        {2, 16, 0, 2, true},
        {2, 16, 65535, 65535, false},
        {2, 12, 1, 1, false}, /* not whole words */
        {0, 16, 0, 0, false},
        {2, 0, 0, 0, false},
        {0, 0, 0, 0, true},
        {0, 0, 1, 0, false},
        {0, 0, 0, 1, false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        for (int p = 0; p < 2; ++p) { /* what is sent is at the beginning of the buffer */
            struct myr_kernel_question question = question_of_two(1, "127.0.0.2");
            question.places = cases[c].places;
            question.unit_most = cases[c].unit_most;
            question.peers[p].blocks = (uint16_t)cases[c].blocks;
            question.peers[p].at = (uint16_t)cases[c].at;
            assert_int_equal(MYR_OK == judge(&question), cases[c].good);
        }
    }
}

/* The same for windows and their blocks; and a group that broadcasts gathers no data. */
static void windows_that_have_no_room_are_refused(void **state)
{
    (void)state;
    const uint32_t head = sizeof(struct mcp_bcast_slot), most = head + MCP_PAYLOAD_MOST;
    const struct {
        uint32_t window, slot_bytes, places, unit_most, blocks;
        bool good;
    } cases[] = {
        {64, head + 8, 0, 0, 0, true},
        {64, 1024, 0, 0, 0, true},
        {64, 1032, 0, 0, 0, false}, /* no buffer is that long */
        {32, 1032, 0, 0, 0, true},
        {32, most, 0, 0, 0, true},
        {32, most + 8, 0, 0, 0, false}, /* nor is a packet */
        {64, most, 0, 0, 0, false},
        {16, most, 0, 0, 0, false},
        {0, most, 0, 0, 0, false},
        {32, 0, 0, 0, 0, false},
        {32, 8, 0, 0, 0, false},
        {32, head, 0, 0, 0, false},
        {32, head + 4, 0, 0, 0, false}, /* not whole words */
        {33, head + 8, 0, 0, 0, false}, /* no power of two */
        {48, head + 8, 0, 0, 0, false},
        {128, head + 8, 0, 0, 0, false},
        {UINT32_C(1) << 31, head + 8, 0, 0, 0, false},
        {UINT32_MAX, head + 8, 0, 0, 0, false},
        {32, UINT32_MAX - 7, 0, 0, 0, false},
        {64, UINT32_C(1) << 26, 0, 0, 0, false}, /* the product of both is 0 */
        {32, head + 8, 2, 8, 0, false},
        {32, head + 8, 0, 8, 0, false},
        {32, head + 8, 0, 0, 1, false},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        struct myr_kernel_question question = question_of_two(1, "127.0.0.2");
        question.window = cases[c].window;
        question.slot_bytes = cases[c].slot_bytes;
        question.places = cases[c].places;
        question.unit_most = cases[c].unit_most;
        question.peers[c % 2].blocks = (uint16_t)cases[c].blocks;
        question.peers[0].at = question.peers[1].at = (uint16_t)c;
        assert_int_equal(MYR_OK == judge(&question), cases[c].good);
    }
}

static void only_neighbours_can_be_peers(void **state)
{
    (void)state;
    const struct myr_kernel_question far = question_of_two(7, "10.0.0.1");
    struct myr_kernel_question elsewhere = question_of_two(7, "127.0.0.2");
    const struct myr_nic_name name = our_name();
    struct mcp_kernel_plan plan;
    struct myr_error error;
    assert_int_equal(myrd_kernel_plan(&far, ALICE, &name, &plan, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "its own network"));
    assert_non_null(strstr(error.text, "soft NIC"));
    elsewhere.peers[0].port = htons(53);
    assert_int_equal(myrd_kernel_plan(&elsewhere, ALICE, &name, &plan, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "UDP port 53, and this one 7077"));
    assert_non_null(strstr(error.text, "--port"));
}

/* ---- groups ---- */

static struct myrd_users nobody; /* who is not there has no share */

static int begin_groups(void **state)
{
    double_reset();
    *state = myrd_groups_make(NULL, &nobody);
    return NULL == *state;
}

static int end_groups(void **state)
{
    myrd_groups_free(*state);
    assert_int_equal(double_open_count(), 0);
    return 0;
}

static enum myr_status open_for(struct myrd_groups *groups, uint64_t key, uint32_t uid,
                                uint64_t holder)
{
    const struct mcp_kernel_plan plan = plan_of(key, uid);
    struct myr_error error = {.text = ""};
    struct mcp_kernel_seen seen = {.page = -1};
    const enum myr_status status = myrd_groups_open(groups, &plan, holder, &seen, &error);
    assert_int_equal(MYR_OK == status, seen.page >= 0);
    assert_int_equal(MYR_OK == status, '\0' == error.text[0]);
    return status;
}

static void a_group_is_shared_with_its_like(void **state)
{
    struct myrd_groups *groups = *state;
    struct mcp_kernel_plan plan = plan_of(7, ALICE);
    struct myr_error another, other_tables;
    struct mcp_kernel_seen first, second, none = {.page = -1};
    assert_int_equal(myrd_groups_open(groups, &plan, 1, &first, NULL), MYR_OK);
    assert_int_equal(myrd_groups_open(groups, &plan, 2, &second, NULL), MYR_OK);
    assert_int_equal(first.page, second.page);
    assert_int_equal(first.line, second.line);
    assert_int_equal(double_open_count(), 1);
    plan.uid = BOB;
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, &another), MYR_ERR_SYSTEM);
    plan = plan_of(7, ALICE);
    plan.peers[1].node = 2;
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, &other_tables), MYR_ERR_SYSTEM);
    assert_int_equal(none.page, -1);
    assert_string_equal(another.text, other_tables.text); /* it learns nothing */
    plan = plan_with_window(7, ALICE);
    assert_int_equal(myrd_groups_open(groups, &plan, 3, &none, NULL), MYR_ERR_SYSTEM);
    assert_false(myrd_groups_leave(groups, 7, 3));
    assert_true(myrd_groups_know(groups, 7));
    assert_false(myrd_groups_know(groups, 8));
}

static void the_last_one_closes_it(void **state)
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

/* Who has its share of them has its own oldest one forgotten, and nobody else's. */
static void a_user_has_so_many_closed(void **state)
{
    enum { MORE_THAN_ENOUGH = MCP_KERNEL_LATE / 2, USERS = 3 };
    static struct myr_kernel_report report;
    struct myrd_groups *groups = *state;
    uint32_t last = MCP_KERNEL_LATE;
    open_and_close(groups, 1, 2, BOB);
    for (uint32_t user = 1; user <= USERS; ++user) {
        const uint64_t first = 2 * MORE_THAN_ENOUGH * user;
        open_and_close(groups, first, MORE_THAN_ENOUGH, BOB + user);
        myrd_groups_report(groups, BOB + user, &report);
        assert_in_range(report.closed, MCP_KERNEL_LATE / 16, last - 1);
        last = report.closed;
        assert_false(is_kept(first + MORE_THAN_ENOUGH - last - 1));
        assert_true(is_kept(first + MORE_THAN_ENOUGH - last));
        assert_true(is_kept(first + MORE_THAN_ENOUGH - 1));
    }
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.closed, 2);
    assert_true(is_kept(1) && is_kept(2));
}

static void each_opening_wants_a_closing(void **state)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 1);
    assert_true(myrd_groups_leave(groups, 7, 1));
    assert_true(myrd_groups_leave(groups, 7, 1));
    assert_false(myrd_groups_leave(groups, 7, 1));
}

/* ---- farewells ---- */

/* Open a group of this user's that carries data, play some epochs, and leave it. */
static enum myr_status open_play_leave(struct myrd_groups *groups, uint64_t key, uint32_t uid,
                                       uint32_t epochs)
{
    const struct mcp_kernel_plan plan = plan_with_data(key, uid);
    struct mcp_kernel_seen seen;
    const enum myr_status status = myrd_groups_open(groups, &plan, 1, &seen, NULL);
    if (MYR_OK == status) {
        assert_true(seen.buffer >= 0);
        double_set(key, false, epochs);
        assert_true(myrd_groups_leave(groups, key, 1));
    }
    return status;
}

/* Do what is due until then. Returns when the group was closed; 0: it is open. */
static uint64_t look_until(struct myrd_groups *groups, uint64_t key, uint64_t now_ms,
                           uint64_t end_ms)
{
    while (now_ms < end_ms) {
        (void)myrd_groups_look(groups, now_ms);
        if (!is_open(key)) {
            return now_ms;
        }
        const int next = myrd_groups_timeout(groups, now_ms);
        assert_in_range(next, 1, MOST_MS);
        now_ms += (uint64_t)next;
    }
    return 0;
}

/* It begins one more epoch, and is closed soon after that is complete. Nobody can have it. */
static void who_leaves_says_farewell(void **state)
{
    struct myrd_groups *groups = *state;
    static struct myr_kernel_report report;
    const struct mcp_kernel_plan plan = plan_with_data(7, ALICE);
    struct mcp_kernel_seen seen;
    assert_int_equal(open_play_leave(groups, 7, ALICE, 5), MYR_OK);
    assert_int_equal(started(7), 1);
    double_set(7, true, 5);
    assert_int_equal(look_until(groups, 7, NOW, NOW + 2000), 0);
    assert_int_equal(started(7), 1);
    assert_true(asked(7) > 2);
    assert_int_not_equal(myrd_groups_open(groups, &plan, 2, &seen, NULL), MYR_OK);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.groups, 0);
    assert_int_equal(report.closed, 1);
    double_set(7, false, 6);
    assert_in_range(look_until(groups, 7, NOW + 2000, UINT64_MAX), NOW, NOW + 2000 + MOST_MS);
    assert_true(is_kept(7));
    assert_int_equal(started(7), 1);
    assert_int_equal(failed(7), 0);
    assert_int_equal(myrd_groups_timeout(groups, NOW + 3000), -1);
}

/* The doorbell may be lost. A peer may never come. */
static void farewells_begin_and_end(void **state)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(open_play_leave(groups, 7, ALICE, 5), MYR_OK);
    assert_int_equal(look_until(groups, 7, NOW, NOW + 10), 0);
    assert_true(started(7) > 1);
    double_set(7, true, 5);
    const uint64_t end_ms = look_until(groups, 7, NOW + 10, UINT64_MAX);
    assert_in_range(end_ms, NOW + MYRD_FAREWELL_MS, NOW + MYRD_FAREWELL_MS + MOST_MS);
    assert_true(is_kept(7));
}

/* A broadcast may be missed whether an epoch is under way or none was ever begun. */
static void who_broadcasts_says_farewell(void **state)
{
    struct myrd_groups *groups = *state;
    for (uint32_t waits = 0; waits < 2; ++waits) {
        const uint64_t key = 7 + waits;
        const struct mcp_kernel_plan plan = plan_with_window(key, ALICE);
        struct mcp_kernel_seen seen;
        assert_int_equal(myrd_groups_open(groups, &plan, 1, &seen, NULL), MYR_OK);
        assert_true(seen.buffer >= 0);
        double_set(key, waits, 0);
        assert_true(myrd_groups_leave(groups, key, 1));
        assert_true(is_open(key));
        assert_int_equal(started(key), 1);
        double_set(key, true, waits); /* that epoch is the one after */
        assert_int_equal(look_until(groups, key, NOW, NOW + 100), 0);
        double_set(key, false, 1 + waits);
        assert_in_range(look_until(groups, key, NOW + 100, UINT64_MAX), NOW + 100,
                        NOW + 100 + MOST_MS);
        assert_true(is_kept(key));
    }
}

/* There is nothing to miss in a group that has not played, or has failed, or is in an epoch that it
 * will not complete; or that carries no data. */
static void not_all_say_farewell(void **state)
{
    struct myrd_groups *groups = *state;
    struct mcp_kernel_seen seen;
    const struct mcp_kernel_plan plan = plan_with_data(9, ALICE);
    assert_int_equal(open_play_leave(groups, 7, ALICE, 0), MYR_OK);
    assert_false(is_open(7));
    open_for(groups, 8, ALICE, 1);
    double_set(8, false, 5);
    assert_true(myrd_groups_leave(groups, 8, 1));
    assert_false(is_open(8));
    for (int fails = 0; fails < 2; ++fails) {
        assert_int_equal(myrd_groups_open(groups, &plan, 1, &seen, NULL), MYR_OK);
        assert_int_equal(myrd_groups_open(groups, &plan, 2, &seen, NULL), MYR_OK);
        double_set(9, !fails, 5);
        if (fails) {
            myrd_groups_bury(groups, 2);
        } else {
            assert_true(myrd_groups_leave(groups, 9, 2));
        }
        assert_true(myrd_groups_leave(groups, 9, 1));
        assert_false(is_open(9));
        assert_int_equal(started(9), 0);
    }
    /* One that says farewell hears that it has failed. */
    assert_int_equal(open_play_leave(groups, 10, ALICE, 5), MYR_OK);
    double_set(10, true, 5);
    assert_int_equal(look_until(groups, 10, NOW, NOW + 100), 0);
    assert_int_equal(mcp_kernel_ring(NULL, 10, MCP_RING_FAIL), 0);
    assert_in_range(look_until(groups, 10, NOW + 100, UINT64_MAX), NOW + 100, NOW + 100 + MOST_MS);
}

/* Groups that say farewell are in nobody's way: the oldest of the user's go. */
static void farewells_give_way(void **state)
{
    struct myrd_groups *groups = *state;
    enum { MOST = MCP_KERNEL_GROUPS / 4, MORE = 10 };
    assert_int_equal(open_play_leave(groups, 5000, BOB, 5), MYR_OK);
    for (uint64_t key = 1; key <= MOST + MORE; ++key) {
        assert_int_equal(open_play_leave(groups, key, ALICE, 5), MYR_OK);
        double_set(key, true, 5);
        (void)myrd_groups_look(groups, NOW + key);
    }
    assert_true(is_open(5000));
    assert_true(is_open(MOST + MORE));
    for (uint64_t key = 1; key <= MORE; ++key) {
        assert_false(is_open(key));
    }
}

static void death_fails_what_was_held(void **state)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 7, ALICE, 2);
    open_for(groups, 8, ALICE, 2);
    open_for(groups, 9, ALICE, 1);
    myrd_groups_leave(groups, 9, 1);
    myrd_groups_bury(groups, 1);
    assert_int_equal(failed(7), 1);
    assert_int_equal(failed(8), 0);
    assert_int_equal(failed(9), 0);
    myrd_groups_bury(groups, 2);
    assert_int_equal(failed(7), 1); /* once is enough */
    assert_int_equal(failed(8), 1);
    assert_int_equal(double_open_count(), 0);
}

static void who_has_had_its_time_waits(void **state)
{
    (void)state;
    static struct myrd_users users;
    myrd_users_come(&users, ALICE);
    myrd_users_come(&users, BOB);
    myrd_users_come(&users, ALICE);
    assert_int_equal(myrd_users_connections(&users, ALICE), 2);
    for (int turn = 0; turn < 3; ++turn) {
        myrd_users_turn(&users);
        assert_false(myrd_users_had_time(&users, ALICE));
        myrd_users_took(&users, ALICE, MYRD_USERS_TURN_US - 1);
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
    myrd_users_took(&users, ALICE, MYRD_USERS_TURN_US); /* who has gone */
    assert_false(myrd_users_had_time(&users, ALICE));
}

/* Each takes all that it may have, one after the other. */
static uint32_t take_all(uint32_t all, uint32_t taken, uid_t uid)
{
    uint32_t own = 0;
    while (myrd_share_allows(all, taken, own, uid)) {
        ++own;
    }
    return own;
}

static void shares_shrink_as_users_come(void **state)
{
    (void)state;
    for (uint32_t all = 0; all <= 4096; all = 2 * all + 1) {
        uint32_t taken = 0, last = all;
        for (uid_t uid = 1; uid < 100; ++uid) {
            const uint32_t own = take_all(all, taken, uid);
            assert_true(own <= last);
            assert_true(0 != own || taken >= all - all / 32); /* while anything is left */
            taken += own;
            last = own;
        }
        assert_true(taken <= all - all / 32);
        assert_int_equal(take_all(all, taken, 0), all - taken); /* root's */
    }
    assert_int_equal(take_all(1024, 0, ALICE), 248);
    assert_true(take_all(1024, 4 * 248, ALICE) == 0); /* if that were so; but: */
    assert_int_equal(take_all(1024, 248, BOB), 186);
}

/* Four users take all that they may have; then there is room for others, at last for root. Nobody
 * loses what is open. */
static void a_user_has_a_share(void **state)
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
            assert_true(double_open_count() > before);
        }
        before = double_open_count();
    }
    assert_int_equal(open_for(groups, 5, ALICE, 2), MYR_OK); /* which is there */
    assert_int_equal(double_open_count(), before);
    while (MYR_OK == open_for(groups, key, 0, 3)) {
        ++key;
    }
    assert_true(double_open_count() >= before + MCP_KERNEL_GROUPS / 32);
    assert_int_equal(double_open_count(), MCP_KERNEL_GROUPS);
    myrd_groups_leave(groups, key - 1, 3);
    assert_int_equal(open_for(groups, key, 0, 3), MYR_OK);
}

static void a_group_has_so_many_members(void **state)
{
    struct myrd_groups *groups = *state;
    for (uint64_t holder = 1; holder <= MYRD_HOLDERS_OF_ONE; ++holder) {
        assert_int_equal(open_for(groups, 7, ALICE, holder), MYR_OK);
    }
    assert_int_equal(open_for(groups, 7, ALICE, 1), MYR_ERR_FULL);
}

/* Look so often that nothing due is missed, and say at which times group 7 was asked for. */
static uint32_t times_asked(struct myrd_groups *groups, uint64_t *now, uint64_t until,
                            uint64_t *times)
{
    uint32_t count = 0;
    for (; *now < until; ++*now) {
        const uint32_t before = asked(7);
        myrd_groups_look(groups, *now);
        if (asked(7) != before && NULL != times) {
            times[count] = *now;
        }
        count += asked(7) - before;
    }
    return count;
}

static void who_is_stuck_is_asked_for_ever_more_seldom(void **state)
{
    struct myrd_groups *groups = *state;
    uint64_t now = NOW, times[64] = {0};
    open_for(groups, 7, ALICE, 1);
    assert_int_equal(times_asked(groups, &now, now + 100, NULL), 0); /* idle */
    double_set(7, true, 3);
    const uint64_t since = now;
    const uint32_t met = double_met_count();
    const uint32_t count = times_asked(groups, &now, now + 2000, times);
    assert_in_range(count, 2000 / (MOST_MS + MYRD_LOOK_MS), 2000 / MYRD_LOOK_MS / 2);
    assert_in_range(times[0] - since, MYRD_LOOK_MS, 3 * MYRD_LOOK_MS);
    for (uint32_t t = 2; t < count && t < 64; ++t) {
        const uint64_t last = times[t - 1] - times[t - 2];
        assert_in_range(times[t] - times[t - 1], last, MOST_MS + MYRD_LOOK_MS);
    }
    assert_true(double_met_count() > met); /* its peers may have moved */
    double_set(7, true, 4);                /* it has gone on */
    assert_int_equal(times_asked(groups, &now, now + MYRD_LOOK_MS, NULL), 0);
    assert_true(times_asked(groups, &now, now + 2 * MYRD_LOOK_MS, NULL) > 0);
}

static void who_goes_on_is_not_asked_for(void **state)
{
    struct myrd_groups *groups = *state;
    open_for(groups, 7, ALICE, 1);
    for (uint32_t epoch = 0; epoch < 100; ++epoch) {
        double_set(7, true, epoch);
        myrd_groups_look(groups, NOW + epoch * MYRD_LOOK_MS);
    }
    assert_int_equal(asked(7), 0);
    uint64_t now = NOW + 100 * MYRD_LOOK_MS;
    open_for(groups, 7, ALICE, 2);
    myrd_groups_bury(groups, 1);
    assert_int_equal(times_asked(groups, &now, now + 1000, NULL), 0); /* in vain */
    assert_int_equal(myrd_groups_timeout(groups, now), -1);
}

static void nothing_is_due_without_groups(void **state)
{
    struct myrd_groups *groups = *state;
    assert_int_equal(myrd_groups_timeout(groups, NOW), -1);
    open_for(groups, 7, ALICE, 1);
    myrd_groups_look(groups, NOW);
    assert_int_equal(myrd_groups_timeout(groups, NOW), MYRD_LOOK_MS);
    assert_int_equal(myrd_groups_timeout(groups, NOW + MYRD_LOOK_MS + 1), 0);
}

/* Looks cost 1 % of a processor at the most, and what holds up the system for long counts no more
 * than a look can take. */
static void looks_rest(void **state)
{
    static const struct {
        uint64_t took_ns, rest_ms;
    } looks[] = {{0, 10},        {99999, 10},      {100000, 10},        {200000, 20},
                 {9000000, 900}, {10000000, 1000}, {60000000000, 1000}, {UINT64_MAX, 1000}};
    struct myrd_groups *groups = *state;
    uint64_t now = NOW;
    for (size_t l = 0; l < sizeof(looks) / sizeof(looks[0]); ++l) {
        assert_int_equal(mcp_kernel_rest(looks[l].took_ns), 1000000 * looks[l].rest_ms);
    }
    open_for(groups, 7, ALICE, 1);
    for (size_t l = 0; l < sizeof(looks) / sizeof(looks[0]); ++l) {
        assert_true(myrd_groups_look(groups, now));
        myrd_groups_took(groups, looks[l].took_ns);
        assert_int_equal(myrd_groups_timeout(groups, now), looks[l].rest_ms);
        now += looks[l].rest_ms;
        assert_false(myrd_groups_look(groups, now - 1));
        assert_int_equal(myrd_groups_timeout(groups, now - 1), 1);
    }
    /* A group that is stuck is asked for when it is looked at. */
    assert_true(myrd_groups_look(groups, now));
    myrd_groups_took(groups, 3000000);
    double_set(7, true, 3);
    assert_int_equal(times_asked(groups, &now, now + 300, NULL), 0);
    assert_int_equal(times_asked(groups, &now, now + 2 * MYRD_LOOK_MS, NULL), 1);
}

/* Where the kernel tells who is stuck nobody looks, and others are not asked for. */
static void who_is_told_of_is_asked_for(void **state)
{
    double_watch();
    struct myrd_groups *groups = myrd_groups_make(NULL, &nobody);
    const uint32_t met = double_met_count();
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 8, ALICE, 2);
    double_set(7, true, 3);
    double_set(8, true, 3);
    assert_int_equal(myrd_groups_timeout(groups, NOW), -1);
    for (uint64_t now = NOW; now < NOW + 1000; ++now) {
        myrd_groups_look(groups, now);
    }
    assert_int_equal(asked(7), 0);
    for (uint32_t told = 1; told <= MYRD_ASKED_BEFORE_MEET; ++told) {
        assert_int_equal(double_met_count(), met);
        double_tell(7, 3, told);
        double_tell(9, 3, told); /* which is closed by now */
        myrd_groups_hear(groups, NOW + told);
        assert_int_equal(asked(7), told);
    }
    static struct myr_kernel_report report;
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.group[0].since_ms, NOW + 1); /* and not when it was told again */
    double_set(7, true, 4);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.group[0].since_ms, 0); /* it has gone on */
    assert_true(double_met_count() > met);         /* its peers may have moved */
    assert_int_equal(asked(8), 0);
    myrd_groups_bury(groups, 2);
    double_tell(8, 3, 1);
    myrd_groups_hear(groups, NOW + 100);
    assert_int_equal(asked(8), 0);
    myrd_groups_free(groups);
    (void)state;
}

/* Tell that this group and those after it are stuck, for the `told`-th time. */
static void tell_of(uint64_t first, uint32_t count, uint32_t told)
{
    for (uint32_t g = 0; g < count; ++g) {
        double_tell(first + g, 0, told);
    }
}

/* Open a group of this user's, each step of which may miss all messages that a group can have. */
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

/* One user has all groups that it may have stuck, each with all messages missing, for as long as
 * it likes. The daemon asks for so many a second, and for all groups in turn. Another user's groups
 * are asked for at once, all of them. */
static void a_user_has_a_share_of_questions(void **state)
{
    enum {
        FOR_MS = 6000,
        TOLD_EACH_MS = 70,
        BOBS = 13,
        BOB_FIRST = 10000,
        AT_ONCE = MYRD_USERS_ASK_AHEAD_US / MYRD_USERS_ASK_US + 2 * MCP_KERNEL_MESSAGES,
        MOST = FOR_MS * (1000 / MYRD_USERS_ASK_US + 1) + AT_ONCE,
    };
    static struct myrd_users users;
    uint32_t alices = 0, before = 0, told = 0, least = UINT32_MAX, most = 0;
    double_watch();
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
        if (0 == (now - NOW) % TOLD_EACH_MS) {
            ++told;
            tell_of(1, alices, told);
            tell_of(BOB_FIRST, BOBS, 1);
            myrd_groups_hear(groups, now);
            assert_int_equal(all_asked(BOB_FIRST, BOBS), told * BOBS);
        }
        myrd_groups_look(groups, now);
        const uint32_t sum = double_asked_count() - told * BOBS;
        assert_true((sum - before) * MCP_KERNEL_MESSAGES <= AT_ONCE);
        before = sum;
        assert_in_range(myrd_groups_timeout(groups, now), 1, 10000);
    }
    assert_true(before * MCP_KERNEL_MESSAGES <= MOST);
    assert_true(before * MCP_KERNEL_MESSAGES >= MOST / 4); /* and its peers were met again */
    for (uint32_t g = 0; g < alices; ++g) {
        least = asked(1 + g) < least ? asked(1 + g) : least;
        most = asked(1 + g) > most ? asked(1 + g) : most;
    }
    /* Those that one telling names change places. */
    assert_true(least > 0 && most - least <= 2);
    /* Once they are no longer stuck, nothing more is due. */
    for (uint64_t now = NOW + FOR_MS; myrd_groups_timeout(groups, now) >= 0; ++now) {
        myrd_groups_look(groups, now);
    }
    assert_true(double_asked_count() - told * BOBS <= before + alices);
    myrd_groups_free(groups);
    (void)state;
}

static void users_are_told_of_their_own(void **state)
{
    struct myrd_groups *groups = *state;
    static struct myr_kernel_report report;
    open_for(groups, 7, ALICE, 1);
    open_for(groups, 8, BOB, 2);
    open_for(groups, 9, BOB, 2);
    double_set(8, true, 5);
    open_for(groups, 7, ALICE, 3);
    myrd_groups_bury(groups, 1);
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.groups, 2);
    assert_int_equal(report.group[0].done, 5);
    assert_true(report.group[0].waits && !report.group[1].waits);
    assert_int_equal(report.group[0].missing, 1);
    assert_int_equal(report.group[0].node_missing[0].node, 1);
    assert_int_equal(mcp_ip_to_4(&report.group[0].node_missing[0].ip), ip4_of("127.0.0.2"));
    assert_int_equal(report.group[0].node_missing[0].heard_ms, 42);
    assert_int_equal(report.group[0].since_ms, 0);
    myrd_groups_look(groups, NOW + 5);
    myrd_groups_look(groups, NOW + 5000);
    myrd_groups_report(groups, BOB, &report);
    assert_int_equal(report.group[0].since_ms, NOW + 5);
    assert_int_equal(report.group[1].missing, 0);
    myrd_groups_report(groups, ALICE, &report);
    assert_int_equal(report.groups, 1);
    assert_int_equal(report.group[0].failed, report.group[0].node + 1); /* a process of its own */
    assert_int_equal(report.group[0].lost.node, report.group[0].node);
    myrd_groups_report(groups, 0, &report);
    assert_int_equal(report.groups, 3);
    myrd_groups_report(groups, ALICE + 100, &report);
    assert_int_equal(report.groups, 0);
}

/* ---- meetings ---- */

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
static void a_user_has_so_many_meetings(void **state)
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
static void who_opens_the_same_group_meets_once(void **state)
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
static void meetings_take_turns(void **state)
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

/* ---- the server ---- */

/* The other hosts. Two have a myrd --kernel, one has somebody who would like to be taken for one.
 */
enum { HOST, LATE_HOST, LIAR, OTHERS };
static const char *const addresses[OTHERS] = {"127.0.0.2", "127.0.0.9", "127.0.0.3"};

static struct {
    char folder[200], path[220];
    struct myrd_options options;
    void *server;
    int end[2], end_others[2];
    int bells[2];      /* doorbells on their way to other hosts, which the NIC would take */
    int other[OTHERS]; /* the others' sockets */
    pthread_t thread, others;
} world;

static int bind_at(const char *address, uint16_t port)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = ip4_of(address), .sin_port = htons(port)};
    const int udp = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(udp, (const struct sockaddr *)&own, sizeof(own)) < 0) {
        close(udp);
        return -1;
    }
    return udp;
}

static void say_to(int from, const struct sockaddr_in *to, const struct myrd_hosts_words *words)
{
    CREW_CHECK(sizeof(*words) ==
                   sendto(from, words, sizeof(*words), 0, (const struct sockaddr *)to, sizeof(*to)),
               "%s", strerror(errno));
}

/* With anything but the right words from the right place. */
static void lie_to(const struct sockaddr_in *to, struct myrd_hosts_words words)
{
    const int elsewhere = bind_at(addresses[LIAR], 0);
    say_to(elsewhere, to, &words);
    close(elsewhere);
    say_to(world.other[HOST], to, &words); /* which has not been asked this */
    ++words.number;
    say_to(world.other[LIAR], to, &words);
    words.number = 0;
    say_to(world.other[LIAR], to, &words);
    --words.number;
    ++words.version;
    say_to(world.other[LIAR], to, &words);
}

static void *be_others(void *nothing)
{
    (void)nothing;
    struct pollfd watched[OTHERS + 1];
    for (int o = 0; o < OTHERS; ++o) {
        watched[o] = (struct pollfd){.fd = world.other[o], .events = POLLIN};
    }
    watched[OTHERS] = (struct pollfd){.fd = world.end_others[0], .events = POLLIN};
    while (poll(watched, OTHERS + 1, -1) > 0 && 0 == watched[OTHERS].revents) {
        for (int o = 0; o < OTHERS; ++o) {
            struct myrd_hosts_words words;
            uint8_t packet[2 * MCP_PAYLOAD_MOST];
            struct sockaddr_in from;
            socklen_t bytes = sizeof(from);
            const ssize_t came = 0 == watched[o].revents
                                     ? -1
                                     : recvfrom(world.other[o], packet, sizeof(packet), 0,
                                                (struct sockaddr *)&from, &bytes);
            if (came >= (ssize_t)sizeof(struct mcp_doorbell)) {
                CREW_CHECK(came == send(world.bells[1], packet, (size_t)came, 0), "%s",
                           strerror(errno));
            }
            if (sizeof(words) != came) {
                continue;
            }
            memcpy(&words, packet, sizeof(words));
            words.kind = MYRD_HOSTS_ANSWER;
            if (LIAR == o) {
                lie_to(&from, words);
            } else {
                say_to(world.other[o], &from, &words);
            }
        }
    }
    return NULL;
}

/* All at one port that is free at all hosts. */
static uint16_t begin_others(void)
{
    for (uint16_t port = 20000; port < 30000; ++port) {
        const int own = bind_at("127.0.0.1", port);
        int o = 0;
        while (own >= 0 && o < OTHERS && (world.other[o] = bind_at(addresses[o], port)) >= 0) {
            ++o;
        }
        if (own >= 0) {
            close(own);
        }
        if (OTHERS == o) {
            assert_int_equal(pipe(world.end_others), 0);
            assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, world.bells), 0);
            assert_int_equal(pthread_create(&world.others, NULL, be_others, NULL), 0);
            return port;
        }
        while (o > 0) {
            close(world.other[--o]);
        }
    }
    return 0;
}

static void end_others(void)
{
    close(world.end_others[1]);
    pthread_join(world.others, NULL);
    close(world.end_others[0]);
    close(world.bells[0]);
    close(world.bells[1]);
    for (int o = 0; o < OTHERS; ++o) {
        close(world.other[o]);
    }
}

static void *serve(void *nothing)
{
    struct myr_error error;
    (void)nothing;
    return MYR_OK == myrd_kernel_owner.run(world.server, world.end[0], &error) ? NULL : &world;
}

static bool double_watch_next; /* the next server's double tells who is stuck */

static int begin_server(void **state)
{
    (void)state;
    struct myr_error error;
    double_reset();
    if (double_watch_next) {
        double_watch();
        double_watch_next = false;
    }
    crew_folder_make(world.folder, sizeof(world.folder));
    snprintf(world.path, sizeof(world.path), "%s/sock", world.folder);
    setenv("NICBARR_KERNEL_SOCKET", world.path, 1);
    nic_port = begin_others();
    world.options = (struct myrd_options){.nic = {.network = "lo", .port = nic_port}};
    if (MYR_OK != myrd_kernel_owner.open(&world.options, &world.server, &error)) {
        print_error("%s\n", error.text);
        return -1;
    }
    return pipe(world.end) < 0 || 0 != pthread_create(&world.thread, NULL, serve, NULL);
}

static int end_server(void **state)
{
    (void)state;
    void *trouble;
    close(world.end[1]);
    pthread_join(world.thread, &trouble);
    assert_null(trouble);
    close(world.end[0]);
    myrd_kernel_owner.close(world.server);
    end_others();
    assert_int_equal(access(world.path, F_OK), -1);
    assert_int_equal(double_open_count(), 0);
    crew_folder_remove(world.folder);
    return 0;
}

static struct myr_kernel_nic *come(void)
{
    struct myr_kernel_nic *nic;
    struct myr_error error = {.text = ""};
    if (MYR_OK != myr_kernel_nic_open(false, &nic, &error)) {
        fail_msg("%s", error.text);
    }
    return nic;
}

static void ask_for(struct myr_kernel_nic *nic, uint64_t key, int *page)
{
    struct myr_kernel_question question = question_of_two(key, "127.0.0.2");
    struct mcp_kernel_seen seen;
    struct myr_error error = {.text = ""};
    if (MYR_OK != myr_kernel_nic_ask_open(nic, &question, &seen, &error)) {
        fail_msg("%s", error.text);
    }
    *page = seen.page;
}

static void clients_share_a_page(void **state)
{
    (void)state;
    struct myr_kernel_nic *one = come(), *other = come();
    struct myr_nic_name name, same;
    struct double_group group = {.open = false};
    int page, again;
    myr_kernel_nic_get_name(one, &name);
    myr_kernel_nic_get_name(other, &same);
    assert_memory_equal(&name, &same, sizeof(name));
    assert_int_equal(name.count, 1);
    assert_int_equal(mcp_ip_to_4(&name.address[0].ip), ip4_of("127.0.0.1"));
    assert_int_equal(name.address[0].port, htons(world.options.nic.port));
    assert_int_equal(name.address[0].prefix, MCP_IP_BEFORE_4 + 8);
    ask_for(one, 7, &page);
    ask_for(other, 7, &again);
    assert_true(double_look(7, &group));
    assert_int_equal(group.plan.uid, geteuid());
    uint32_t *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    const uint32_t *theirs = mmap(NULL, 4096, PROT_READ, MAP_SHARED, again, 0);
    *mine = 5;
    assert_int_equal(*theirs, 5);
    munmap(mine, 4096);
    munmap((void *)theirs, 4096);
    close(page);
    close(again);
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    myr_kernel_nic_ask_close(one, 7);
    assert_int_equal(myr_kernel_nic_report(one, report, NULL), MYR_OK);
    assert_int_equal(report->groups, 1); /* the other one has it */
    assert_true(myr_kernel_nic_alive(one));
    myr_kernel_nic_close(one);
    myr_kernel_nic_ask_close(other, 7);
    assert_int_equal(myr_kernel_nic_report(other, report, NULL), MYR_OK);
    assert_int_equal(report->groups, 0);
    assert_int_equal(report->closed, 1);
    assert_string_equal(report->interface, "lo");
    assert_int_equal(report->counters.barriers, 42);
    assert_int_equal(report->pid, getpid());
    free(report);
    myr_kernel_nic_close(other);
    assert_int_equal(failed(7), 0);
}

static void members_are_told_who_is_missing(void **state)
{
    (void)state;
    struct myr_kernel_nic *member = come(), *stranger = come();
    struct myr_kernel_missing missing;
    int page;
    ask_for(member, 7, &page);
    close(page);
    assert_true(myr_kernel_nic_ask_missing(member, 7, &missing));
    assert_int_equal(missing.count, 0);
    double_set(7, true, 3);
    assert_true(myr_kernel_nic_ask_missing(member, 7, &missing));
    assert_int_equal(missing.count, 1);
    assert_int_equal(missing.node[0].node, 1);
    assert_int_equal(missing.node[0].heard_ms, 42);
    assert_true(myr_kernel_nic_ask_missing(stranger, 7, &missing));
    assert_int_equal(missing.count, 0);
    assert_true(myr_kernel_nic_ask_missing(member, 8, &missing));
    assert_int_equal(missing.count, 0);
    myr_kernel_nic_close(stranger);
    myr_kernel_nic_close(member);
}

static void refusals_come_with_a_line(void **state)
{
    (void)state;
    struct myr_kernel_nic *nic = come();
    struct myr_error error;
    struct mcp_kernel_seen seen;
    int page;
    struct myr_kernel_question question = question_of_two(7, "10.0.0.1");
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "its own network"));
    assert_int_equal(seen.page, -1);
    myr_kernel_nic_ask_close(nic, 7); /* nothing is there to close */
    ask_for(nic, 7, &page);           /* it may go on asking */
    close(page);
    myr_kernel_nic_close(nic);
}

static void a_connection_that_ends_is_a_death(void **state)
{
    (void)state;
    struct myr_kernel_nic *nic = come();
    int page;
    ask_for(nic, 7, &page);
    close(page);
    myr_kernel_nic_close(nic);
    double_await_failure(7);
}

static void join_leave_and_end(uint32_t rank, void *context)
{
    struct myr_kernel_nic *nic = come();
    int page;
    (void)rank;
    (void)context;
    ask_for(nic, 7, &page);
    myr_kernel_nic_ask_close(nic, 7);
}

/* Nobody answers a closing, so who leaves may have ended before it is heard. */
static void who_has_left_may_end_at_once(void **state)
{
    (void)state;
    struct myr_kernel_nic *other = come();
    int page;
    ask_for(other, 7, &page);
    close(page);
    for (int turn = 0; turn < 100; ++turn) {
        assert_true(crew_join(crew_fork(join_leave_and_end, 0, NULL)));
    }
    myr_kernel_nic_ask_close(other, 7);
    myr_kernel_nic_close(other);
    while (is_open(7)) {
        sched_yield();
    }
    assert_int_equal(failed(7), 0);
}

static void the_server_asks_for_who_is_told_of(void **state)
{
    assert_int_equal(end_server(state), 0);
    double_watch_next = true;
    assert_int_equal(begin_server(state), 0);
    struct myr_kernel_nic *nic = come();
    int page;
    ask_for(nic, 7, &page);
    close(page);
    double_tell(7, 0, 1);
    double_await_asking(7);
    myr_kernel_nic_ask_close(nic, 7);
    myr_kernel_nic_close(nic);
}

/* A member that is killed; its child, which ends with the test, still has the connection. */
struct orphanage {
    int ready[2], leash[2];
};

static void join_and_wait(uint32_t rank, void *context)
{
    const struct orphanage *orphanage = context;
    int page;
    char word;
    (void)rank;
    close(orphanage->leash[1]);
    ask_for(come(), 7, &page);
    if (0 != fork()) {
        CREW_CHECK(1 == write(orphanage->ready[1], "", 1), "cannot say so");
        pause();
    }
    (void)!read(orphanage->leash[0], &word, 1);
}

static void a_killed_process_is_a_death(void **state)
{
    (void)state;
    struct orphanage orphanage;
    char word;
    assert_int_equal(pipe(orphanage.ready), 0);
    assert_int_equal(pipe(orphanage.leash), 0);
    const pid_t child = crew_fork(join_and_wait, 0, &orphanage);
    assert_int_equal(read(orphanage.ready[0], &word, 1), 1);
    kill(child, SIGKILL);
    double_await_failure(7);
    assert_false(crew_join(child));
    for (int e = 0; e < 2; ++e) {
        close(orphanage.ready[e]);
        close(orphanage.leash[e]);
    }
}

static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int raw = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    assert_true(strlen(world.path) < sizeof(address.sun_path));
    memcpy(address.sun_path, world.path, strlen(world.path));
    assert_int_equal(connect(raw, (struct sockaddr *)&address, sizeof(address)), 0);
    return raw;
}

/* Ask for the NIC's name, and wait for the answer, which stays unread. */
static enum myr_status ask_and_look(int raw)
{
    const struct myr_kernel_question question = {.magic = MYR_KERNEL_MAGIC,
                                                 .ask = MYR_KERNEL_HELLO};
    struct myr_kernel_answer answer;
    (void)send(raw, &question, sizeof(question), MSG_NOSIGNAL); /* it may be refused already */
    const ssize_t bytes = recv(raw, &answer, sizeof(answer), MSG_PEEK);
    assert_true(0 == bytes || sizeof(answer) == bytes);
    return 0 == bytes ? MYR_ERR_SYSTEM : (enum myr_status)answer.status;
}

/* Ask on, with the answer unread, until one is dead to the server. */
static void ask_on(int raw)
{
    struct pollfd watched = {.fd = raw, .events = POLLRDHUP};
    (void)ask_and_look(raw);
    assert_int_equal(poll(&watched, 1, -1), 1);
}

/* Who asks on and reads no answer is given no more: they would be the server's memory. A closing is
 * not answered, and so may come before the answer is read. */
static void who_reads_no_answers_is_dead(void **state)
{
    (void)state;
    const struct myr_kernel_question closing = {
        .magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_CLOSE, .key = 8};
    struct myr_kernel_question question = question_of_two(7, "127.0.0.2");
    struct myr_kernel_answer answer;
    const int raw = connect_raw();
    question.magic = MYR_KERNEL_MAGIC;
    question.ask = MYR_KERNEL_OPEN;
    assert_int_equal(send(raw, &question, sizeof(question), 0), sizeof(question));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(ask_and_look(raw), MYR_OK);
    assert_int_equal(send(raw, &closing, sizeof(closing), 0), sizeof(closing));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(ask_and_look(raw), MYR_OK); /* it is heard yet */
    assert_int_equal(failed(7), 0);
    ask_on(raw);
    double_await_failure(7);
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
    assert_int_equal(recv(raw, &answer, sizeof(answer), 0), 0);
    close(raw);
}

static void nonsense_ends_the_connection(void **state)
{
    (void)state;
    struct myr_kernel_nic *nic = come();
    static uint8_t words[2 * sizeof(struct myr_kernel_question)];
    struct myr_kernel_question *question = (struct myr_kernel_question *)words;
    uint64_t random = crew_seed();
    for (uint32_t kind = 0; kind < 40; ++kind) {
        size_t bytes = sizeof(*question);
        for (size_t b = 0; b < sizeof(words); ++b) {
            words[b] = (uint8_t)crew_random(&random);
        }
        question->magic = 0 == kind ? 0 : MYR_KERNEL_MAGIC;
        question->ask = 1 == kind ? 0 : 2 == kind ? MYR_KERNEL_MISSING + 1 : MYR_KERNEL_OPEN;
        if (kind >= 3) {
            bytes = 3 == kind ? sizeof(words) : 1 + crew_below(&random, sizeof(*question) - 1);
        }
        struct myr_kernel_answer answer = {.magic = 0};
        const int raw = connect_raw();
        assert_int_equal(send(raw, words, bytes, 0), bytes);
        assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
        assert_int_equal(answer.status, MYR_ERR_FOREIGN);
        assert_int_equal(recv(raw, &answer, sizeof(answer), 0), 0);
        close(raw);
    }
    assert_true(myr_kernel_nic_alive(nic));
    myr_kernel_nic_close(nic);
}

/* What a client does not read is the daemon's memory. */
static void a_report_has_no_room_to_spare(void **state)
{
    (void)state;
    static struct myr_kernel_report report;
    const struct myr_kernel_question status = {.magic = MYR_KERNEL_MAGIC, .ask = MYR_KERNEL_STATUS};
    struct myr_kernel_nic *nic = come();
    const int raw = connect_raw();
    for (uint32_t groups = 0; groups < 3; ++groups) {
        int page;
        assert_int_equal(send(raw, &status, sizeof(status), 0), sizeof(status));
        assert_int_equal(recv(raw, &report, sizeof(report), 0), myr_kernel_report_bytes(groups));
        assert_int_equal(report.groups, groups);
        ask_for(nic, 7 + groups, &page);
        close(page);
    }
    close(raw);
    myr_kernel_nic_close(nic);
}

/* Questions of the right form with anything in them. */
static void garbage_opens_nothing(void **state)
{
    (void)state;
    const int raw = connect_raw();
    uint64_t random = crew_seed();
    for (uint32_t round = 0; round < 1000; ++round) {
        struct myr_kernel_question question = question_of_two(7, "127.0.0.2");
        struct myr_kernel_answer answer;
        uint8_t *bytes = (uint8_t *)&question;
        const size_t from = offsetof(struct myr_kernel_question, node);
        for (uint32_t hit = crew_below(&random, 8); hit > 0; --hit) {
            /* For the most part where the numbers are. */
            const size_t room = 0 == crew_below(&random, 2) ? 64 : sizeof(question) - from;
            bytes[from + crew_below(&random, (uint32_t)room)] = (uint8_t)crew_random(&random);
        }
        question.magic = MYR_KERNEL_MAGIC;
        question.ask = MYR_KERNEL_OPEN;
        question.key = round % 50;
        assert_int_equal(send(raw, &question, sizeof(question), 0), sizeof(question));
        assert_int_equal(recv(raw, &answer, sizeof(answer), 0), sizeof(answer));
        if (MYR_OK == answer.status) {
            struct double_group group = {.open = false};
            assert_true(double_look(question.key, &group));
            assert_true(0 != group.plan.key && group.plan.nsteps <= MCP_KERNEL_STEPS);
            assert_in_range(group.plan.nsends, 0, MCP_KERNEL_MESSAGES);
            assert_in_range(group.plan.nwaits, 0, MCP_KERNEL_MESSAGES);
            assert_true(group.plan.nsends + group.plan.nwaits > 0);
        }
    }
    close(raw);
}

/* It answers those who may ask, with their own number, at once. */
static void the_server_says_that_it_is_there(void **state)
{
    (void)state;
    const struct sockaddr_in server = {
        .sin_family = AF_INET, .sin_addr.s_addr = ip4_of("127.0.0.1"), .sin_port = htons(nic_port)};
    struct myrd_hosts_words words = {
        .magic = MYRD_HOSTS_MAGIC, .version = MYRD_HOSTS_VERSION, .kind = MYRD_HOSTS_QUESTION};
    uint8_t answer[2 * sizeof(words)];
    const int asking = bind_at("127.0.0.4", nic_port), elsewhere = bind_at("127.0.0.4", 0);
    assert_int_equal(sendto(asking, &words, sizeof(words) - 1, 0, (const struct sockaddr *)&server,
                            sizeof(server)),
                     sizeof(words) - 1);
    for (uint64_t number = 1; number < 100; ++number) {
        struct myrd_hosts_words wrong = words;
        wrong.number = number;
        wrong.magic ^= 1;
        say_to(asking, &server, &wrong);
        wrong = words;
        wrong.kind = 0;
        say_to(asking, &server, &wrong);
        say_to(elsewhere, &server, &words);
        words.number = number << 32 | number;
        say_to(asking, &server, &words);
        assert_int_equal(recv(asking, answer, sizeof(answer), 0), sizeof(words));
        struct myrd_hosts_words right = words;
        right.kind = MYRD_HOSTS_ANSWER;
        assert_memory_equal(answer, &right, sizeof(right));
    }
    assert_int_equal(recv(elsewhere, answer, sizeof(answer), MSG_DONTWAIT), -1);
    close(elsewhere);
    close(asking);
}

static void a_host_without_a_daemon_is_no_peer(void **state)
{
    (void)state;
    struct myr_kernel_nic *nic = come();
    struct mcp_kernel_seen seen;
    struct myr_error error;
    int page;
    struct myr_kernel_question question = question_of_two(7, addresses[LIAR]);
    question.peers[1].ip = ip_of(addresses[HOST]);
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_GONE);
    assert_non_null(strstr(error.text, "no myrd --kernel answers at 127.0.0.3, UDP port"));
    assert_false(is_open(7));
    ask_for(nic, 7, &page); /* of others */
    close(page);
    myr_kernel_nic_close(nic);
}

static void *ask_for_absent(void *nic)
{
    struct myr_kernel_question question = question_of_two(8, "127.0.0.9");
    static struct myr_error error;
    struct mcp_kernel_seen seen;
    error = (struct myr_error){.status = MYR_OK};
    if (MYR_OK == myr_kernel_nic_ask_open(nic, &question, &seen, &error)) {
        close(seen.page);
    }
    return &error;
}

static void an_absent_host_holds_up_nobody(void **state)
{
    (void)state;
    struct myr_kernel_nic *patient = come(), *other = come();
    struct myr_error *error;
    pthread_t thread;
    int page;
    double_set_absent(ip_of("127.0.0.9"), true);
    pthread_create(&thread, NULL, ask_for_absent, patient);
    double_await_meeting();
    ask_for(other, 7, &page); /* while the first one waits */
    close(page);
    pthread_join(thread, (void **)&error);
    assert_int_equal(error->status, MYR_ERR_GONE);
    assert_non_null(strstr(error->text, "127.0.0.9 does not answer on lo"));
    assert_false(is_open(8));
    ask_for(patient, 7, &page); /* it may go on asking */
    close(page);
    myr_kernel_nic_close(patient);
    myr_kernel_nic_close(other);
}

static void a_host_that_answers_late_is_met(void **state)
{
    (void)state;
    struct myr_kernel_nic *patient = come();
    struct myr_error *error;
    pthread_t thread;
    double_set_absent(ip_of("127.0.0.9"), true);
    pthread_create(&thread, NULL, ask_for_absent, patient);
    double_await_meeting();
    double_set_absent(ip_of("127.0.0.9"), false);
    pthread_join(thread, (void **)&error);
    assert_int_equal(error->status, MYR_OK);
    assert_true(is_open(8));
    myr_kernel_nic_close(patient);
}

/* Who gives up while it waits for a host leaves nothing behind. */
static void who_waits_may_go(void **state)
{
    (void)state;
    struct myr_kernel_question question = question_of_two(8, "127.0.0.9");
    question.magic = MYR_KERNEL_MAGIC;
    question.ask = MYR_KERNEL_OPEN;
    double_set_absent(ip_of("127.0.0.9"), true);
    for (int turn = 0; turn < 30; ++turn) {
        const int raw = connect_raw();
        assert_int_equal(send(raw, &question, sizeof(question), 0), sizeof(question));
        close(raw);
    }
    double_await_meeting();
    myr_kernel_nic_close(come());
    assert_false(is_open(8));
}

static void come_from_elsewhere(uint32_t rank, void *context)
{
    struct myr_kernel_nic *nic;
    struct myr_error error = {.text = ""};
    (void)rank;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) {
        *(bool *)context = true;
        return;
    }
    CREW_CHECK(MYR_OK != myr_kernel_nic_open(false, &nic, &error), "it was let in");
    CREW_CHECK(NULL != strstr(error.text, "another network namespace"), "%s", error.text);
}

static void other_networks_are_refused(void **state)
{
    (void)state;
    bool *unable = crew_memory(sizeof(*unable));
    *unable = false;
    assert_true(crew_join(crew_fork(come_from_elsewhere, 0, unable)));
    const bool skipped = *unable;
    crew_memory_free(unable, sizeof(*unable));
    if (skipped) {
        skip();
    }
}

static void one_server_at_a_place(void **state)
{
    (void)state;
    void *second;
    struct myr_error error;
    assert_int_equal(myrd_kernel_owner.open(&world.options, &second, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "runs already"));
    struct myrd_options options = world.options;
    char path[230];
    snprintf(path, sizeof(path), "%s2", world.path);
    options.socket = path;
    assert_int_equal(myrd_kernel_owner.open(&options, &second, &error), MYR_ERR_SYSTEM);
    assert_non_null(strstr(error.text, "--port"));
    assert_int_equal(access(path, F_OK), -1);
    options.nic.network = "nosuch0";
    assert_int_equal(myrd_kernel_owner.open(&options, &second, &error), MYR_ERR_NOT_THERE);
    assert_non_null(strstr(error.text, "nosuch0"));
    myr_kernel_nic_close(come()); /* the first one is there as before */
}

/* Be this user, to whom one connects. (Only this thread is; root alone can.) */
static void become(uid_t uid)
{
    assert_int_equal(syscall(SYS_setresuid, -1, uid, -1), 0);
}

/* Is this one closed without a word? It is not, if it was told something that it has not read. */
static bool hears_nothing(int raw)
{
    char word;
    struct pollfd watched = {.fd = raw, .events = POLLIN};
    assert_int_equal(poll(&watched, 1, -1), 1);
    return 0 == recv(raw, &word, sizeof(word), MSG_PEEK);
}

/* How many connections has the server refused? */
static uint64_t refused(struct myr_kernel_nic *nic)
{
    struct myr_kernel_report *report = calloc(1, sizeof(*report));
    assert_non_null(report);
    assert_int_equal(myr_kernel_nic_report(nic, report, NULL), MYR_OK);
    const uint64_t count = report->refused;
    free(report);
    return count;
}

/* Come as this user as often as it is let in. Returns how often. */
static uint32_t come_often(uid_t uid, struct myr_kernel_nic **nic)
{
    struct myr_error error = {.text = ""};
    uint32_t count = 0;
    become(uid);
    while (MYR_OK == myr_kernel_nic_open(false, &nic[count], &error)) {
        ++count;
    }
    become(0);
    assert_non_null(strstr(error.text, "too many clients"));
    return count;
}

static void come_one_after_the_other(uint32_t rank, void *context)
{
    enum {
        MOST = 256,
        USERS = 40,
        DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST
    };
    static struct myr_kernel_nic *nic[MOST];
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS}; /* for no more clients */
    uint32_t count = 0, last = MOST;
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    for (uint32_t user = 0; user < USERS; ++user) {
        const uint32_t came = come_often(ALICE + user, &nic[count]);
        assert_true(came <= last);
        assert_true(user > 10 || came > 0);
        last = came;
        count += came;
    }
    nic[count++] = come(); /* root */
    assert_int_equal(refused(nic[count - 1]), USERS);
    while (count > 0) {
        myr_kernel_nic_close(nic[--count]);
    }
    assert_int_equal(end_server(context), 0);
}

/* As this user, from another network. Returns how many are told why they may not come in, until one
 * is told nothing, or so many have been. None of them is read. */
static uint32_t be_refused_often(uid_t uid, uint32_t most, int raw[])
{
    uint32_t count = 0;
    become(uid);
    raw[0] = connect_raw();
    while (count < most && !hears_nothing(raw[count])) {
        raw[++count] = connect_raw();
    }
    become(0);
    return count;
}

static void be_refused_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128, DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST };
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS};
    int raw[MOST + 1], by_root[MOST + 1];
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    const int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    assert_true(home >= 0);
    assert_int_equal(unshare(CLONE_NEWNET), 0);
    const uint32_t count = be_refused_often(ALICE, MOST, raw);
    assert_in_range(count, 1, MOST / 4);
    const uint32_t roots = be_refused_often(0, MOST, by_root); /* it may be a container's */
    assert_in_range(roots, 1, MOST / 4);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    const uint32_t again = be_refused_often(BOB, MOST, raw); /* there is room again */
    assert_true(again > 0);
    assert_int_equal(setns(home, CLONE_NEWNET), 0);
    struct myr_kernel_nic *nic = come();
    assert_int_equal(refused(nic), count + 1 + roots + 1 + again + 1);
    myr_kernel_nic_close(nic);
    for (uint32_t r = 0; r <= again; ++r) {
        close(raw[r]);
    }
    for (uint32_t r = 0; r <= roots; ++r) {
        close(by_root[r]);
    }
    close(home);
    assert_int_equal(end_server(context), 0);
}

/* A refusal that nobody reads is the server's memory. So it counts as a connection of its user's;
 * and who has no more room is refused without a word. */
static void refusals_are_bounded(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(be_refused_and_read_nothing, 0, state)));
}

static void come_and_read_nothing(uint32_t rank, void *context)
{
    enum { MOST = 128, DESCRIPTORS = MCP_KERNEL_PAGES + MCP_KERNEL_BUFFERS + 96 + 2 * MOST };
    const struct rlimit room = {DESCRIPTORS, DESCRIPTORS};
    static struct myr_kernel_nic *nic[MOST];
    int raw[MOST + 1];
    uint32_t count = 0, came = 0;
    (void)rank;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &room), 0);
    assert_int_equal(begin_server(context), 0);
    assert_int_equal(chmod(world.folder, 0711), 0);
    become(ALICE);
    raw[0] = connect_raw();
    while (count < MOST && MYR_OK == ask_and_look(raw[count])) {
        ask_on(raw[count]);
        raw[++count] = connect_raw();
    }
    become(0);
    assert_in_range(count, 1, MOST / 2);
    for (uint32_t r = 0; r <= count; ++r) {
        close(raw[r]);
    }
    while (came < count) {
        came += come_often(ALICE, &nic[came]);
    }
    assert_int_equal(came, count);
    while (came > 0) {
        myr_kernel_nic_close(nic[--came]);
    }
    assert_int_equal(end_server(context), 0);
}

/* What a user leaves unread counts as its connections, also when the server has done with them;
 * and no longer when it is gone. */
static void what_is_unread_counts(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(come_and_read_nothing, 0, state)));
}

/* Whoever takes all the room that he may, others get in; and root whenever it comes. */
static void users_have_shares_of_connections(void **state)
{
    if (0 != geteuid()) {
        skip();
    }
    assert_true(crew_join(crew_fork(come_one_after_the_other, 0, state)));
}

static void a_server_that_ends_is_noticed(void **state)
{
    struct myr_kernel_nic *nic = come(), *none;
    struct myr_kernel_question question = question_of_two(7, "127.0.0.2");
    struct myr_error error;
    struct mcp_kernel_seen seen;
    assert_true(myr_kernel_nic_alive(nic));
    assert_int_equal(end_server(state), 0);
    assert_false(myr_kernel_nic_alive(nic));
    assert_int_equal(myr_kernel_nic_ask_open(nic, &question, &seen, &error), MYR_ERR_SYSTEM);
    myr_kernel_nic_close(nic);
    assert_int_equal(myr_kernel_nic_open(false, &none, &error), MYR_ERR_NOT_THERE);
    assert_int_equal(begin_server(state), 0);
}

/* ---- groups of a node's processes ---- */

/* Two nodes that play a step; `context` says whether there is memory for it. */
static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    struct mcp_step *steps =
        *(const bool *)context ? malloc(sizeof(*steps) + 2 * sizeof(uint32_t)) : NULL;
    if (NULL == steps) {
        return false;
    }
    uint32_t *peers = (uint32_t *)(steps + 1);
    steps[0] = (struct mcp_step){1, 1};
    peers[0] = peers[1] = 1 - node;
    *schedule = (struct myr_schedule){1, steps, 2, peers};
    return true;
}

static void count_record(struct myr_record *record, void *context)
{
    (void)record;
    ++*(uint32_t *)context;
}

static uint32_t records_in(struct myr_segment *segment)
{
    uint32_t count = 0;
    myr_records_each(segment, count_record, &count);
    return count;
}

/* Of a node's two processes one joins and leaves; the other has no memory for it, or the daemon
 * does not let it in. Nothing of the group stays in the segment. */
static void who_fails_to_join_keeps_nothing(void **state)
{
    (void)state;
    const bool enough = true, too_little = false;
    struct myr_kernel_nic *nic = come();
    struct myr_segment *segment;
    struct myr_nic_name peer = our_name(), absent = our_name();
    const struct myr_nic_name *const good[] = {&peer, &peer}, *const bad[] = {&peer, &absent};
    peer.address[0].ip = ip_of("127.0.0.2");
    absent.count = 0;
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    for (int refused = 0; refused < 2; ++refused) {
        struct myr_nic_group one, other;
        const uint64_t key = 90 + (uint64_t)refused;
        struct myr_nic_members members = {
            .key = key, .nodes = 2, .locals = 2, .local = 0, .names = good};
        assert_int_equal(
            myr_kernel_group_join(&one, nic, segment, NULL, &members, schedule_of, &enough, NULL),
            MYR_OK);
        assert_int_equal(records_in(segment), 1);
        members.local = 1;
        members.names = refused ? bad : good;
        assert_int_not_equal(myr_kernel_group_join(&other, nic, segment, NULL, &members,
                                                   schedule_of, refused ? &enough : &too_little,
                                                   NULL),
                             MYR_OK);
        myr_nic_group_leave(&one);
        assert_int_equal(records_in(segment), 0);
    }
    myr_segment_leave(segment);
    myr_kernel_nic_close(nic);
}

/* Groups of one user share a page. Each sees its own line of it. */
static void groups_have_lines_of_their_own(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    const bool enough = true;
    struct myr_kernel_nic *nic = come();
    struct myr_segment *segment;
    struct myr_nic_group group[COUNT];
    struct myr_nic_name peer = our_name();
    const struct myr_nic_name *const names[] = {&peer, &peer};
    peer.address[0].ip = ip_of("127.0.0.2");
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    for (uint32_t g = 0; g < COUNT; ++g) {
        const struct myr_nic_members members = {
            .key = 90 + g, .nodes = 2, .locals = 1, .names = names};
        assert_int_equal(myr_kernel_group_join(&group[g], nic, segment, NULL, &members, schedule_of,
                                               &enough, NULL),
                         MYR_OK);
    }
    for (uint32_t told = 0; told < COUNT; ++told) {
        double_release(90 + told, 7);
        for (uint32_t g = 0; g < COUNT; ++g) {
            assert_int_equal(myr_nic_group_test(&group[g], 7), g <= told);
        }
    }
    for (uint32_t g = 0; g < COUNT; ++g) {
        myr_nic_group_leave(&group[g]);
    }
    myr_segment_leave(segment);
    myr_kernel_nic_close(nic);
}

/* The next doorbell, and what is behind it. */
static uint32_t take_bell(struct mcp_doorbell *bell, uint8_t *behind)
{
    uint8_t packet[2 * MCP_PAYLOAD_MOST];
    const ssize_t bytes = recv(world.bells[0], packet, sizeof(packet), 0);
    assert_true(bytes >= (ssize_t)sizeof(*bell));
    memcpy(bell, packet, sizeof(*bell));
    memcpy(behind, packet + sizeof(*bell), (size_t)bytes - sizeof(*bell));
    assert_int_equal(bell->magic, MCP_DOORBELL_MAGIC);
    assert_int_equal(bell->version, MCP_DOORBELL_VERSION);
    assert_int_equal(bell->key, 90);
    return (uint32_t)bytes - (uint32_t)sizeof(*bell);
}

static void expect_bell(enum mcp_ring ring, uint32_t epoch, uint32_t root)
{
    uint8_t behind[2 * MCP_PAYLOAD_MOST];
    struct mcp_doorbell bell;
    assert_int_equal(take_bell(&bell, behind), 0);
    assert_int_equal(bell.ring, ring);
    assert_int_equal(bell.epoch, epoch);
    assert_int_equal(bell.root, root);
}

/* A process is the root, or waits for the other node; then it arrives, leaves before that is
 * complete, and rings for it again. */
static void a_process_broadcasts(void **state)
{
    (void)state;
    enum { BYTES = 61 };
    const bool enough = true;
    struct myr_kernel_nic *nic = come();
    struct myr_segment *segment;
    struct myr_nic_group group;
    struct myr_nic_name peer = our_name();
    const struct myr_nic_name *const names[] = {&peer, &peer};
    const struct myr_nic_members members = {
        .key = 90, .nodes = 2, .locals = 1, .names = names, .unit_most = 64, .broadcasts = true};
    struct double_group opened = {.open = false};
    struct mcp_doorbell bell;
    uint8_t block[2 * MCP_PAYLOAD_MOST];
    uint32_t bytes;
    peer.address[0].ip = ip_of("127.0.0.2");
    assert_int_equal(myr_segment_join(NULL, 1 << 20, &segment, NULL), MYR_OK);
    assert_int_equal(
        myr_kernel_group_join(&group, nic, segment, NULL, &members, schedule_of, &enough, NULL),
        MYR_OK);
    assert_true(double_look(90, &opened));
    assert_int_equal(opened.plan.places, 0);
    assert_int_equal(opened.plan.window, MCP_BCAST_SLOTS);
    assert_in_range(opened.plan.slot_bytes, sizeof(struct mcp_bcast_slot) + 64, 128);
    assert_int_equal(opened.plan.peers[0].at, 1);
    assert_int_equal(myr_nic_bcast_most(&group), 64);
    myr_nic_bcast_begin(&group, 0);
    memset(myr_nic_bcast_data(&group), 42, BYTES);
    myr_nic_bcast_send(&group, BYTES);
    bytes = take_bell(&bell, block);
    assert_int_equal(bell.ring, MCP_RING_BCAST);
    assert_int_equal(bell.epoch, 1);
    assert_in_range(bytes, BYTES, opened.plan.slot_bytes - sizeof(struct mcp_bcast_slot));
    assert_int_equal(bytes % MCP_BLOCK_UNIT, 0);
    assert_false(myr_nic_bcast_test(&group));
    double_broadcast(90, 1, block, bytes);
    assert_true(myr_nic_bcast_test(&group));
    myr_nic_bcast_end(&group);
    myr_nic_bcast_begin(&group, 1);
    assert_false(myr_nic_bcast_test(&group));
    group.player->bcast_ask(&group, 1, 2);
    expect_bell(MCP_RING_BCAST_ASK, 2, 1);
    double_broadcast(90, 2, block, bytes);
    assert_true(myr_nic_bcast_test(&group));
    const uint8_t *data = myr_nic_bcast_look(&group, &bytes);
    assert_int_equal(bytes, BYTES);
    for (uint32_t b = 0; b < BYTES; ++b) {
        assert_int_equal(data[b], 42);
    }
    myr_nic_bcast_end(&group);
    assert_int_equal(myr_nic_group_arrive(&group), 1);
    expect_bell(MCP_RING_START, 1, 0);
    myr_nic_group_leave(&group);
    expect_bell(MCP_RING_START, 1, 0);
    assert_int_equal(records_in(segment), 0);
    myr_segment_leave(segment);
    myr_kernel_nic_close(nic);
}

int main(void)
{
#define GROUPS(test) cmocka_unit_test_setup_teardown(test, begin_groups, end_groups)
#define SERVER(test) cmocka_unit_test_setup_teardown(test, begin_server, end_server)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_question_is_a_plan),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(data_that_have_no_room_are_refused),
        cmocka_unit_test(windows_that_have_no_room_are_refused),
        cmocka_unit_test(only_neighbours_can_be_peers),
        cmocka_unit_test(shares_shrink_as_users_come),
        cmocka_unit_test(who_has_had_its_time_waits),
        GROUPS(a_group_is_shared_with_its_like),
        GROUPS(the_last_one_closes_it),
        GROUPS(a_user_has_so_many_closed),
        GROUPS(each_opening_wants_a_closing),
        GROUPS(death_fails_what_was_held),
        GROUPS(who_leaves_says_farewell),
        GROUPS(farewells_begin_and_end),
        GROUPS(who_broadcasts_says_farewell),
        GROUPS(not_all_say_farewell),
        GROUPS(farewells_give_way),
        GROUPS(a_user_has_a_share),
        GROUPS(a_group_has_so_many_members),
        GROUPS(who_is_stuck_is_asked_for_ever_more_seldom),
        GROUPS(who_goes_on_is_not_asked_for),
        GROUPS(nothing_is_due_without_groups),
        GROUPS(looks_rest),
        cmocka_unit_test(a_user_has_so_many_meetings),
        cmocka_unit_test(who_opens_the_same_group_meets_once),
        cmocka_unit_test(meetings_take_turns),
        GROUPS(who_is_told_of_is_asked_for),
        GROUPS(a_user_has_a_share_of_questions),
        GROUPS(users_are_told_of_their_own),
        SERVER(clients_share_a_page),
        SERVER(members_are_told_who_is_missing),
        SERVER(refusals_come_with_a_line),
        SERVER(a_connection_that_ends_is_a_death),
        SERVER(a_killed_process_is_a_death),
        SERVER(the_server_asks_for_who_is_told_of),
        SERVER(who_has_left_may_end_at_once),
        SERVER(who_reads_no_answers_is_dead),
        SERVER(nonsense_ends_the_connection),
        SERVER(a_report_has_no_room_to_spare),
        SERVER(garbage_opens_nothing),
        SERVER(the_server_says_that_it_is_there),
        SERVER(a_host_without_a_daemon_is_no_peer),
        SERVER(an_absent_host_holds_up_nobody),
        SERVER(a_host_that_answers_late_is_met),
        SERVER(who_waits_may_go),
        SERVER(other_networks_are_refused),
        SERVER(one_server_at_a_place),
        cmocka_unit_test(users_have_shares_of_connections),
        cmocka_unit_test(what_is_unread_counts),
        cmocka_unit_test(refusals_are_bounded),
        SERVER(a_server_that_ends_is_noticed),
        SERVER(who_fails_to_join_keeps_nothing),
        SERVER(groups_have_lines_of_their_own),
        SERVER(a_process_broadcasts),
    };
    crew_watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
