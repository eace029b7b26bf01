/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that a user's doorbells do not reach another user's group, and that each advances the
 * user's own group by at most one epoch.
 */
#include <unistd.h>

#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/network.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

TEST(doorbells_of_others)
{
    open_small(GROUP_USER);
    for (uint8_t what = MCP_RING_START; what <= MCP_RING_BCAST_ASK; ++what) {
        const struct mcp_doorbell doorbell = make_doorbell(pair.key, what, 1);
        ring_by(OTHER_USER, what);
        expect_left(&doorbell, sizeof(doorbell));
        expect_untouched();
    }
    mcp_group_start(pair.group, 1);
    play_here(&pair);
    ring_by(GROUP_USER, MCP_RING_START);
    expect_same(&pair);
    ask_here(&pair);
    ring(pair.bell, pair.key, MCP_RING_ASK, 1); /* the owner of the NIC is permitted to */
    expect_untouched();
    ask_here(&pair);
    assert_int_equal(mcp_kernel_ring(kernel, pair.key, MCP_RING_ASK), 0);
    expect_untouched();
    close_pair(&pair);
}

/* The doorbells name an epoch far ahead. Each of them starts one epoch, whichever it names, and
 * no more than MCP_OUTSTANDING are started before one is complete. */
TEST(a_doorbell_for_each_epoch)
{
    enum { MORE = 10 };
    uint64_t random = crew_seed() + 12;
    open_small(geteuid());
    for (uint32_t r = 1; r <= MCP_OUTSTANDING + MORE; ++r) {
        ring(pair.bell, pair.key, MCP_RING_START, INT32_MAX);
        mcp_group_start(pair.group, r);
    }
    play_here(&pair);
    expect_same(&pair);
    for (uint32_t epoch = 1; epoch <= MCP_OUTSTANDING; ++epoch) {
        event_packet(&pair, make_header(&pair, MCP_ARRIVE, epoch, 0, 1), &random);
    }
    assert_int_equal(done(&pair), MCP_OUTSTANDING);
    assert_false(mcp_group_waits_now(pair.group));
    expect_untouched();
    close_pair(&pair);
}
