/* SPDX-License-Identifier: BSD-3-Clause */
/* See batches.h. */
#include "coll_nicbarr/choice/batches.h"

#include "coll_nicbarr/choice/remeasure.h"

enum { LEAST_PAUSE = 10 /* calls */ };

/* Returns a value that grows with each sample of the contest. */
static int progress_of(const struct nicbarr_contest *contest)
{
    return (contest->rounds + contest->preliminary_done) * NICBARR_CONTESTANTS + contest->next;
}

void nicbarr_batches_begin(struct nicbarr_batches *batches, double budget_us, int tune_after,
                           bool limited)
{
    *batches = (struct nicbarr_batches){.budget_us = budget_us, .pause = LEAST_PAUSE};
    if (tune_after / 2 > LEAST_PAUSE) {
        batches->pause = (uint32_t)tune_after / 2;
    }
    batches->least = limited ? batches->pause : 0;
}

double nicbarr_batches_next_us(const struct nicbarr_batches *batches)
{
    return nicbarr_contest_batch_us(batches->finished, batches->budget_us);
}

void nicbarr_batches_record(struct nicbarr_batches *batches, const struct nicbarr_contest *contest)
{
    const int progress = progress_of(contest);
    batches->budget_us *= progress == batches->progress ? 2 : 1;
    batches->progress = progress;
    ++batches->finished;
}

bool nicbarr_batches_left(const struct nicbarr_batches *batches,
                          const struct nicbarr_contest *contest)
{
    return 0 == batches->least ? nicbarr_contest_wants_batch(contest, batches->finished)
                               : contest->provisional && nicbarr_contest_has_samples(contest);
}

void nicbarr_batches_pause(struct nicbarr_batches *batches)
{
    if (0 != batches->least) {
        batches->until = batches->pause = batches->least;
        return;
    }
    batches->until = batches->pause;
    batches->pause += batches->pause / 2;
}

void nicbarr_batches_postpone(struct nicbarr_batches *batches)
{
    batches->until = nicbarr_remeasure_postpone(&batches->pause);
}

bool nicbarr_batches_due(struct nicbarr_batches *batches)
{
    const bool due = 0 == batches->until;
    batches->until -= !due;
    return due;
}
