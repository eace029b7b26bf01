/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurements of several jobs for one shape and one collective, and the conclusion from them.
 * Pure. Called by cache.c; cache_file.c stores the measurements.
 *
 * Only measurements are stored, never a choice. So a later measurement corrects a choice that was
 * made while the machine was disturbed, and old ones are measured again.
 *
 * Weighting. A candidate's value in a measurement is its median relative to that of the reference
 * (the first candidate, Open MPI's own), because the speed of machines differs between jobs. Over
 * several measurements it is the geometric mean, weighted by their rounds, with half the weight for
 * each NICBARR_EVIDENCE_DAYS of age. The simplest candidate within 3 % of the best is taken.
 *
 * Confidence. Each measurement contains the confidence of its contest. One that finds the candidate
 * within 3 % of its best supports it; any other contradicts it. Their odds are multiplied, as those
 * of independent witnesses; the logarithm of the odds halves with age in the same way. So two jobs
 * that were nearly sure of the same candidate are sure together, and two that were sure of
 * different ones are not. */
#ifndef NICBARR_EVIDENCE_H
#define NICBARR_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/schedule.h"

enum {
    NICBARR_EVIDENCE_DAYS = 90,     /* half-life */
    NICBARR_EVIDENCE_FORGOTTEN = 6, /* half-lives after which it counts for nothing */
    NICBARR_EVIDENCE_MOST = 32,     /* measurements taken into account, of all files */
};

/* One contest; its candidates are in the order of simplicity, the reference first. */
struct nicbarr_measurement {
    int64_t when;      /* seconds since 1970, UTC */
    double confidence; /* of its contest, 0 to 1 */
    uint32_t count;    /* at least 1 */
    struct {
        char name[NICBARR_CHOICE_TEXT];
        uint32_t rounds;
        struct nicbarr_quartiles us;
    } of[NICBARR_CONTESTANTS];
};

struct nicbarr_evidence {
    uint32_t count;
    struct nicbarr_measurement of[NICBARR_EVIDENCE_MOST];
};

/* The conclusion. */
struct nicbarr_finding {
    char name[NICBARR_CHOICE_TEXT];
    double confidence; /* 0 to 1 */
    bool sure;         /* sufficient to rely on; else it must be remeasured */
};

/* The weight of a measurement of that time at `now`: 0 to 1. It depends on the absolute difference
 * of the two, so a wrong clock does not make it younger. */
double nicbarr_evidence_weight(int64_t when, int64_t now);

/* Compute the choice and its confidence. False if there is no evidence, or all of it is too old to
 * count. */
bool nicbarr_evidence_weigh(const struct nicbarr_evidence *evidence, int64_t now,
                            struct nicbarr_finding *finding);

#endif
