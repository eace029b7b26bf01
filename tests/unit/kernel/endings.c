/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How groups end: with a farewell, or as they fail.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/doorbells.h"
#include "tests/unit/kernel/elements.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/kernel/tests.h"

/* Its hosts have left: it plays one more epoch without data. Whoever misses data gets them
 * meanwhile, and whoever says that the group has failed is not heard. */
void farewells(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    uint64_t random = crew_seed() + 15;
    uint32_t epoch = 0;
    open_small_with_data(BYTES);
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch)); /* nobody can miss any */
    fill_carried(BYTES, &random);
    assert_true(mcp_group_offer(pair.group, 1, BYTES));
    memcpy(mcp_group_buffer(pair.group, 1), carried, BYTES);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    ring_with(pair.bell, pair.key, MCP_RING_START, 1, BYTES);
    expect_same(&pair);
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch)); /* it waits */
    event_packet(&pair, missing_arrival(&pair, &random), &random);
    assert_true(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
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
    assert_false(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
    expect_untouched();
    close_pair(&pair);
}

/* The same where it broadcasts, whether an epoch is under way or not: whoever misses a block gets
 * it meanwhile. */
void farewells_of_broadcasts(void **state)
{
    (void)state;
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
        assert_true(mcp_kernel_group_farewell(kernel, pair.key, &epoch));
        assert_int_equal(epoch, waits + 1);
        mcp_group_start(pair.group, waits + 1);
        play_here(&pair);
        expect_same(&pair);
        assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAREWELL), 0);
        expect_same(&pair); /* once more, it is the same epoch */
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

/* The group fails there and here, for want of this node: all peers are told, whoever sleeps is
 * woken, and nothing goes on. */
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

void failing(void **state)
{
    (void)state;
    open_small(GROUP_USER);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key + 2, MCP_RING_FAIL), -1);
    expect_untouched();
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_failure(pair.plan.node); /* somebody has died here */
    have_rung(GROUP_USER, MCP_RING_FAIL);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_FAIL), 0);
    expect_nothing_more(); /* once is enough */
    assert_int_equal(pair.line->failed, pair.plan.node + 1);
    close_pair(&pair);
}

/* Its user gives it up, in the middle of an epoch. */
void failing_on_purpose(void **state)
{
    (void)state;
    open_small(GROUP_USER);
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    have_rung(GROUP_USER, MCP_RING_START);
    expect_same(&pair);
    have_rung(GROUP_USER, MCP_RING_FAIL); /* node 1 */
    expect_failure(1);
    close_pair(&pair);
}

/* A peer says so. Whoever sleeps is woken, and peers who ask later hear it, too. */
void failing_elsewhere(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 10;
    struct mcp_header failure;
    open_small(geteuid());
    start_epoch(1);
    pair.sleeps = true;
    ring(pair.bell, pair.key, MCP_RING_SLEEP, 1);
    failure = make_header(&pair, MCP_FAIL, 1, 0, MOST_NODES); /* which does not exist */
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
    inject_collective(1, &failure); /* once is enough */
    expect_nothing_more();
    mcp_group_start(pair.group, 2); /* in vain */
    ring(pair.bell, pair.key, MCP_RING_START, 2);
    expect_nothing_more();
    assert_int_equal(myr_load_acquire(&pair.line->done), 0);
    close_pair(&pair);
    event_late(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    event_late(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
}

/* There is no memory for what peers may ask for: the group stays, and answers them itself. */
void who_cannot_be_kept_stays(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 33;
    open_small(geteuid());
    start_epoch(1);
    event_packet(&pair, make_header(&pair, MCP_ARRIVE, 1, 0, 1), &random);
    mcp_kernel_group_forget(kernel, pair.key); /* one that a test before has closed */
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

/* One whose failure no doorbell has told of: peers who ask hear it, once it is closed. */
void who_fails_unheard_is_kept_so(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 34;
    open_small(geteuid());
    start_epoch(1);
    assert_true(mcp_kernel_group_close(kernel, pair.key, true));
    assert_int_equal(mcp_group_fail(pair.group, pair.plan.node), MCP_RECORDED);
    event_late(&pair, make_header(&pair, MCP_ASK, 1, 0, 1), &random);
    close_pair(&pair);
}
