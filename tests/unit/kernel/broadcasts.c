/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that blocks of every length arrive whole, and that broadcasts which the group does not
 * allow are dropped.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "coll_nicbarr/schedule.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/frames.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

/* For each length, a block in the last slot arrives whole, and no byte after it is written. (A
 * block of 1008 bytes ends exactly at the end of the buffer.) */
TEST(blocks_of_each_length)
{
    uint64_t random = crew_seed() + 22;
    for (uint32_t bytes = MCP_BLOCK_UNIT; bytes <= MCP_PAYLOAD_MOST; bytes += MCP_BLOCK_UNIT) {
        open_small_with_window(bytes);
        const uint32_t last = pair.plan.window - 1;
        event_packet(&pair, make_block(last, bytes, &random), &random);
        assert_int_equal(slot_in(&pair, pair.buffer, last)->number, last);
        event_packet(&pair, make_block(last - 1, bytes, &random), &random);
        assert_int_equal(slot_in(&pair, pair.buffer, last - 1)->number, last - 1);
        close_pair(&pair);
    }
    expect_nothing_more();
}

/* A group without a window drops all broadcast packets, whatever other data it carries. The tree of
 * a root that is not a node of the group could have a cycle of parents, so no ASK for its blocks is
 * sent or answered. */
TEST(broadcasts_of_nobody)
{
    enum { NODES = 5, BYTES = 16 };
    const struct nicbarr_among asked = {{NICBARR_DISSEMINATION, 1, 0}, NODES};
    const uint64_t before = count.packets_sent;
    uint64_t random = crew_seed() + 19;
    open_small_with_data(BYTES);
    for (uint8_t type = MCP_BCAST; type <= MCP_BCAST_LATER; ++type) {
        struct mcp_header header = make_block(1, BYTES, &random);
        header.type = type;
        mcp_seal(&header, &pair.plan.secret, carried, MCP_BCAST == type ? BYTES : 0);
        event_packet(&pair, header, &random);
    }
    ring_with(pair.bell, pair.key, MCP_RING_BCAST, 1, BYTES);
    ring(pair.bell, pair.key, MCP_RING_BCAST_ASK, 1);
    expect_same(&pair);
    close_pair(&pair);
    for (uint32_t node = 0; node < NODES; ++node) {
        plan_broadcasts(&pair.plan, &asked, node, BYTES);
        open_pair(&pair, geteuid(), &random);
        for (uint32_t root = NODES; root < 3 * NODES; ++root) {
            struct mcp_doorbell bell = make_doorbell(pair.key, MCP_RING_BCAST_ASK, 1);
            bell.root = root;
            assert_int_equal(send(pair.bell, &bell, sizeof(bell), 0), sizeof(bell));
            expect_same(&pair);
            for (uint32_t p = 0; p < pair.plan.nsends + pair.plan.nwaits; ++p) {
                const uint32_t peer = pair.plan.peers[p].node;
                event_packet(&pair, make_header(&pair, MCP_BCAST_ASK, 1, root, peer), &random);
                event_packet(&pair, make_header(&pair, MCP_BCAST_LATER, 1, root, peer), &random);
            }
        }
        close_pair(&pair);
    }
    assert_int_equal(count.packets_sent, before);
    expect_nothing_more();
}
