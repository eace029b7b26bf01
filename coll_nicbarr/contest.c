/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See contest.h. Invariant: after each agree() all ranks hold the same figures, and every decision
 * is made from those alone. So nobody has to be told of a decision.
 */
#include "coll_nicbarr/contest.h"

#include <string.h>

enum {
    BATCH = NICBARR_CONTEST_BATCH, /* a median of three bears one round that was disturbed */
    BATCHES = 8,                   /* that fit into the budget when nobody is dropped */
    /* Three rounds of a few barriers each, all that 50 ms allow 8 hosts on a busy machine, chose a
     * barrier that took 1.7 times the best one's time in one of three jobs. So there are at least
     * so many rounds, as long as they fit into so many budgets. */
    LEAST_ROUNDS = 9,
    OVERDRAFT = 4,
    /* A turn has to be long compared with setting off together; but not so long that a machine
     * changes its speed within a round. */
    LEAST_REPETITIONS = 4,
    MOST_REPETITIONS = 2000,
};

_Static_assert(0 == NICBARR_CONTEST_ROUNDS % BATCH, "the last batch fits");
_Static_assert(NICBARR_CONTEST_ROUNDS <= (int)NICBARR_PAIRS, "nicbarr_rank_test()");
_Static_assert(LEAST_ROUNDS <= (int)NICBARR_CONTEST_ROUNDS, "they can be had");

/* A candidate is dropped that is slower than the best by the first factor after the first batch, or
 * by the second after a later one: three rounds say less than six. A candidate within the third
 * factor of the best is as good: the same candidate differs by as much from one contest to the
 * next. The simplest of those is taken. */
static const double hopeless = 2.0, unlikely = 1.25, tie = 1.03;

/* No machine is that fast: a clock that stood still must not ask for turns without end. */
static const double least_us = 0.01;

/* agree() on the first `count` of `values`, and on whether a turn has failed anywhere; there is
 * room for the two words that say so. The greatest code of either sign stands for all. */
static int agree(const struct nicbarr_contest_user *user, double *values, int count, int error)
{
    values[count] = error;
    values[count + 1] = -error;
    const int rc = user->agree(user->context, values, count + 2);
    if (0 != rc) {
        return rc;
    }
    return (int)(values[count] > 0 ? values[count] : -values[count + 1]);
}

/* Take a first look, to learn how many repetitions fit into a turn. All agree also on what was
 * spent until then, so that they know how long the first batch takes. */
static int calibrate(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                     double since_us, double budget_us)
{
    double us[NICBARR_CONTEST_VALUES] = {0};
    const int count = contest->count;
    int error = 0;
    for (int c = 0; c < count; ++c) {
        const int rc = user->turn(user->context, c, LEAST_REPETITIONS, &us[c]);
        error = 0 == error ? rc : error;
    }
    us[count] = user->now_us(user->context) - since_us;
    error = agree(user, us, count + 1, error);
    contest->spent_us = us[count];
    const double turn_us = budget_us / (count * BATCHES * BATCH);
    for (int c = 0; c < count; ++c) {
        const double fit = turn_us / (us[c] > least_us ? us[c] : least_us);
        contest->of[c].repetitions = fit < LEAST_REPETITIONS  ? LEAST_REPETITIONS
                                     : fit > MOST_REPETITIONS ? MOST_REPETITIONS
                                                              : (int)fit;
    }
    return error;
}

static struct nicbarr_quartiles quartiles(const struct nicbarr_contestant *one)
{
    double sorted[NICBARR_CONTEST_ROUNDS];
    memcpy(sorted, one->round_us, sizeof(sorted));
    return nicbarr_quartiles(sorted, (size_t)one->rounds);
}

