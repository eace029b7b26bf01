/* SPDX-License-Identifier: BSD-3-Clause */
/* An A/B comparison of the barrier in use with a few other candidates, the challengers, to check
 * whether the barrier in use is still the best. The variants (the barrier in use and its
 * challengers) take turns in executing the program's own barriers, so the comparison adds no
 * barriers to the program.
 *
 * Like contest.h, this is a pure state machine: it does not depend on the implementation of the
 * barriers, and has no clock. All ranks go through the same states, because every decision depends
 * only on values that the ranks have agreed on. Called by watch.c; data_across.c selects its
 * challengers in the same way.
 *
 * A comparison measures the time from the arrival of the last rank until the ranks leave the
 * barrier. This is what the barrier itself costs the program, without the wait for a late rank.
 * - If all ranks share a clock, this is the time at which the last rank leaves, minus the time at
 *   which the last rank arrives.
 * - Otherwise there are two values: the minimum time that a rank spent in the barrier, which is
 *   about the time of the last rank to arrive, and the maximum. A winner must be better in one of
 *   them, and not worse in the other.
 *
 * A measurement of a variant begins with a barrier by Open MPI's own function, which ensures that
 * no rank is still in a barrier of the previous variant. It is followed by one barrier of the
 * variant to warm up, and by several barriers whose times are recorded. After a preliminary round,
 * challengers that are much slower are dropped. After more rounds, a rank test (statistics.h)
 * decides whether a challenger is better by more than 3 %. */
#ifndef NICBARR_COMPARISON_H
#define NICBARR_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NICBARR_COMPARISON_VARIANTS = 8, /* maximum number of variants */
    NICBARR_COMPARISON_ROUNDS =
        9, /* the minimum that allows an error probability of 1 in 100 in spite of one outlier */
    NICBARR_COMPARISON_BARRIERS = 8, /* barriers of a measurement that count */
    NICBARR_COMPARISON_VALUES = 2 * NICBARR_COMPARISON_VARIANTS * NICBARR_COMPARISON_BARRIERS,
    /* in place of a variant: Open MPI's own barrier, which does not count */
    NICBARR_COMPARISON_APART = -1
};

struct nicbarr_comparison {
    int count; /* number of variants; the first one is the choice in use */
    bool shared_clock;
    bool dropped[NICBARR_COMPARISON_VARIANTS]; /* the variant executes no more barriers */
    int rounds; /* number of complete rounds, without the preliminary round */
    bool preliminary_done;
    int current, number; /* the current variant; the barrier of its measurement, from 0 */
    double sample[NICBARR_COMPARISON_VARIANTS][NICBARR_COMPARISON_BARRIERS][2];
    double us[2][NICBARR_COMPARISON_VARIANTS]
             [NICBARR_COMPARISON_ROUNDS]; /* agreed medians of each round */
    bool over;
    int winner; /* valid once the comparison is over */
};

/* Initialise a comparison of `count` (2 to NICBARR_COMPARISON_VARIANTS) variants. `shared_clock`:
 * all ranks share a clock. */
void nicbarr_comparison_begin(struct nicbarr_comparison *comparison, int count, bool shared_clock);

/* Returns the variant that executes the next barrier, or NICBARR_COMPARISON_APART for Open MPI's
 * own function, between two measurements. */
int nicbarr_comparison_next(const struct nicbarr_comparison *comparison);

/* Record the times (microseconds) at which this rank has entered and left a barrier. Returns true
 * if this barrier was the last of a round; the ranks must then agree on the values of the round. */
bool nicbarr_comparison_record(struct nicbarr_comparison *comparison, double arrived_us,
                               double left_us);

/* Write this rank's results of the round to `values`. The caller then replaces each value by its
 * maximum over all ranks. Returns the number of values, at most NICBARR_COMPARISON_VALUES. */
int nicbarr_comparison_values(const struct nicbarr_comparison *comparison, double *values);

/* Continue with the agreed values. The comparison may be over then. */
void nicbarr_comparison_agreed(struct nicbarr_comparison *comparison, const double *values);

/* Returns the median of a variant's rounds (microseconds), or 0 if no round is complete or the
 * variant was dropped. Without a shared clock, each round has two values, of which the longer time
 * is used. */
double nicbarr_comparison_us(const struct nicbarr_comparison *comparison, int variant);

/* Select the challengers of candidate number `chosen` (-1: the choice is not a candidate) from a
 * list of `all` candidates: the first candidate, which is Open MPI's own function, and as many
 * others as fit. `*next`, initially 0, is the position in the list at which the search begins. It
 * is advanced, so that the next comparison continues from there. Returns the number of challengers.
 */
int nicbarr_comparison_challengers(int chosen, int all, uint32_t *next,
                                   int challengers[NICBARR_COMPARISON_VARIANTS - 1]);

/* Returns the number of barriers until the next comparison, where `before` is the present pause.
 * The pause remains the same until each candidate has been a challenger once (`next` and `all` are
 * as in nicbarr_comparison_challengers()). From then on it doubles each time, up to
 * NICBARR_PAUSE_MOST, so that a change of the machine is noticed eventually.
 *
 * The first comparison follows after NICBARR_PAUSE_UNKNOWN barriers if the choice was measured
 * elsewhere without sufficient confidence, was measured by an earlier job, or was just made by a
 * comparison. Otherwise it follows after NICBARR_PAUSE_MEASURED barriers. */
enum {
    NICBARR_PAUSE_UNKNOWN = 400,
    NICBARR_PAUSE_MEASURED = 20000,
    NICBARR_PAUSE_MOST = 1 << 20 /* maximum */
};
uint32_t nicbarr_comparison_pause(uint32_t before, uint32_t next, int all);

#endif
