/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and quartiles against hand-computed ones. Invariant: the q-quantile of n samples is the
 * value at position q (n - 1) of the sorted samples, interpolated between its neighbours.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "coll_nicbarr/statistics.h"
#include "tests/unit/crew.h"

/* All values here are sums of few binary fractions, so they are exact. */
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

static void hand_computed(void **state)
{
    (void)state;
    expect(NULL, 0, 0, 0, 0);
    expect((double[]){7}, 1, 7, 7, 7);
    expect((double[]){4, 0}, 2, 1, 2, 3);
    expect((double[]){3, 1, 2}, 3, 1.5, 2, 2.5);
    expect((double[]){8, 2, 6, 4}, 4, 3.5, 5, 6.5);
    expect((double[]){5, 1, 4, 2, 3}, 5, 2, 3, 4);
    expect((double[]){-1, 1000, -1, -1, -1}, 5, -1, -1, -1);
    expect((double[]){0.5, 0.25, 0.25, 0.5}, 4, 0.25, 0.375, 0.5);
}

/* The samples' order does not count, and one that is far out does not move the median. */
static void any_order(void **state)
{
    (void)state;
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

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_computed),
        cmocka_unit_test(any_order),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}
