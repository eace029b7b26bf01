/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that the program in the kernel behaves like the engine in user space, for random events and
 * for the largest groups.
 */
#include <unistd.h>

#include "coll_nicbarr/schedule.h"
#include "tests/unit/crew.h"
#include "tests/unit/kernel/events.h"
#include "tests/unit/kernel/expected.h"
#include "tests/unit/kernel/packets.h"
#include "tests/unit/kernel/plans.h"
#include "tests/unit/kernel/reference.h"
#include "tests/unit/kernel/small.h"
#include "tests/unit/test.h"

enum {
    TRACES = 60,
    EVENTS = 80,
};

TEST(traces_of_schedules)
{
    uint64_t random = crew_seed();
    for (uint32_t t = 0; t < TRACES; ++t) {
        plan_schedule(&pair.plan, 0 != t % 2, &random);
        play_trace(&pair, EVENTS, &random);
    }
}

TEST(traces_of_broadcasts)
{
    uint64_t random = crew_seed() + 16;
    for (uint32_t t = 0; t < TRACES / 2; ++t) {
        const struct nicbarr_among asked = {{NICBARR_DISSEMINATION, 1 + crew_below(&random, 3), 0},
                                            2 + crew_below(&random, MOST_NODES - 1)};
        plan_broadcasts(&pair.plan, &asked, crew_below(&random, asked.size),
                        MCP_BLOCK_UNIT + some_bytes(&random) % MCP_PAYLOAD_MOST);
        play_trace(&pair, 4 * EVENTS, &random);
    }
}

TEST(traces_of_any_tables)
{
    uint64_t random = crew_seed() + 1;
    for (uint32_t t = 0; t < TRACES / 3; ++t) {
        plan_anything(&pair.plan, 0 == t % 2, &random);
        if (1 == t / 2 % 3) {
            carry_anything(&pair.plan, &random);
        } else if (2 == t / 2 % 3) {
            broadcast_anything(&pair.plan, &random);
        }
        play_trace(&pair, 4 * EVENTS, &random);
    }
}

/* Plan the greatest tables, with all messages in the first or the last step. */
static void plan_greatest(struct mcp_kernel_plan *plan, bool waits_first, uint64_t *random)
{
    plan_anything(plan, true, random);
    memset(plan->steps, 0, sizeof(plan->steps));
    plan->steps[waits_first ? MCP_KERNEL_STEPS - 1 : 0].sends = MCP_KERNEL_MESSAGES;
    plan->steps[waits_first ? 0 : MCP_KERNEL_STEPS - 1].waits = MCP_KERNEL_MESSAGES;
}

/* The largest effects of single events: all messages are requested, and two epochs are completed at
 * once, because messages of the second epoch imply those of the first one. */
TEST(all_at_once)
{
    uint64_t random = crew_seed() + 4;
    for (int waits_first = 0; waits_first < 2; ++waits_first) {
        plan_greatest(&pair.plan, waits_first, &random);
        open_pair(&pair, geteuid(), &random);
        mcp_group_start(pair.group, 2);
        play_here(&pair);
        ring(pair.bell, pair.key, MCP_RING_START, 1);
        ring(pair.bell, pair.key, MCP_RING_START, 2);
        expect_same(&pair);
        ask_here(&pair);
        assert_int_equal(nsent, MCP_KERNEL_MESSAGES);
        ring(pair.bell, pair.key, MCP_RING_ASK, 2);
        expect_same(&pair);
        for (uint32_t w = MCP_KERNEL_MESSAGES; w-- > 0;) {
            const uint64_t before = count.packets_sent;
            event_packet(&pair, make_header(&pair, MCP_ARRIVE, 2, w, 0), &random);
            assert_int_equal(count.packets_sent - before,
                             w > 0 ? 0 : MCP_KERNEL_MESSAGES * (waits_first ? 2 : 1));
        }
        assert_int_equal(done(&pair), 2);
        expect_nothing_more();
        close_pair(&pair);
    }
}
