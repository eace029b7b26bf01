/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests how nicbarr_experiments derives values and model parameters from measured curves. A failure
 * means that these are wrong. The curves here have known results.
 *
 * Invariants: a curve that follows the formula yields its parameters; between points, curves are
 * interpolated linearly; nothing is extrapolated.
 */
#include <math.h>

#include "bench/experiments/fits.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static void expect(double is, double should)
{
    if (!(fabs(is - should) <= 1e-6 * fmax(1, fabs(should)))) {
        fail_msg("%.9g instead of %.9g", is, should);
    }
}

/* ---- efficiency ---- */

/* A barrier that always takes 10: an efficiency of e needs work of 10 e / (1 - e). */
TEST(constant_barrier)
{
    const double work[] = {0, 2, 8, 32, 128}, total[] = {10, 12, 18, 42, 138};
    for (double efficiency = 0.05; efficiency < 0.92; efficiency += 0.05) {
        expect(fits_work_needed(work, total, 5, 1, efficiency), 10 * efficiency / (1 - efficiency));
    }
}

TEST(shared_processors)
{
    /* With three processes on one core, 1 of work takes 3. */
    const double work[] = {0, 10, 100}, total[] = {6, 36, 306};
    expect(fits_work_needed(work, total, 3, 3, 0.5), 2);
    expect(fits_work_needed(work, total, 3, 3, 0.9), 18);
}

TEST(not_reached)
{
    const double work[] = {0, 10}, total[] = {10, 20};
    expect(fits_work_needed(work, total, 2, 1, 0.5), 10);
    assert_true(isnan(fits_work_needed(work, total, 2, 1, 0.51)));
    assert_true(isnan(fits_work_needed(work, total, 1, 1, 0.1)));
}

/* A non-monotonic curve: the first crossing counts, and lies within its interval. */
TEST(bumpy)
{
    const double work[] = {0, 10, 20, 30}, total[] = {10, 15, 60, 40};
    const double needed = fits_work_needed(work, total, 4, 1, 0.5);
    assert_true(needed > 0 && needed < 10);
    uint64_t random = crew_seed();
    for (int round = 0; round < 10000; ++round) {
        double loops[4];
        for (int i = 0; i < 4; ++i) {
            loops[i] = 1 + crew_below(&random, 1000) * 0.1;
        }
        const double efficiency = (1 + crew_below(&random, 99)) * 0.01;
        const double found = fits_work_needed(work, loops, 4, 1, efficiency);
        assert_true(isnan(found) || (found >= 0 && found <= 30));
    }
}

/* ---- work for free ---- */

TEST(within)
{
    const double work[] = {0, 1, 2, 4}, total[] = {10, 10, 10, 14};
    expect(fits_work_within(work, total, 4, 10.5), 2.25);
    expect(fits_work_within(work, total, 4, 12), 3);
    expect(fits_work_within(work, total, 4, 14), 4);
    expect(fits_work_within(work, total, 4, 99), 4);
    expect(fits_work_within(work, total, 1, 10), 0);
    const double dip[] = {10, 12, 9, 20};
    expect(fits_work_within(work, dip, 4, 11), 0.5);
}

/* ---- LoP ---- */

enum { MOST_PEERS = 31 };

static void generate(const struct fits_lop *lop, double *peers, double *rtt)
{
    for (int i = 0; i < MOST_PEERS; ++i) {
        peers[i] = i + 1;
        rtt[i] = fits_lop_rtt(lop, peers[i]);
    }
}

static void expect_curve(const struct fits_lop *lop, const double *peers, const double *rtt,
                         size_t n, double tolerance)
{
    for (size_t i = 0; i < n; ++i) {
        const double model = fits_lop_rtt(lop, peers[i]);
        if (!(fabs(model / rtt[i] - 1) <= tolerance)) {
            fail_msg("RTT(%g) of %zu points: %g instead of %g", peers[i], n, model, rtt[i]);
        }
    }
}

/* The fit goes through any number of points. */
TEST(lop_curves)
{
    static const struct fits_lop curves[] = {
        {4, 0.5, 0, 1}, {4, 0.5, 1.5, 0.2}, {6, 2, -1.5, 0.5}, {0.1, 0.2, 0.6, 2}};
    for (size_t c = 0; c < sizeof(curves) / sizeof(curves[0]); ++c) {
        double peers[MOST_PEERS], rtt[MOST_PEERS];
        generate(&curves[c], peers, rtt);
        for (size_t n = 4; n <= MOST_PEERS; ++n) {
            const struct fits_lop lop = fits_lop(peers, rtt, n);
            expect_curve(&lop, peers, rtt, n, 0.01);
        }
    }
}

/* LogP's straight line yields its own parameters. */
TEST(logp_line)
{
    const struct fits_lop line = {3, 0.75, 0, 1};
    double peers[MOST_PEERS], rtt[MOST_PEERS];
    generate(&line, peers, rtt);
    for (size_t n = 2; n <= MOST_PEERS; ++n) {
        const struct fits_lop lop = fits_lop(peers, rtt, n);
        expect(lop.startup, 3);
        expect(lop.message, 0.75);
        expect(lop.saturation, 0);
    }
}

TEST(few_points)
{
    const double peers[] = {1, 2, 3}, rtt[] = {2, 3, 5};
    struct fits_lop lop = fits_lop(peers, rtt, 1);
    expect(fits_lop_rtt(&lop, 1), 2);
    lop = fits_lop(peers, rtt, 2);
    expect(fits_lop_rtt(&lop, 1), 2);
    expect(fits_lop_rtt(&lop, 2), 3);
    lop = fits_lop(peers, rtt, 3);
    expect(lop.saturation, 0);
    expect_curve(&lop, peers, rtt, 3, 0.2);
}
