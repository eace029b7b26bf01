/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduling of the portions in which a contest (contest.h) is continued, as long as its result is
 * provisional and there are portions left. The first follows after some calls, and each pause is
 * half as long again as the one before.
 *
 * With a limit, each portion must also be affordable (expense.h). Then there are as many as it
 * takes to be sure, or until all rounds are complete.
 *
 * If it takes the ranks longer to agree than a portion lasts, no turn fits into the portion. Then
 * the next one is twice as long, so that a contest completes rounds even on the slowest machine.
 *
 * tune.c and trial.c use it. It is independent of calls and ranks. All ranks count alike, and have
 * the same values after a portion, so they come to the same decision. */
#ifndef NICBARR_PORTIONS_H
#define NICBARR_PORTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"

struct nicbarr_portions {
    int played;
    double budget_us;      /* of the first portion, raised while it is too short */
    int place;             /* progress of the contest */
    uint32_t pause, until; /* calls between two portions, calls until the next one */
    uint32_t least;        /* minimum of `pause`, if each must be affordable; else 0 */
};

/* For a contest that has begun in call number `tune_after`. The first pause has half as many calls,
 * but at least 10. `limited`: each must be affordable. */
void nicbarr_portions_begin(struct nicbarr_portions *portions, double budget_us, int tune_after,
                            bool limited);

/* The budget of the next one (microseconds). */
double nicbarr_portions_next_us(const struct nicbarr_portions *portions);

/* Record a portion that was played. */
void nicbarr_portions_note(struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* Is there another one? */
bool nicbarr_portions_left(const struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* Start counting the calls until the next one. */
void nicbarr_portions_pause(struct nicbarr_portions *portions);
/* The portion was not affordable: double the pause until the next attempt. */
void nicbarr_portions_put_off(struct nicbarr_portions *portions);
/* Count a call: is the next portion due? */
bool nicbarr_portions_due(struct nicbarr_portions *portions);

#endif
