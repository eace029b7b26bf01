/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the timeouts after which a NIC sends ASKs, its retransmission requests. A failure means
 * that hosts flood the network with ASKs, or that a lost packet delays a barrier far longer than
 * necessary.
 *
 * Invariants: no ASK is sent before its timeout; each ASK doubles the next timeout, up to a
 * maximum; the initial timeout, which adapts to the duration of collectives, stays within its
 * bounds.
 */
#include "firmware/backoff.h"
#include "tests/unit/test.h"

#define MICROSECOND UINT64_C(1000)
#define MILLISECOND (1000 * MICROSECOND)

/* Expect the first ASKs at these times, if the clock is read every 100 us. */
static void expect_asks(uint64_t first_ns, const uint64_t *times_us, uint32_t times)
{
    const uint64_t begin_ns = UINT64_C(123456789);
    struct mcp_backoff backoff;
    uint32_t asked = 0;
    mcp_backoff_begin(&backoff, first_ns, begin_ns);
    for (uint64_t now_ns = begin_ns; asked < times; now_ns += 100 * MICROSECOND) {
        if (mcp_backoff_expired(&backoff, now_ns)) {
            assert_int_equal(now_ns - begin_ns, times_us[asked] * MICROSECOND);
            ++asked;
        }
    }
}

TEST(timeouts_double_up_to_a_maximum)
{
    static const uint64_t one[] = {1000, 3000, 7000, 15000, 31000, 63000, 127000, 191000, 255000};
    /* The maximum does not depend on the initial timeout. */
    static const uint64_t learnt[] = {1500, 4500, 10500, 22500, 46500, 94500, 158500, 222500};
    static const uint64_t ten[] = {10000, 30000, 70000, 134000, 198000};
    static const uint64_t longer[] = {100000, 200000, 300000};
    expect_asks(MCP_BACKOFF_NS, one, sizeof(one) / sizeof(one[0]));
    expect_asks(1500 * MICROSECOND, learnt, sizeof(learnt) / sizeof(learnt[0]));
    expect_asks(10 * MILLISECOND, ten, sizeof(ten) / sizeof(ten[0]));
    expect_asks(100 * MILLISECOND, longer, sizeof(longer) / sizeof(longer[0]));
}

/* A host that was descheduled sends one ASK, then continues with the usual timeouts. */
TEST(asks_once_after_a_delay)
{
    struct mcp_backoff backoff;
    mcp_backoff_begin(&backoff, MCP_BACKOFF_NS, 0);
    assert_true(mcp_backoff_expired(&backoff, 1000 * MILLISECOND));
    assert_false(mcp_backoff_expired(&backoff, 1000 * MILLISECOND));
    assert_false(mcp_backoff_expired(&backoff, 1002 * MILLISECOND - 1));
    assert_true(mcp_backoff_expired(&backoff, 1002 * MILLISECOND));
}

TEST(initial_timeout)
{
    static const struct {
        uint64_t usual_us, first_us;
    } cases[] = {{0, 1000}, {50, 1000}, {125, 1000}, {200, 1600}, {1000, 2500}, {100000, 52000}};
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        assert_int_equal(mcp_backoff_initial(cases[i].usual_us * MICROSECOND),
                         cases[i].first_us * MICROSECOND);
    }
}

/* The estimate converges to the duration of the collectives, and a single late host hardly changes
 * it. */
TEST(estimate_converges)
{
    uint64_t usual_ns = 0;
    for (uint32_t i = 0; i < 100; ++i) {
        usual_ns = mcp_backoff_learn(usual_ns, 200 * MICROSECOND);
    }
    assert_in_range(usual_ns, 199 * MICROSECOND, 201 * MICROSECOND);
    usual_ns = mcp_backoff_learn(usual_ns, 10000 * MILLISECOND);
    assert_in_range(usual_ns, 200 * MICROSECOND, 230 * MICROSECOND);
    for (uint32_t i = 0; i < 100; ++i) {
        usual_ns = mcp_backoff_learn(usual_ns, 10 * MICROSECOND);
    }
    assert_in_range(usual_ns, 10 * MICROSECOND, 12 * MICROSECOND);
}
