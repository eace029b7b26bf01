/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules the batches in which a contest (contest.h) is continued while its result is provisional
 * and batches are left. The next batch starts after a number of calls, the pause. Unless the time
 * for measuring is limited, each pause is 1.5 times as long as the previous one.
 *
 * If that time is limited, each batch must be affordable (expense.h). Then the pause is constant,
 * and is doubled only when a batch is not affordable. In this case batches continue until the
 * result has sufficient confidence, or all rounds are complete.
 *
 * On a slow machine the agreement of the ranks may take longer than a whole batch, so that no
 * sample fits into it. The next batch is then twice as long, so that every contest completes its
 * rounds eventually.
 *
 * tune.c and trial.c use it. Its functions depend on their arguments only. All ranks count the same
 * calls, and have the same values after a batch, so they make the same decisions. */
#ifndef NICBARR_BATCHES_H
#define NICBARR_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"

struct nicbarr_batches {
    int finished;          /* number of batches that were run */
    double budget_us;      /* budget of the first batch, raised while it is too short */
    int progress;          /* progress of the contest */
    uint32_t pause, until; /* number of calls between two batches, and until the next one */
    uint32_t least;        /* minimum of `pause` if each batch must be affordable; else 0 */
};

/* Initialise the schedule of a contest that has begun in call number `tune_after`. The first pause
 * has half as many calls, but at least 10. `limited`: each batch must be affordable. */
void nicbarr_batches_begin(struct nicbarr_batches *batches, double budget_us, int tune_after,
                           bool limited);

/* Returns the budget of the next batch (microseconds). */
double nicbarr_batches_next_us(const struct nicbarr_batches *batches);

/* Record that a batch was run. */
void nicbarr_batches_record(struct nicbarr_batches *batches, const struct nicbarr_contest *contest);

/* Returns whether another batch is to follow. */
bool nicbarr_batches_left(const struct nicbarr_batches *batches,
                          const struct nicbarr_contest *contest);

/* Start counting the calls until the next batch. */
void nicbarr_batches_pause(struct nicbarr_batches *batches);
/* Double the pause until the next attempt, because the batch was not affordable. */
void nicbarr_batches_postpone(struct nicbarr_batches *batches);
/* Count a call. Returns whether the next batch is due. */
bool nicbarr_batches_due(struct nicbarr_batches *batches);

#endif
