/* SPDX-License-Identifier: BSD-3-Clause */
/* See contest.h. Invariant: after each agree_on_sample(), all ranks have the same measurements, and
 * every decision depends on these measurements only. Therefore the ranks need no further messages
 * to agree on a decision. */
#include "coll_nicbarr/choice/contest.h"

#include <string.h>

enum {
    STAGE = NICBARR_CONTEST_STAGE, /* the median of three rounds tolerates one that was disturbed */
    STAGES = 8,                    /* number of stages in the budget if no candidate is dropped */
    /* Minimum number of rounds for a final choice. With three rounds of a few barriers each, one
     * job out of three chose a barrier that took 1.7 times as long as the best one. */
    LEAST_ROUNDS = 9,
    /* A sample must be long compared with the skew between the ranks at its start, but so short
     * that the speed of the machine rarely changes within a round. Slow candidates get the shortest
     * samples. */
    LEAST_REPETITIONS = 2,
    MOST_REPETITIONS = 2000,
    LATER_SHARES = 2, /* each batch after the first gets the initial budget divided by this */
    /* Overhead of a sample, in repetitions: an agreement, and a warm-up that does not count. */
    OVERHEAD = 2,
};

_Static_assert(0 == NICBARR_CONTEST_ROUNDS % STAGE, "the last stage is complete");
_Static_assert(NICBARR_CONTEST_ROUNDS <= (int)NICBARR_PAIRS,
               "nicbarr_rank_test() accepts the samples of all rounds");
_Static_assert(LEAST_ROUNDS <= (int)NICBARR_CONTEST_ROUNDS, "a final choice is possible");

/* A candidate is dropped in favour of a better one
 * - after the first round, if both its preliminary time and its round are slower by a factor of
 *   `first_round_factor` than the slower of the other candidate's preliminary time and round, so
 *   that a single disturbance drops no candidate;
 * - after the first stage, if it is slower by a factor of `first_stage_factor`, and slower in each
 *   round;
 * - after a later stage, if it is slower by a factor of `later_stage_factor` with an error
 *   probability of 1 in 64, or slower by more than `tie_factor` with an error probability of 1 in
 *   1000.
 *
 * Candidates within a factor of `tie_factor` of the best count as equal, because the results of a
 * single candidate vary by this factor from one contest to the next. The simplest of these
 * candidates is chosen. */
static const double first_round_factor = 4.0, first_stage_factor = 2.0, later_stage_factor = 1.25,
                    tie_factor = 1.03;

/* Lower limit of a measured time, so that a clock that does not advance does not lead to an
 * unlimited number of repetitions. */
static const double least_us = 0.01;

static double greater_of(double a, double b)
{
    return a > b ? a : b;
}

static double lesser_of(double a, double b)
{
    return a < b ? a : b;
}

/* ---- agreement ---- */

/* Agree on the sample's result, the time spent, and whether the sample failed on any rank. The
 * largest error code is returned on all ranks; codes may have either sign. */
static int agree_on_sample(const struct nicbarr_contest_user *user, double *us, double since_us,
                           double *spent_us, int error)
{
    double values[NICBARR_CONTEST_VALUES] = {*us, user->now_us(user->context) - since_us, error,
                                             -error};
    const int rc = user->agree(user->context, values, NICBARR_CONTEST_VALUES);
    if (0 != rc) {
        return rc;
    }
    *us = values[0];
    *spent_us = values[1];
    return (int)(values[2] > 0 ? values[2] : -values[3]);
}

/* ---- candidates ---- */

static struct nicbarr_quartiles quartiles(const struct nicbarr_contestant *one)
{
    double sorted[NICBARR_CONTEST_ROUNDS];
    memcpy(sorted, one->round_us, sizeof(sorted));
    return nicbarr_quartiles(sorted, (size_t)one->rounds);
}

/* Returns the best estimate of a candidate's time. With few rounds this is the minimum, because
 * disturbances can only make a measurement slower. With enough rounds it is the median. */
static double estimate_us(const struct nicbarr_contestant *one)
{
    double least = one->preliminary_us;
    for (int r = 0; r < one->rounds && one->rounds < LEAST_ROUNDS; ++r) {
        least = lesser_of(least, one->round_us[r]);
    }
    return one->rounds < LEAST_ROUNDS ? least : one->us.median;
}

/* Returns the best of the remaining candidates. Dropped candidates are not considered, because the
 * machine may have been faster while they were measured. */
static int find_best(const struct nicbarr_contest *contest)
{
    int best = 0;
    for (int c = 1; c < contest->count; ++c) {
        const struct nicbarr_contestant *one = &contest->of[c];
        best = !one->dropped && estimate_us(one) < estimate_us(&contest->of[best]) ? c : best;
    }
    return best;
}

