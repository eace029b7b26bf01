/* SPDX-License-Identifier: BSD-3-Clause */
/* See comparison.h. Invariant: the state is the same on all ranks after
 * nicbarr_comparison_agreed(). From then on until the next agreement, every decision depends only
 * on the number of barriers executed meanwhile, which is also the same on all ranks. */
#include "coll_nicbarr/choice/comparison.h"

#include <string.h>

#include "coll_nicbarr/choice/statistics.h"

enum {
    UNCOUNTED = 2,   /* barriers that are not counted: one of Open MPI, and the warm-up */
    PRELIMINARY = 2, /* barriers that count in the preliminary round */
    LOST_ROUNDS = 3  /* a challenger that loses each of the first rounds is dropped */
};

/* A challenger is dropped if its best barrier of the preliminary round is slower than the current
 * choice by a factor of `drop_factor`. Such an early decision may be wrong, but later comparisons
 * will correct it. Each barrier has two kinds of times (comparison.h). To win, a challenger must be
 * better by more than a factor of `tie_factor` in one of them, with an error probability of at most
 * `win_error`, and must not be worse in the other, with an error probability of at most
 * `loss_error`. */
static const double drop_factor = 2.0, tie_factor = 1.03, win_error = 0.01, loss_error = 0.05;

/* Lower limit of a measured time, because ratios require positive values. */
static const double least_us = 0.001;

static double greater_of(double a, double b)
{
    return a > b ? a : b;
}

static int counted_barriers(const struct nicbarr_comparison *comparison)
{
    return comparison->preliminary_done ? NICBARR_COMPARISON_BARRIERS : PRELIMINARY;
}

/* Returns the first variant from `current` on that has not been dropped, or `count` if the round is
 * complete. */
static int next_variant(const struct nicbarr_comparison *comparison, int current)
{
    while (current < comparison->count && comparison->dropped[current]) {
        ++current;
    }
    return current;
}

void nicbarr_comparison_begin(struct nicbarr_comparison *comparison, int count, bool shared_clock)
{
    memset(comparison, 0, sizeof(*comparison));
    comparison->count = count;
    comparison->shared_clock = shared_clock;
}

int nicbarr_comparison_next(const struct nicbarr_comparison *comparison)
{
    return 0 == comparison->number ? NICBARR_COMPARISON_APART : comparison->current;
}

bool nicbarr_comparison_record(struct nicbarr_comparison *comparison, double arrived_us,
                               double left_us)
{
    const int n = comparison->number++ - UNCOUNTED;
    if (n >= 0) {
        double *sample = comparison->sample[comparison->current][n];
        sample[0] = comparison->shared_clock ? left_us : left_us - arrived_us;
        sample[1] = comparison->shared_clock ? arrived_us : arrived_us - left_us;
    }
    if (n + 1 < counted_barriers(comparison)) {
        return false;
    }
    comparison->number = 0;
    comparison->current = next_variant(comparison, comparison->current + 1);
    return comparison->current == comparison->count;
}

int nicbarr_comparison_values(const struct nicbarr_comparison *comparison, double *values)
{
    int count = 0;
    for (int d = 0; d < comparison->count; ++d) {
        for (int n = 0; !comparison->dropped[d] && n < counted_barriers(comparison); ++n) {
            values[count++] = comparison->sample[d][n][0];
            values[count++] = comparison->sample[d][n][1];
        }
    }
    return count;
}

/* Compute both kinds of times that comparison.h describes, for each barrier of a variant, from the
 * values that the ranks have agreed on. Returns a pointer past these values. */
static const double *compute_times(const struct nicbarr_comparison *comparison, const double *value,
                                   double us[2][NICBARR_COMPARISON_BARRIERS])
{
    for (int n = 0; n < counted_barriers(comparison); ++n) {
        const double first = *value++, second = *value++;
        us[0][n] = greater_of(comparison->shared_clock ? first - second : first, least_us);
        us[1][n] = greater_of(comparison->shared_clock ? first - second : -second, least_us);
    }
    return value;
}

static double median(double *samples, int count)
{
    return nicbarr_quartiles(samples, (size_t)count).median;
}

static bool is_less(const struct nicbarr_comparison *comparison, int kind, int left, int right,
                    double factor, double chance)
{
    return nicbarr_rank_test(comparison->us[kind][left], comparison->us[kind][right],
                             (size_t)comparison->rounds, factor) <= chance;
}

