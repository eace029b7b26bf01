/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a group that ends, by a close message or by a failure, does not leave its peers
 * waiting.
 */
#include <sched.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* After its hosts have left, a group executes one more epoch without data. Until that is
 * complete it answers ASKs for its data and ignores FAILs. */
TEST(closing_epochs)
{
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 15;
    uint32_t epoch = 0;
    open_small_with_data(BYTES);
    assert_false(mcp_kernel_group_begin_closing(kernel, pair.key, &epoch)); /* no data yet */
    fill_carried(BYTES, &random);
    assert_true(mcp_group_offer(pair.group, 1, BYTES));
    memcpy(mcp_group_buffer(pair.group, 1), carried, BYTES);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    ring_with(pair.bell, pair.key, MCP_RING_START, 1, BYTES);
    expect_same(&pair);
    assert_false(
        mcp_kernel_group_begin_closing(kernel, pair.key, &epoch)); /* an epoch is outstanding */
    event_packet(&pair, missing_arrival(&pair, &random), &random);
    assert_true(mcp_kernel_group_begin_closing(kernel, pair.key, &epoch));
    assert_int_equal(epoch, 2);
    assert_true(mcp_group_offer(pair.group, 2, 0));
    mcp_group_start(pair.group, 2);
    play_here(&pair);
    expect_same(&pair);
    const struct mcp_header fails = make_header(&pair, MCP_FAIL, 2, 0, 1);
    ++count.packets_received;
    ++count.duplicates;
    inject_collective(1, &fails);
    expect_same(&pair);
    event_packet(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
    assert_int_equal(done(&pair), 2);
    assert_false(mcp_kernel_group_begin_closing(kernel, pair.key, &epoch));
    expect_untouched();
    close_pair(&pair);
}

/* A group that broadcasts also executes a last epoch when its hosts leave, whether another epoch
 * is outstanding or not. Until the end it answers ASKs for blocks. */
TEST(closing_epochs_of_broadcasts)
{
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 20;
    for (uint32_t waits = 0; waits < 2; ++waits) {
        uint32_t epoch = 0;
        open_small_with_window(BYTES);
        fill_carried(BYTES, &random);
        assert_int_equal(take_block_here(&pair, 0, 1, BYTES), MCP_RECORDED);
        ring_with(pair.bell, pair.key, MCP_RING_BCAST, 1, BYTES);
        expect_same(&pair);
        for (uint32_t e = 1; e <= waits; ++e) {
            start_epoch(e);
        }
        assert_true(mcp_kernel_group_begin_closing(kernel, pair.key, &epoch));
        assert_int_equal(epoch, waits + 1);
        mcp_group_start(pair.group, waits + 1);
        play_here(&pair);
        expect_same(&pair);
        assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_CLOSING), 0);
        expect_same(&pair); /* a second closing epoch does not start another epoch */
        ++count.packets_received;
        ++count.duplicates;
        const struct mcp_header fails = make_header(&pair, MCP_FAIL, 1, 0, 1);
        inject_collective(1, &fails);
        expect_same(&pair);
        const uint64_t answered = count.answered;
        event_packet(&pair, make_header(&pair, MCP_BCAST_ASK, 1, 0, 1), &random);
        assert_int_equal(count.answered, answered + 1);
        for (uint32_t e = 1; e <= epoch; ++e) {
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, e, 0, 1), &random);
        }
        assert_int_equal(done(&pair), epoch);
        expect_untouched();
        close_pair(&pair);
    }
}

/* Check that the group fails in the program and in the reference because `missing` does not
 * arrive: it sends a FAIL to each peer, wakes the sleeping process, and remains in its epoch. */
static void expect_failure(uint32_t missing)
{
    assert_int_equal(mcp_group_fail(pair.group, missing), MCP_RECORDED);
    ++count.failed;
    for (uint32_t p = 0; p < pair.plan.nsends + pair.plan.nwaits; ++p) {
        struct mcp_message message;
        mcp_group_failure(pair.group, p, &message);
        send_one(&pair, &message);
    }
    expect_sent();
    while (missing + 1 != myr_load_acquire(&pair.line->failed)) {
        assert_int_equal(pair.line->failed, 0);
        sched_yield();
    }
    assert_int_equal(mcp_kernel_group_failed(kernel, pair.key), missing + 1);
    assert_int_equal(myr_load_acquire(&pair.line->done), 0);
    expect_woken(&pair, true);
    expect_nothing_more();
}

TEST(failing)
{
    open_small(GROUP_USER);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key + 2, MCP_RING_FAIL), -1);
    expect_untouched();
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_failure(pair.plan.node); /* a process of this node has died */
    ring_by(GROUP_USER, MCP_RING_FAIL);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_nothing_more(); /* reported only once */
    assert_int_equal(pair.line->failed, pair.plan.node + 1);
    close_pair(&pair);
}

/* The group's user makes it fail in the middle of an epoch. */
TEST(failing_on_purpose)
{
    open_small(GROUP_USER);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    ring_by(GROUP_USER, MCP_RING_START);
    expect_same(&pair);
    ring_by(GROUP_USER, MCP_RING_FAIL); /* missing: node 1 */
    expect_failure(1);
    close_pair(&pair);
}

/* A peer reports the failure. The sleeping process is woken, and later ASKs are answered with
 * FAIL. */
TEST(failing_elsewhere)
{
    uint64_t random = crew_seed() + 10;
    struct mcp_header failure;
    open_small(geteuid());
    start_epoch(1);
    pair.sleeps = true;
    ring(pair.bell, pair.key, MCP_RING_SLEEP, 1);
    failure = make_header(&pair, MCP_FAIL, 1, 0, MOST_NODES); /* no such node */
    ++count.packets_received;
    ++count.dropped_implausible;
    inject_collective(1, &failure);
    expect_untouched();
    assert_int_equal(myr_load_acquire(&pair.page->failed), 0);
    failure = make_header(&pair, MCP_FAIL, 1, 0, 7);
    ++count.packets_received;
    inject_collective(1, &failure);
    expect_failure(7);
    ++count.packets_received;
    ++count.duplicates;
    inject_collective(1, &failure); /* reported only once */
    expect_nothing_more();
    mcp_group_start(pair.group, 2); /* has no effect */
    ring(pair.bell, pair.key, MCP_RING_START, 2);
    expect_nothing_more();
    assert_int_equal(myr_load_acquire(&pair.line->done), 0);
    close_pair(&pair);
    event_late(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    event_late(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
}

/* If there is no memory to remember a closed group, it stays open, and continues to answer its
 * peers. */
TEST(without_room_a_group_stays_open)
{
    uint64_t random = crew_seed() + 33;
    open_small(geteuid());
    start_epoch(1);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    mcp_kernel_group_forget(kernel, pair.key); /* of a group that an earlier test closed */
    fill_late(true);
    assert_false(mcp_kernel_group_close(kernel, pair.key, false));
    event_packet(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    start_epoch(2);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, 0, 1), &random);
    expect_untouched();
    fill_late(false);
    close_pair(&pair);
    event_late(&pair, make_header(&pair, MCP_ASK, 2, 0, 1), &random);
}

/* If a group fails without a doorbell and is closed as failed, it answers later ASKs with FAIL. */
TEST(a_group_closed_as_failed_answers_so)
{
    uint64_t random = crew_seed() + 34;
    open_small(geteuid());
    start_epoch(1);
    assert_true(mcp_kernel_group_close(kernel, pair.key, true));
    assert_int_equal(mcp_group_fail(pair.group, pair.plan.node), MCP_RECORDED);
    event_late(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    close_pair(&pair);
}