/* Returns an upper bound of the best candidate's time after the preliminary round and the first
 * round. Each candidate is assumed to take the longer of its two measured times, and the bound is
 * the minimum of these times over all candidates. */
static double upper_bound_us(const struct nicbarr_contest *contest)
{
    double bound_us = greater_of(contest->of[0].preliminary_us, contest->of[0].round_us[0]);
    for (int c = 1; c < contest->count; ++c) {
        bound_us = lesser_of(bound_us,
                             greater_of(contest->of[c].preliminary_us, contest->of[c].round_us[0]));
    }
    return bound_us;
}

static bool is_slower(const struct nicbarr_contestant *one, const struct nicbarr_contestant *best)
{
    const double ratio = one->us.median / best->us.median;
    const double chance = nicbarr_rank_test(best->round_us, one->round_us, (size_t)one->rounds, 1);
    if (STAGE == one->rounds) {
        return ratio > first_stage_factor && chance <= 1.0 / (1 << STAGE);
    }
    return (ratio > later_stage_factor && chance <= 1.0 / 64) ||
           nicbarr_rank_test(best->round_us, one->round_us, (size_t)one->rounds, 1 / tie_factor) <=
               0.001;
}

/* Drop candidates that cannot win. Called after each round for which ends_stage() is true. */
static void drop_contestants(struct nicbarr_contest *contest)
{
    const int best = find_best(contest);
    const double bound_us = upper_bound_us(contest);
    for (int c = 1; c < contest->count; ++c) {
        struct nicbarr_contestant *one = &contest->of[c];
        if (c != best && !one->dropped) {
            one->dropped = 1 == contest->rounds ? lesser_of(one->preliminary_us, one->round_us[0]) >
                                                      first_round_factor * bound_us
                                                : is_slower(one, &contest->of[best]);
        }
    }
}

/* Recompute from the latest estimates how many repetitions fit into a sample. */
static void set_repetitions(struct nicbarr_contest *contest, double budget_us)
{
    int left = 0;
    for (int c = 0; c < contest->count; ++c) {
        left += !contest->of[c].dropped;
    }
    const double sample_us = budget_us / (left * STAGES * STAGE);
    const double best_us = greater_of(estimate_us(&contest->of[find_best(contest)]), least_us);
    for (int c = 0; c < contest->count; ++c) {
        struct nicbarr_contestant *one = &contest->of[c];
        const double us = greater_of(estimate_us(one), least_us), fit = sample_us / us;
        const int usual = us <= first_stage_factor * best_us ? LEAST_REPETITIONS : 1;
        const int least = usual < contest->in_a_row ? contest->in_a_row : usual;
        one->repetitions = fit < least              ? least
                           : fit > MOST_REPETITIONS ? MOST_REPETITIONS
                                                    : (int)fit;
    }
}

/* ---- samples ---- */

/* Returns the candidate that is measured at this position in a round, after `rounds` complete
 * rounds. Each round starts with a different candidate. If the order were always the same, and the
 * speed of the machine changed with the period of a round, some candidates would be measured only
 * while the machine is slow. */
static int candidate_at(const struct nicbarr_contest *contest, int rounds, int position)
{
    return (position + rounds) % contest->count;
}

/* Returns the first position from `position` on whose candidate has not been dropped, or `count` if
 * the round is complete. */
static int next_position(const struct nicbarr_contest *contest, int rounds, int position)
{
    while (position < contest->count &&
           contest->of[candidate_at(contest, rounds, position)].dropped) {
        ++position;
    }
    return position;
}

/* Returns whether candidates are dropped, and repetitions adjusted, after this round. */
static bool ends_stage(int rounds)
{
    return 1 == rounds || 0 == rounds % STAGE;
}

/* Returns whether the candidate's sample fits into the time left. A candidate without a measurement
 * is assumed to take as long as an agreement of the ranks. The first sample of a batch (`begun` is
 * false) starts whenever any time is left, so that each batch makes progress even if an earlier
 * measurement was slow only because of a disturbance. */
static bool sample_fits(const struct nicbarr_contest *contest, int candidate, double left_us,
                        double agreement_us, bool begun)
{
    const struct nicbarr_contestant *one = &contest->of[candidate];
    const bool known = contest->preliminary_done || one->preliminary_us > 0;
    const double us = (one->repetitions + OVERHEAD) * (known ? estimate_us(one) : agreement_us);
    return left_us > 0 && (!begun || us <= left_us);
}

static void end_round(struct nicbarr_contest *contest, double budget_us)
{
    contest->next = 0;
    contest->rounds += contest->preliminary_done;
    for (int c = 0; c < contest->count; ++c) {
        struct nicbarr_contestant *one = &contest->of[c];
        if (!contest->preliminary_done) {
            one->us = (struct nicbarr_quartiles){one->preliminary_us, one->preliminary_us,
                                                 one->preliminary_us};
        } else if (!one->dropped) {
            one->rounds = contest->rounds;
            one->us = quartiles(one);
        }
    }
    if (contest->preliminary_done && ends_stage(contest->rounds)) {
        drop_contestants(contest);
    }
    if (!contest->preliminary_done || ends_stage(contest->rounds)) {
        set_repetitions(contest, budget_us);
    }
    contest->preliminary_done = true;
}

