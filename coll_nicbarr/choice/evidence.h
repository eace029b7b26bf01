/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What several jobs have measured of one shape and one collective, and what follows from it. Pure.
 * Called by cache.c; cache_file.c keeps the measurements.
 *
 * A choice is never kept, only what was measured. So a choice that was made in a bad minute is put
 * right by the next measurement, and one that nobody has looked at for long is looked at again.
 *
 * How it is weighed. A candidate's figure in a measurement is its median over that of the reference
 * (the first candidate, Open MPI's own), as machines differ in speed from job to job. Over several
 * measurements it is the geometric mean. There a measurement counts for as much as it has rounds,
 * and half of that for each NICBARR_EVIDENCE_DAYS of its age. The simplest candidate is taken that
 * is within 3 % of the best.
 *
 * How sure that is. Each measurement says how sure its contest was. One that finds the candidate
 * within 3 % of its best speaks for it; another one speaks against it. Their odds are multiplied,
 * as those of independent witnesses; the logarithm of the odds halves with age in the same way. So
 * two jobs that were nearly sure of the same are sure together, and two that were sure of different
 * ones are not.
 */
#ifndef NICBARR_EVIDENCE_H
#define NICBARR_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/schedule.h"

enum {
    NICBARR_EVIDENCE_DAYS = 90,     /* after which it counts half */
    NICBARR_EVIDENCE_FORGOTTEN = 6, /* times that: it counts for nothing */
    NICBARR_EVIDENCE_MOST = 32,     /* measurements that are weighed, of all files */
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

/* What follows from it. */
struct nicbarr_finding {
    char name[NICBARR_CHOICE_TEXT];
    double confidence; /* 0 to 1 */
    bool sure;         /* enough to go by it; else it has to be measured anew */
};

/* How much something of that time counts at `now`: 0 to 1. A clock that goes wrong does not make it
 * younger: what counts is how far apart the two are. */
double nicbarr_evidence_weight(int64_t when, int64_t now);

/* Weigh it; false if there is none, or all of it is forgotten. */
bool nicbarr_evidence_weigh(const struct nicbarr_evidence *evidence, int64_t now,
                            struct nicbarr_finding *finding);

#endif
