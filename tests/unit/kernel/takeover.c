/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that groups, releases and buffers survive when another owner takes over the NIC in the
 * middle of epochs, because otherwise jobs hang.
 */
#include <arpa/inet.h>
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* Let the owner die, and the next one take over. */
static void take_over(void)
{
    const struct mcp_ip own = address_of(ip_of(OWN));
    char why[MCP_KERNEL_WHY], warning[MCP_KERNEL_WHY];
    mcp_kernel_leave(kernel);
    if (mcp_kernel_load_kept(&own, htons(PORT), &kernel, warning, why) < 0 ||
        mcp_kernel_attach(kernel, why) < 0) {
        fail_msg("%s", why);
    }
    assert_string_equal(warning, "");
    assert_true(mcp_kernel_taken(kernel));
}

static bool is_kept(void)
{
    if (!mcp_pins_there(mcp_kernel_pins(kernel))) {
        print_message("no BPF file system to pin the NIC in\n");
        return false;
    }
    return true;
}

/* Check that the new owner knows the pair's group as it was opened. */
static void expect_recalled(void)
{
    struct mcp_kernel_recalled recalled;
    uint64_t key = 0;
    assert_true(mcp_kernel_next_group(kernel, &key));
    assert_int_equal(key, pair.key);
    assert_true(mcp_kernel_recall(kernel, key, &recalled));
    assert_memory_equal(&recalled.plan, &pair.plan, sizeof(recalled.plan));
    assert_true(recalled.seen.page >= 0);
    assert_int_equal(recalled.seen.buffer >= 0, NULL != pair.buffer);
    assert_false(recalled.failed || recalled.leaves);
    assert_false(mcp_kernel_next_group(kernel, &key));
}

/* Each epoch is started under one owner and completed under the next. */
static void play_on(uint32_t epochs)
{
    for (uint32_t epoch = 1; epoch <= epochs; ++epoch) {
        const struct mcp_header message = make_header(&pair, MCP_ARRIVE, epoch, 0, 1);
        start_epoch(epoch);
        take_over();
        expect_recalled();
        receive_here(&pair, &message);
        inject_collective(1, &message);
        expect_same(&pair);
        assert_int_equal(done(&pair), epoch);
    }
}

TEST(the_next_owner_takes_over)
{
    enum { EPOCHS = 3 };
    if (!is_kept()) {
        skip();
    }
    open_small(geteuid());
    play_on(EPOCHS);
    close_pair(&pair);
    expect_nothing_more();
}

/* The indices of groups, the owners of buffers, and closed groups survive. */
TEST(indices_and_owners_survive)
{
    enum { BYTES = 64 };
    struct mcp_kernel_late late;
    uint64_t key = 0;
    if (!is_kept()) {
        skip();
    }
    open_small_with_data(BYTES);
    take_over();
    expect_recalled();
    const uint64_t first = pair.key;
    const struct pair before = pair;
    memset(&pair, 0, sizeof(pair));
    open_small_with_window(BYTES); /* it gets no line and no buffer that is in use */
    assert_ptr_not_equal(before.line, pair.line);
    take_over();
    struct mcp_kernel_recalled one, other;
    assert_true(mcp_kernel_recall(kernel, first, &one));
    assert_true(mcp_kernel_recall(kernel, pair.key, &other));
    assert_int_not_equal(one.seen.number, other.seen.number);
    assert_int_not_equal(one.seen.buffer, other.seen.buffer);
    assert_true(one.seen.page != other.seen.page || one.seen.line != other.seen.line);
    close_pair(&pair);
    const uint64_t second = pair.key;
    pair = before;
    close_pair(&pair);
    take_over();
    assert_false(mcp_kernel_next_group(kernel, &key));
    uint32_t found = 0;
    while (mcp_kernel_next_late(kernel, &key, &late)) {
        found += first == key || second == key;
        if (first == key || second == key) {
            assert_int_equal(late.uid, geteuid());
        }
    }
    assert_int_equal(found, 2);
}
