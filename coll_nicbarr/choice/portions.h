/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a contest (contest.h) is continued: after some calls, then after half as many again, and so
 * on, as long as its result is provisional and there are portions left.
 *
 * Or each has to be affordable first (expense.h). Then there are as many as it takes to be sure, or
 * until all rounds have been.
 *
 * Where ranks take longer to agree than a portion lasts, no turn fits into it. The next one is
 * twice as long then. So on the slowest machine, too, a contest comes to rounds.
 *
 * tune.c and trial.c ask it. It knows nothing of calls and ranks. All ranks count alike, and hold
 * the same figures after a portion, so they come to the same.
 */
#ifndef NICBARR_PORTIONS_H
#define NICBARR_PORTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"

struct nicbarr_portions {
    int played;
    double budget_us;      /* of the first portion, or as much more as was too little */
    int place;             /* how far the contest has come */
    uint32_t pause, until; /* calls between two portions, calls until the next one */
    uint32_t least;        /* of `pause`, where each is to be affordable; else 0 */
};

/* For a contest that has begun in call number `tune_after`. Half as many are to be between the
 * first two portions, but at least 10. `limited`: each is to be affordable. */
void nicbarr_portions_begin(struct nicbarr_portions *portions, double budget_us, int tune_after,
                            bool limited);

/* The budget of the next one (microseconds). */
double nicbarr_portions_next_us(const struct nicbarr_portions *portions);

/* It has been played. */
void nicbarr_portions_note(struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* Is there to be another one? */
bool nicbarr_portions_left(const struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* From now on calls are counted until then. */
void nicbarr_portions_pause(struct nicbarr_portions *portions);
/* It was not affordable: twice as many calls are counted until it is asked again. */
void nicbarr_portions_put_off(struct nicbarr_portions *portions);
/* One more call: is it time? */
bool nicbarr_portions_due(struct nicbarr_portions *portions);

#endif
