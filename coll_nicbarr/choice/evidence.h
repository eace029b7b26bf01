/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the best choice for one shape and one collective from the measurements of several
 * jobs, and the confidence of this choice. The functions have no state and no side effects. cache.c
 * calls them; cache_file.c stores the measurements.
 *
 * Only measurements are stored, never a choice. If a measurement was disturbed, later ones can
 * therefore correct the result. As measurements lose confidence with age, they are repeated
 * eventually.
 *
 * Weighting. The speed of a machine differs from job to job. Therefore the value of a candidate in
 * a measurement is its median divided by the median of the reference (the first candidate, which is
 * Open MPI's own function). The values of several measurements are combined by a weighted geometric
 * mean. The weight of a measurement is its number of rounds, and is halved every
 * NICBARR_EVIDENCE_DAYS days. The choice is the simplest candidate within 3 % of the best.
 *
 * Confidence. Each measurement contains the confidence of its contest. A measurement in which the
 * candidate is within 3 % of the best supports this candidate, and one in which it is slower
 * contradicts it. (Measurements without the candidate, or with a confidence of at most 0.5, are
 * ignored.) Jobs are assumed to be independent, so the odds of their measurements are multiplied;
 * the logarithm of the odds is halved with age like the weight. As a consequence, two measurements
 * that favour the same candidate with almost sufficient confidence are sufficient together, whereas
 * two measurements that favour different candidates cancel each other out, however confident they
 * are. */
#ifndef NICBARR_EVIDENCE_H
#define NICBARR_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/schedule.h"

enum {
    NICBARR_EVIDENCE_DAYS = 90,     /* half-life of a measurement's weight */
    NICBARR_EVIDENCE_FORGOTTEN = 6, /* half-lives after which a measurement is ignored */
    NICBARR_EVIDENCE_MOST = 32,     /* maximum number of measurements considered, of all files */
};

/* The measurements of one contest. Its candidates are listed in the order of simplicity, beginning
 * with the reference. */
struct nicbarr_measurement {
    int64_t when;      /* seconds since 1970, UTC */
    double confidence; /* confidence of its contest, 0 to 1 */
    uint32_t count;    /* number of candidates, at least 1 */
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
    bool sure;         /* the confidence is sufficient; else the choice must be remeasured */
};

/* Returns the weight, 0 to 1, that a measurement taken at time `when` has at time `now`. It depends
 * on the absolute difference of the two, so a date in the future does not give a measurement more
 * weight. */
double nicbarr_evidence_weight(int64_t when, int64_t now);

/* Compute the choice and its confidence. Returns false if there is no evidence, or all of it is too
 * old to count. */
bool nicbarr_evidence_conclude(const struct nicbarr_evidence *evidence, int64_t now,
                               struct nicbarr_finding *finding);

#endif