/* One batch of rounds of all who are still in it, and agreed figures for them. */
static int play_batch(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                      double since_us)
{
    double us[NICBARR_CONTEST_VALUES] = {0};
    const int count = contest->count, clock = count * BATCH;
    int error = 0;
    for (int round = 0; round < BATCH; ++round) {
        for (int c = 0; c < count; ++c) {
            const struct nicbarr_contestant *one = &contest->of[c];
            if (!one->dropped) {
                const int rc =
                    user->turn(user->context, c, one->repetitions, &us[c * BATCH + round]);
                error = 0 == error ? rc : error;
            }
        }
    }
    us[clock] = user->now_us(user->context) - since_us;
    error = agree(user, us, clock + 1, error);
    for (int c = 0; 0 == error && c < count; ++c) {
        struct nicbarr_contestant *one = &contest->of[c];
        const int first = c * BATCH;
        if (!one->dropped) {
            memcpy(&one->round_us[one->rounds], &us[first], BATCH * sizeof(us[0]));
            one->rounds += BATCH;
            one->us = quartiles(one);
        }
    }
    contest->spent_us = us[clock];
    return error;
}

/* The best of those that are still in it. Who was dropped does not count: the machine may have been
 * faster then. */
static int find_best(const struct nicbarr_contest *contest)
{
    int best = 0;
    for (int c = 1; c < contest->count; ++c) {
        const struct nicbarr_contestant *one = &contest->of[c];
        best = !one->dropped && one->us.median < contest->of[best].us.median ? c : best;
    }
    return best;
}

static void drop(struct nicbarr_contest *contest, double factor)
{
    const double limit = factor * contest->of[find_best(contest)].us.median;
    for (int c = 1; c < contest->count; ++c) {
        struct nicbarr_contestant *one = &contest->of[c];
        one->dropped = one->dropped || one->us.median > limit;
    }
}

/* The simplest of those that are as good as the best. */
static int choose(const struct nicbarr_contest *contest)
{
    const int best = find_best(contest);
    const double limit = tie * contest->of[best].us.median;
    int chosen = 0;
    while (chosen < best &&
           (contest->of[chosen].dropped || !(contest->of[chosen].us.median <= limit))) {
        ++chosen;
    }
    return chosen;
}

/* See contest.h. The chances of all others together are no less than that of any of them. */
static double find_confidence(const struct nicbarr_contest *contest)
{
    const struct nicbarr_contestant *chosen = &contest->of[contest->chosen];
    double doubt = 0;
    for (int c = 0; c < contest->count; ++c) {
        const struct nicbarr_contestant *one = &contest->of[c];
        if (c != contest->chosen && !one->dropped) {
            doubt += nicbarr_rank_test(chosen->round_us, one->round_us, (size_t)one->rounds, tie);
        }
    }
    return doubt < 1 ? 1 - doubt : 0;
}

/* Is there room and time for another batch that takes as long as the last one? */
static bool go_on(const struct nicbarr_contest *contest, double batch_us, double budget_us)
{
    const int rounds = contest->of[0].rounds; /* the first is in all of them */
    const double then_us = contest->spent_us + batch_us;
    return rounds < NICBARR_CONTEST_ROUNDS &&
           (then_us < budget_us || (rounds < LEAST_ROUNDS && then_us < OVERDRAFT * budget_us));
}

int nicbarr_contest_run(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                        int count, double since_us, double budget_us)
{
    memset(contest, 0, sizeof(*contest));
    contest->count = count;
    if (1 == count) {
        contest->confidence = 1;
        return 0;
    }
    int error = calibrate(contest, user, since_us, budget_us);
    bool more = 0 == error;
    while (more) {
        const double before_us = contest->spent_us;
        error = play_batch(contest, user, since_us);
        if (0 == error) {
            drop(contest, BATCH == contest->of[0].rounds ? hopeless : unlikely);
        }
        more = 0 == error && go_on(contest, contest->spent_us - before_us, budget_us);
    }
    contest->chosen = 0 == error ? choose(contest) : 0;
    contest->confidence = 0 == error ? find_confidence(contest) : 0;
    contest->provisional = contest->confidence < NICBARR_CONTEST_SURE;
    return error;
}
