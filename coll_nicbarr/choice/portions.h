/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules the portions, or batches of measurements, in which a contest (contest.h) is continued
 * as long as its result is provisional and there are portions left. The first one follows after
 * some calls, and each pause is 1.5 times as long as the previous one, unless the time for
 * measuring is limited.
 *
 * If it is limited, each portion must also be affordable (expense.h), so pauses have a constant
 * length, and double only while a portion is not affordable. Then portions continue until the
 * result has sufficient confidence, or all rounds are complete.
 *
 * If the agreement of the ranks takes longer than a portion, no turn fits into the portion. Then
 * the next portion is twice as long, so that a contest completes rounds even on the slowest
 * machine.
 *
 * Used by tune.c and trial.c. Pure. All ranks count the same calls, and have the same values after
 * a portion, so they make the same decisions. */
#ifndef NICBARR_PORTIONS_H
#define NICBARR_PORTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"

struct nicbarr_portions {
    int played;
    double budget_us;      /* budget of the first portion, raised while it is too short */
    int place;             /* progress of the contest */
    uint32_t pause, until; /* number of calls between two portions, and until the next one */
    uint32_t least;        /* minimum of `pause` if each portion must be affordable; else 0 */
};

/* Initialise the schedule of a contest that has begun in call number `tune_after`. The first pause
 * has half as many calls, but at least 10. `limited`: each portion must be affordable. */
void nicbarr_portions_begin(struct nicbarr_portions *portions, double budget_us, int tune_after,
                            bool limited);

/* Returns the budget of the next portion (microseconds). */
double nicbarr_portions_next_us(const struct nicbarr_portions *portions);

/* Record that a portion was run. */
void nicbarr_portions_note(struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* Returns whether another portion is to follow. */
bool nicbarr_portions_left(const struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest);

/* Start counting the calls until the next portion. */
void nicbarr_portions_pause(struct nicbarr_portions *portions);
/* Double the pause until the next attempt, because the portion was not affordable. */
void nicbarr_portions_put_off(struct nicbarr_portions *portions);
/* Count a call. Returns whether the next portion is due. */
bool nicbarr_portions_due(struct nicbarr_portions *portions);

#endif