/* Record the result of a sample, and evaluate the round if this was its last sample. */
static void record_sample(struct nicbarr_contest *contest, int position, double us,
                          double budget_us)
{
    struct nicbarr_contestant *one = &contest->of[candidate_at(contest, contest->rounds, position)];
    *(contest->preliminary_done ? &one->round_us[contest->rounds] : &one->preliminary_us) = us;
    contest->next = position + 1;
    if (next_position(contest, contest->rounds, contest->next) == contest->count) {
        end_round(contest, budget_us);
    }
}

/* ---- the result ---- */

/* Returns the simplest candidate that is as good as the best. */
static int choose_winner(const struct nicbarr_contest *contest)
{
    const int best = find_best(contest);
    const double limit = tie_factor * estimate_us(&contest->of[best]);
    int chosen = 0;
    while (chosen < best &&
           (contest->of[chosen].dropped || !(estimate_us(&contest->of[chosen]) <= limit))) {
        ++chosen;
    }
    return chosen;
}

/* Returns the confidence as defined in contest.h. The probabilities are multiplied as if they were
 * independent. In fact they are positively correlated, because all of them involve the chosen
 * candidate, so the product is a lower bound. */
static double find_confidence(const struct nicbarr_contest *contest)
{
    const struct nicbarr_contestant *chosen = &contest->of[contest->chosen];
    double confidence = 1;
    for (int c = 0; c < contest->count; ++c) {
        const struct nicbarr_contestant *one = &contest->of[c];
        if (c != contest->chosen && !one->dropped) {
            confidence *= 1 - nicbarr_rank_test(chosen->round_us, one->round_us,
                                                (size_t)one->rounds, tie_factor);
        }
    }
    return confidence;
}

static void evaluate_contest(struct nicbarr_contest *contest)
{
    contest->chosen = contest->preliminary_done ? choose_winner(contest) : 0;
    contest->confidence = find_confidence(contest);
    contest->provisional = contest->count > 1 && (contest->rounds < LEAST_ROUNDS ||
                                                  contest->confidence < NICBARR_CONTEST_SURE);
}

/* ---- batches ---- */

void nicbarr_contest_begin(struct nicbarr_contest *contest, int count)
{
    memset(contest, 0, sizeof(*contest));
    contest->count = count;
    for (int c = 0; c < count; ++c) {
        contest->of[c].repetitions = 1;
    }
    evaluate_contest(contest);
}

bool nicbarr_contest_has_samples(const struct nicbarr_contest *contest)
{
    return contest->count > 1 && contest->rounds < NICBARR_CONTEST_ROUNDS;
}

bool nicbarr_contest_wants_batch(const struct nicbarr_contest *contest, int batch)
{
    return 0 == batch || (contest->provisional && nicbarr_contest_has_samples(contest) &&
                          batch <= LATER_SHARES * (NICBARR_CONTEST_TOTAL - 1));
}

double nicbarr_contest_batch_us(int batch, double budget_us)
{
    return 0 == batch ? budget_us : budget_us / LATER_SHARES;
}

int nicbarr_contest_run_batch(struct nicbarr_contest *contest,
                              const struct nicbarr_contest_user *user, double since_us,
                              double budget_us)
{
    double before_us = 0, spent_us = 0, us = 0;
    bool begun = false;
    if (!nicbarr_contest_has_samples(contest)) {
        return 0;
    }
    /* The ranks agree twice in a row, and the second agreement is timed. Its duration is the only
     * available estimate of the time that a candidate without a measurement takes. */
    int error = agree_on_sample(user, &us, since_us, &before_us, 0);
    error = 0 == error ? agree_on_sample(user, &us, since_us, &spent_us, 0) : error;
    const double agreement_us = spent_us - before_us;
    while (0 == error && nicbarr_contest_has_samples(contest)) {
        const int position = next_position(contest, contest->rounds, contest->next);
        const int c = candidate_at(contest, contest->rounds, position);
        if (!sample_fits(contest, c, budget_us - spent_us, agreement_us, begun)) {
            break;
        }
        us = 0;
        error = user->sample(user->context, c, contest->of[c].repetitions, &us);
        error = agree_on_sample(user, &us, since_us, &spent_us, error);
        if (0 == error) {
            record_sample(contest, position, us, budget_us);
        }
        begun = true;
    }
    contest->spent_us += spent_us;
    if (0 == error) {
        evaluate_contest(contest);
    }
    return error;
}
