/* SPDX-License-Identifier: BSD-3-Clause */
/* See evidence.h. */
#include "coll_nicbarr/choice/evidence.h"

#include <math.h>
#include <string.h>

/* Candidates within a factor of `tie` of the best count as equal. A candidate that was dropped from
 * a contest was measured in few rounds, perhaps while the machine was faster. It therefore counts
 * as slower than the best by a factor of at least `left_behind`. */
static const double tie = 1.03, left_behind = 1.25;

/* Upper limit of one job's confidence, so that a single job cannot outweigh all others. */
static const double most_confidence = 0.99;

double nicbarr_evidence_weight(int64_t when, int64_t now)
{
    const double days = fabs((double)now - (double)when) / 86400;
    const double halvings = days / NICBARR_EVIDENCE_DAYS;
    return halvings < NICBARR_EVIDENCE_FORGOTTEN ? exp2(-halvings) : 0;
}

/* ---- one measurement ---- */

/* Returns the index of a candidate in the measurement, or -1. */
static int find_candidate(const struct nicbarr_measurement *m, const char *name)
{
    for (uint32_t c = 0; c < m->count; ++c) {
        if (0 == strcmp(m->of[c].name, name)) {
            return (int)c;
        }
    }
    return -1;
}

static bool was_dropped(const struct nicbarr_measurement *m, uint32_t c)
{
    return m->of[c].rounds < m->of[0].rounds;
}

static double best_us(const struct nicbarr_measurement *m)
{
    double best = m->of[0].us.median;
    for (uint32_t c = 1; c < m->count; ++c) {
        best = !was_dropped(m, c) && m->of[c].us.median < best ? m->of[c].us.median : best;
    }
    return best;
}

/* Returns the candidate's time in microseconds, corrected if it was dropped. */
static double corrected_us(const struct nicbarr_measurement *m, uint32_t c)
{
    const double least = left_behind * best_us(m), us = m->of[c].us.median;
    return was_dropped(m, c) && us < least ? least : us;
}

/* ---- all measurements ---- */

/* Returns the measurement with the most candidates. All measurements are evaluated for its
 * candidates, in its order, which begins with the simplest. */
static const struct nicbarr_measurement *
fullest_measurement(const struct nicbarr_evidence *evidence)
{
    const struct nicbarr_measurement *full = &evidence->of[0];
    for (uint32_t i = 1; i < evidence->count; ++i) {
        full = evidence->of[i].count > full->count ? &evidence->of[i] : full;
    }
    return full;
}

/* Returns the logarithm of a candidate's time relative to the reference, or infinity if less than
 * half of the evidence contains the candidate. */
static double relative_log(const struct nicbarr_evidence *evidence, int64_t now, const char *name)
{
    double all = 0, known = 0, sum = 0;
    for (uint32_t i = 0; i < evidence->count; ++i) {
        const struct nicbarr_measurement *m = &evidence->of[i];
        const double weight = m->of[0].rounds * nicbarr_evidence_weight(m->when, now);
        const int c = find_candidate(m, name);
        all += weight;
        if (c >= 0) {
            known += weight;
            sum += weight * log(corrected_us(m, (uint32_t)c) / m->of[0].us.median);
        }
    }
    return known > 0 && 2 * known >= all ? sum / known : INFINITY;
}

/* Returns the combined confidence that the candidate is within `tie` of the best. */
static double combined_confidence(const struct nicbarr_evidence *evidence, int64_t now,
                                  const char *name)
{
    double odds = 0; /* log-odds */
    for (uint32_t i = 0; i < evidence->count; ++i) {
        const struct nicbarr_measurement *m = &evidence->of[i];
        const double sure = fmin(m->confidence, most_confidence);
        const int c = find_candidate(m, name);
        if (c >= 0 && sure > 0.5) {
            const double contribution =
                log(sure / (1 - sure)) * nicbarr_evidence_weight(m->when, now);
            odds += corrected_us(m, (uint32_t)c) <= tie * best_us(m) ? contribution : -contribution;
        }
    }
    return 1 / (1 + exp(-odds));
}

bool nicbarr_evidence_conclude(const struct nicbarr_evidence *evidence, int64_t now,
                               struct nicbarr_finding *finding)
{
    if (0 == evidence->count) {
        return false;
    }
    const struct nicbarr_measurement *list = fullest_measurement(evidence);
    double figures[NICBARR_CONTESTANTS], best = INFINITY;
    for (uint32_t c = 0; c < list->count; ++c) {
        figures[c] = relative_log(evidence, now, list->of[c].name);
        best = fmin(best, figures[c]);
    }
    uint32_t chosen = 0;
    while (chosen < list->count && !(figures[chosen] <= best + log(tie))) {
        ++chosen;
    }
    if (isinf(best) || chosen == list->count) {
        return false;
    }
    memcpy(finding->name, list->of[chosen].name, sizeof(finding->name));
    finding->confidence = combined_confidence(evidence, now, finding->name);
    finding->sure = finding->confidence >= NICBARR_CONTEST_SURE;
    return true;
}
