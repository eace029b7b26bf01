/* SPDX-License-Identifier: BSD-3-Clause */
/* See portions.h. */
#include "coll_nicbarr/choice/portions.h"

#include "coll_nicbarr/choice/remeasure.h"

enum { LEAST_PAUSE = 10 };

/* Returns a value that grows with each turn of the contest. */
static int place_of(const struct nicbarr_contest *contest)
{
    return (contest->rounds + contest->looked) * NICBARR_CONTESTANTS + contest->next;
}

void nicbarr_portions_begin(struct nicbarr_portions *portions, double budget_us, int tune_after,
                            bool limited)
{
    *portions = (struct nicbarr_portions){.budget_us = budget_us, .pause = LEAST_PAUSE};
    if (tune_after / 2 > LEAST_PAUSE) {
        portions->pause = (uint32_t)tune_after / 2;
    }
    portions->least = limited ? portions->pause : 0;
}

double nicbarr_portions_next_us(const struct nicbarr_portions *portions)
{
    return nicbarr_contest_portion_us(portions->played, portions->budget_us);
}

void nicbarr_portions_note(struct nicbarr_portions *portions, const struct nicbarr_contest *contest)
{
    const int place = place_of(contest);
    portions->budget_us *= place == portions->place ? 2 : 1;
    portions->place = place;
    ++portions->played;
}

bool nicbarr_portions_left(const struct nicbarr_portions *portions,
                           const struct nicbarr_contest *contest)
{
    return 0 == portions->least ? nicbarr_contest_wants(contest, portions->played)
                                : contest->provisional && nicbarr_contest_open(contest);
}

void nicbarr_portions_pause(struct nicbarr_portions *portions)
{
    if (0 != portions->least) {
        portions->until = portions->pause = portions->least;
        return;
    }
    portions->until = portions->pause;
    portions->pause += portions->pause / 2;
}

void nicbarr_portions_put_off(struct nicbarr_portions *portions)
{
    portions->until = nicbarr_remeasure_put_off(&portions->pause);
}

bool nicbarr_portions_due(struct nicbarr_portions *portions)
{
    const bool due = 0 == portions->until;
    portions->until -= !due;
    return due;
}
