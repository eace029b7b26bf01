/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules the batches in which a contest (contest.h) is continued as long as its result is
 * provisional. The pause between two batches is counted in calls of the program. Each pause is 1.5
 * times as long as the previous one, unless the user has limited the time for measuring
 * (coll_nicbarr_tune_share).
 *
 * If this time is limited, a batch is run only when all ranks can afford it (expense.h). All pauses
 * then have the same length, except that the pause is doubled whenever a batch is not affordable.
 * Batches continue until the result has sufficient confidence, or all rounds are complete.
 *
 * On a slow machine, it may take the ranks longer to agree on a single result than a whole batch is
 * allowed to take, so that no sample fits into the batch. The budget is then doubled for all
 * further batches, so every contest completes its rounds eventually.
 *
 * Called by tune.c and trial.c. The functions depend on their arguments only. All ranks count the
 * same calls and have the same measurements after a batch, so they make the same decisions. */
#ifndef NICBARR_BATCHES_H
#define NICBARR_BATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "coll_nicbarr/choice/contest.h"

struct nicbarr_batches {
    int finished;          /* number of batches that were run */
    double budget_us;      /* budget of the first batch, raised while it is too short */
    int progress;          /* progress of the contest after the latest batch */
    uint32_t pause, until; /* number of calls between two batches, and until the next one */
    uint32_t least;        /* minimum of `pause` if each batch must be affordable; else 0 */
};

/* Initialise the schedule of a contest that began after `tune_after` calls. The first pause is half
 * of `tune_after`, but at least 10 calls. `limited` states whether each batch must be affordable.
 */
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