static bool beats_chosen(const struct nicbarr_comparison *comparison, int challenger)
{
    bool beats = false;
    for (int kind = 0; kind < 2; ++kind) {
        beats = beats || (is_less(comparison, kind, challenger, 0, 1 / tie_factor, win_error) &&
                          !is_less(comparison, !kind, 0, challenger, 1, loss_error));
    }
    return beats;
}

/* Returns the product of the medians of both kinds of times, by which the best of several winning
 * challengers is found. */
static double time_product(const struct nicbarr_comparison *comparison, int variant)
{
    double us[2][NICBARR_COMPARISON_ROUNDS];
    memcpy(us[0], comparison->us[0][variant], sizeof(us[0]));
    memcpy(us[1], comparison->us[1][variant], sizeof(us[1]));
    return median(us[0], comparison->rounds) * median(us[1], comparison->rounds);
}

static int find_winner(const struct nicbarr_comparison *comparison)
{
    int winner = 0;
    for (int d = 1; d < comparison->count; ++d) {
        if (!comparison->dropped[d] && beats_chosen(comparison, d) &&
            (0 == winner || time_product(comparison, d) < time_product(comparison, winner))) {
            winner = d;
        }
    }
    return winner;
}

/* Drop the challengers that were slower than the current choice, by both kinds of times, in the
 * preliminary round or in each of the first rounds. */
static void drop_variants(struct nicbarr_comparison *comparison)
{
    const double factor = comparison->preliminary_done ? 1 : drop_factor;
    const int rounds = comparison->preliminary_done ? comparison->rounds : 1;
    for (int d = 1; d < comparison->count; ++d) {
        bool lost = true;
        for (int r = 0; r < rounds; ++r) {
            lost = lost && comparison->us[0][d][r] > factor * comparison->us[0][0][r] &&
                   comparison->us[1][d][r] > factor * comparison->us[1][0][r];
        }
        comparison->dropped[d] = comparison->dropped[d] || lost;
    }
}

/* Returns whether all challengers have been dropped. */
static bool is_unchallenged(const struct nicbarr_comparison *comparison)
{
    return next_variant(comparison, 1) == comparison->count;
}

void nicbarr_comparison_agreed(struct nicbarr_comparison *comparison, const double *values)
{
    double us[2][NICBARR_COMPARISON_BARRIERS];
    for (int d = 0; d < comparison->count; ++d) {
        if (!comparison->dropped[d]) {
            values = compute_times(comparison, values, us);
            for (int kind = 0; kind < 2; ++kind) {
                /* Of the preliminary round only the fastest barrier counts, because disturbances
                 * only ever make a barrier slower. */
                comparison->us[kind][d][comparison->rounds] =
                    comparison->preliminary_done ? median(us[kind], counted_barriers(comparison))
                    : us[kind][0] < us[kind][1]  ? us[kind][0]
                                                 : us[kind][1];
            }
        }
    }
    comparison->rounds += comparison->preliminary_done;
    if (!comparison->preliminary_done || LOST_ROUNDS == comparison->rounds) {
        drop_variants(comparison);
    }
    comparison->preliminary_done = true;
    comparison->current = 0;
    comparison->over =
        is_unchallenged(comparison) || NICBARR_COMPARISON_ROUNDS == comparison->rounds;
    comparison->winner =
        comparison->over && !is_unchallenged(comparison) ? find_winner(comparison) : 0;
}

double nicbarr_comparison_us(const struct nicbarr_comparison *comparison, int variant)
{
    double us[NICBARR_COMPARISON_ROUNDS];
    const bool complete = comparison->rounds > 0 && !comparison->dropped[variant];
    memcpy(us, comparison->us[0][variant], sizeof(us));
    return complete ? median(us, comparison->rounds) : 0;
}

int nicbarr_comparison_challengers(int chosen, int all, uint32_t *next,
                                   int challengers[NICBARR_COMPARISON_VARIANTS - 1])
{
    int count = 0;
    if (0 != chosen) {
        challengers[count++] = 0;
    }
    for (int c = 1; c < all && count < NICBARR_COMPARISON_VARIANTS - 1; ++c) {
        const int candidate = 1 + (int)((*next)++ % (uint32_t)(all - 1));
        if (candidate != chosen) {
            challengers[count++] = candidate;
        }
    }
    return count;
}

uint32_t nicbarr_comparison_pause(uint32_t before, uint32_t next, int all)
{
    if (next < (uint32_t)(all - 1)) {
        return before;
    }
    return before < NICBARR_PAUSE_MOST / 2 ? 2 * before : NICBARR_PAUSE_MOST;
}
