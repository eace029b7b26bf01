/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests quantiles and the rank test. A failure means that measurements choose slower algorithms,
 * and that reports show wrong medians.
 *
 * Invariants: the q-quantile of n samples is the value at position q (n - 1) of the sorted samples,
 * interpolated between its neighbours. The rank test returns which fraction of all assignments of
 * signs to the differences is at least as extreme as the actual one.
 */
#include <math.h>

#include "coll_nicbarr/choice/statistics.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* All values here are exact binary fractions. */
static void expect(double *samples, size_t count, double q1, double median, double q3)
{
    const struct nicbarr_quartiles is = nicbarr_quartiles(samples, count);
    if (is.q1 != q1 || is.median != median || is.q3 != q3) {
        fail_msg("%zu samples: %g %g %g instead of %g %g %g", count, is.q1, is.median, is.q3, q1,
                 median, q3);
    }
    for (size_t i = 1; i < count; ++i) {
        assert_true(samples[i - 1] <= samples[i]);
    }
}

TEST(hand_computed)
{
    expect(NULL, 0, 0, 0, 0);
    expect((double[]){7}, 1, 7, 7, 7);
    expect((double[]){4, 0}, 2, 1, 2, 3);
    expect((double[]){3, 1, 2}, 3, 1.5, 2, 2.5);
    expect((double[]){8, 2, 6, 4}, 4, 3.5, 5, 6.5);
    expect((double[]){5, 1, 4, 2, 3}, 5, 2, 3, 4);
    expect((double[]){-1, 1000, -1, -1, -1}, 5, -1, -1, -1);
    expect((double[]){0.5, 0.25, 0.25, 0.5}, 4, 0.25, 0.375, 0.5);
}

/* The order of samples is irrelevant, and an outlier does not move the median. */
TEST(any_order)
{
    uint64_t random = crew_seed();
    double samples[101];
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 101; ++i) {
            samples[i] = i;
        }
        for (uint32_t i = 100; i > 0; --i) {
            const uint32_t j = crew_below(&random, i + 1);
            const double swap = samples[i];
            samples[i] = samples[j];
            samples[j] = swap;
        }
        for (int i = 0; i < 101; ++i) {
            samples[i] = 100 == samples[i] ? 1e12 : samples[i];
        }
        expect(samples, 101, 25, 50, 75);
    }
}

/* ---- the rank test ---- */

/* A pair whose ratio is 1 + step / 64 or the inverse. Differences of the same step are bitwise
 * equal, if both sides are scaled by powers of two. */
static void make_pair(int step, bool positive, double scale, double *left, double *right)
{
    *left = scale * (positive ? 64 + step : 64);
    *right = scale * (positive ? 64 : 64 + step);
}

/* Returns twice the rank of steps[i], by definition: one for each smaller step, and half for
 * each equal one. */
static int twice_rank(const int *steps, int count, int i)
{
    int rank = 1;
    for (int j = 0; j < count; ++j) {
        rank += steps[j] < steps[i] ? 2 : steps[j] == steps[i] ? 1 : 0;
    }
    return rank;
}

/* Compare the rank test with an enumeration, for all signs of these steps. */
static void enumerate(const int *steps, int count, uint64_t *random)
{
    static int sum[1 << 10];
    for (int signs = 0; signs < 1 << count; ++signs) {
        sum[signs] = 0;
        for (int i = 0; i < count; ++i) {
            sum[signs] += signs >> i & 1 ? twice_rank(steps, count, i) : 0;
        }
    }
    for (int signs = 0; signs < 1 << count; ++signs) {
        double left[12], right[12];
        int pairs = 0, as_extreme = 0;
        for (int i = 0; i < count; ++i) {
            make_pair(steps[i], signs >> i & 1, 1 << crew_below(random, 8), &left[pairs],
                      &right[pairs]);
            ++pairs;
        }
        if (0 == crew_below(random, 2)) { /* a tie is ignored */
            left[pairs] = right[pairs] = 5;
            ++pairs;
        }
        for (int other = 0; other < 1 << count; ++other) {
            as_extreme += sum[other] <= sum[signs];
        }
        const double expected = (double)as_extreme / (1 << count);
        const double is = nicbarr_rank_test(left, right, (size_t)pairs, 1);
        if (fabs(is - expected) > 1e-12) {
            fail_msg("%d pairs, signs %x: %g instead of %g", count, signs, is, expected);
        }
    }
}

TEST(all_signs)
{
    uint64_t random = crew_seed();
    const int apart[] = {3, 9, 1, 4, 20, 8, 17, 2, 30}, equal[] = {5, 5, 5, 5, 5, 5, 5, 5, 5};
    for (int count = 0; count <= 9; ++count) {
        enumerate(apart, count, &random);
        enumerate(equal, count, &random);
    }
    for (int round = 0; round < 100; ++round) {
        int steps[8];
        for (int i = 0; i < 8; ++i) {
            steps[i] = 1 + (int)crew_below(&random, 6);
        }
        enumerate(steps, 8, &random);
    }
}

/* The factor scales one side. If all differences have the same sign, the probability is 2^-n. */
TEST(factor)
{
    double left[NICBARR_PAIRS], right[NICBARR_PAIRS];
    for (int i = 0; i < NICBARR_PAIRS; ++i) {
        right[i] = 1 + i;
        left[i] = (1.02 + 0.0001 * i) * right[i];
    }
    for (size_t count = 1; count <= NICBARR_PAIRS; ++count) {
        assert_true(1 == nicbarr_rank_test(left, right, count, 1));
        assert_true(ldexp(1, -(int)count) == nicbarr_rank_test(left, right, count, 1.03));
    }
    assert_true(1 == nicbarr_rank_test(left, right, 0, 1));
    assert_true(1 == nicbarr_rank_test(left, left, NICBARR_PAIRS, 1));
}

/* If the two sides do not differ, the result is at most p with a probability of at most p, and of
 * almost p if there are many pairs. */
TEST(false_alarms)
{
    enum { TRIALS = 4000 };
    uint64_t random = crew_seed();
    int alarms = 0;
    for (int trial = 0; trial < TRIALS; ++trial) {
        double left[NICBARR_PAIRS], right[NICBARR_PAIRS];
        for (int i = 0; i < NICBARR_PAIRS; ++i) {
            left[i] = 1.0 / (1 + crew_below(&random, 1 << 30)); /* with a heavy tail */
            right[i] = 1.0 / (1 + crew_below(&random, 1 << 30));
        }
        alarms += nicbarr_rank_test(left, right, NICBARR_PAIRS, 1) <= 0.05;
    }
    assert_in_range(alarms, 120, 280); /* 200 expected: six standard deviations */
}
