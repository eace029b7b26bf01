/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the evaluation of cached measurements (coll_nicbarr/choice/evidence.c). A failure means
 * that jobs use a slower algorithm although the cache has measurements that show a faster one.
 *
 * Invariants:
 *
 * - A single measurement yields the choice and confidence of its tuning run.
 * - Correct measurements outvote a wrong one, and until then the result is uncertain.
 * - Old measurements have less weight, and do not remain certain.
 * - The result depends neither on the speed of the machines nor on the order of the measurements.
 */
#include <math.h>

#include "coll_nicbarr/choice/evidence.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { DAY = 86400, HALF = NICBARR_EVIDENCE_DAYS * DAY, NOW = 2000000000 };
static const char *const names[] = {"openmpi", "flags:4", "pairwise", "tree:4"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static struct nicbarr_evidence evidence;
static struct nicbarr_finding finding;

/* Add a measurement. A time of 0 means that the candidate was not measured. */
static void add(int64_t age, double confidence, uint32_t rounds, const double us[NAMES])
{
    struct nicbarr_measurement *m = &evidence.of[evidence.count++];
    *m = (struct nicbarr_measurement){.when = NOW - age, .confidence = confidence};
    for (uint32_t n = 0; n < NAMES; ++n) {
        if (us[n] > 0) {
            strcpy(m->of[m->count].name, names[n]);
            m->of[m->count].rounds = rounds;
            m->of[m->count++].us = (struct nicbarr_quartiles){us[n] / 2, us[n], 2 * us[n]};
        }
    }
}

static const double tree_best[NAMES] = {200, 180, 268, 150},
                    pairwise_best[NAMES] = {100, 90, 60, 85};

static void weigh(const char *name, bool sure)
{
    assert_true(nicbarr_evidence_conclude(&evidence, NOW, &finding));
    assert_string_equal(finding.name, name);
    assert_true(finding.confidence >= 0 && finding.confidence <= 1);
    assert_int_equal(finding.sure, sure);
}

static int begin(void **state)
{
    (void)state;
    evidence.count = 0;
    return 0;
}

static bool close_to(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

#define EVIDENCE_TEST(name) TEST_IN(name, begin, NULL)

EVIDENCE_TEST(weights)
{
    assert_true(close_to(nicbarr_evidence_weight(NOW, NOW), 1));
    assert_true(close_to(nicbarr_evidence_weight(NOW - HALF, NOW), 0.5));
    assert_true(close_to(nicbarr_evidence_weight(NOW - 2 * HALF, NOW), 0.25));
    assert_true(close_to(nicbarr_evidence_weight(NOW + HALF, NOW), 0.5)); /* the clock was wrong */
    assert_true(0 ==
                nicbarr_evidence_weight(NOW - (int64_t)HALF * NICBARR_EVIDENCE_FORGOTTEN, NOW));
    assert_true(0 == nicbarr_evidence_weight(INT64_MIN, INT64_MAX));
}

EVIDENCE_TEST(nothing)
{
    assert_false(nicbarr_evidence_conclude(&evidence, NOW, &finding));
    add((int64_t)HALF * NICBARR_EVIDENCE_FORGOTTEN, 1, 9, tree_best);
    assert_false(nicbarr_evidence_conclude(&evidence, NOW, &finding));
}

/* A single measurement has the confidence of its tuning run, but never full confidence. */
EVIDENCE_TEST(single_measurement)
{
    static const double stated[] = {0, 0.5, 0.9, 0.94, 0.96, 0.99, 1};
    static const double expected[] = {0.5, 0.5, 0.9, 0.94, 0.96, 0.99, 0.99};
    for (size_t i = 0; i < sizeof(stated) / sizeof(stated[0]); ++i) {
        evidence.count = 0;
        add(0, stated[i], 9, tree_best);
        weigh("tree:4", expected[i] >= NICBARR_CONTEST_SURE);
        assert_true(close_to(finding.confidence, expected[i]));
    }
}

EVIDENCE_TEST(dropped_candidate)
{
    add(0, 1, 9, tree_best); /* the machine became slower after flags:4 was dropped */
    evidence.of[0].of[1].rounds = 3;
    evidence.of[0].of[1].us.median = 10;
    weigh("tree:4", true);
}

/* Measurements that are added to the previous ones, and the finding after each of them. */
EVIDENCE_TEST(several_measurements)
{
    const struct {
        int first, times; /* discards the previous ones; number of equal measurements */
        int64_t age;
        double confidence;
        uint32_t rounds;
        const double *us;
        const char *name;
        bool sure;
    } cases[] = {
        /* The simplest candidate within 3 % of the fastest is chosen. */
        {1, 1, 0, 1, 9, (double[]){103.1, 102.9, 101, 100}, "flags:4", true},
        {0, 1, 0, 1, 9, (double[]){103.1, 103.3, 101, 100}, "pairwise", true},
        /* A choice made during a disturbance is outvoted; until then two jobs disagree. */
        {1, 1, 10 * DAY, 1, 9, pairwise_best, "pairwise", true},
        {0, 1, 5 * DAY, 1, 60, tree_best, "tree:4", false},
        {0, 1, 1 * DAY, 1, 60, tree_best, "tree:4", true},
        /* Jobs that were uncertain, but agree, are certain together. */
        {1, 1, 0, 0.875, 3, tree_best, "tree:4", false},
        {0, 1, 0, 0.875, 3, tree_best, "tree:4", true},
        {0, 1, 0, 0.875, 3, pairwise_best, "tree:4", false},
        /* Old measurements become uncertain: after three months a single one does, but not two that
         * agree, and eight are still certain after nine months. Recent ones have more weight. */
        {1, 1, HALF / 2, 1, 9, tree_best, "tree:4", true},
        {1, 1, HALF, 1, 9, tree_best, "tree:4", false},
        {0, 1, HALF, 1, 9, tree_best, "tree:4", true},
        {1, 8, 3 * (int64_t)HALF, 1, 9, tree_best, "tree:4", true},
        {0, 1, 0, 1, 27, pairwise_best, "pairwise", false},
        /* A candidate that few jobs have measured is not chosen, even if it was fast there. */
        {1, 1, 0, 1, 60, (double[]){200, 180, 0, 150}, "tree:4", true},
        {0, 1, 0, 1, 9, (double[]){200, 180, 20, 150}, "tree:4", false},
        {0, 1, 0, 1, 60, (double[]){200, 180, 20, 150}, "pairwise", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        evidence.count = cases[i].first ? 0 : evidence.count;
        for (int n = 0; n < cases[i].times; ++n) {
            add(cases[i].age, cases[i].confidence, cases[i].rounds, cases[i].us);
        }
        print_message("case %zu\n", i);
        weigh(cases[i].name, cases[i].sure);
    }
}

/* The result depends neither on the machines' speeds nor on the order. (Ties are improbable with
 * random numbers.) */
EVIDENCE_TEST(invariances)
{
    uint64_t random = crew_seed();
    for (int trial = 0; trial < 2000; ++trial) {
        evidence.count = 0;
        const uint32_t count = 1 + crew_below(&random, NICBARR_EVIDENCE_MOST);
        for (uint32_t i = 0; i < count; ++i) {
            double us[NAMES];
            for (uint32_t n = 0; n < NAMES; ++n) {
                us[n] = 1 + crew_below(&random, 1000);
            }
            add(crew_below(&random, 2 * HALF), crew_below(&random, 101) / 100.0,
                3 * (1 + crew_below(&random, 20)), us);
        }
        assert_true(nicbarr_evidence_conclude(&evidence, NOW, &finding));
        const struct nicbarr_finding before = finding;
        for (uint32_t i = 0; i < count; ++i) {
            struct nicbarr_measurement *one = &evidence.of[i];
            struct nicbarr_measurement *other = &evidence.of[crew_below(&random, count)];
            const struct nicbarr_measurement kept = *one;
            *one = *other;
            *other = kept;
            for (uint32_t n = 0; n < one->count; ++n) {
                one->of[n].us.median *= 2; /* exact */
            }
        }
        assert_true(nicbarr_evidence_conclude(&evidence, NOW, &finding));
        assert_string_equal(finding.name, before.name);
        assert_true(close_to(finding.confidence, before.confidence));
    }
}
