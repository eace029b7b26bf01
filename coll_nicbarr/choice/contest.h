/* SPDX-License-Identifier: BSD-3-Clause */
/* A contest is a tuning run, in which all ranks collectively measure several candidates for the
 * same task, and find the fastest of them.
 *
 * This file knows neither what the candidates do nor how the ranks communicate; its user supplies
 * three functions for this purpose. For example, tune.c uses a contest to choose the barrier of a
 * communicator. A contest has no clock, allocates no memory, and needs no lock, because only one
 * thread of each rank runs it.
 *
 * Choice. A sample is one measurement of one candidate. First, a preliminary round takes one sample
 * of each candidate. In the rounds that follow, the candidates take turns, so that changes of the
 * machine's speed affect all of them. The result of a sample is the time of the slowest rank, and
 * the result of a candidate is the median over its rounds. After each sample the ranks agree on its
 * result. Therefore all ranks drop the same candidates, stop together, and make the same choice.
 * (Hoefler's ibbarr used measurements to choose the n of n-way dissemination; a contest chooses the
 * whole algorithm.)
 *
 * Duration. A contest is run in batches of samples, each with a time budget, and may be continued
 * at any time. The first sample of a batch is taken if any of the budget is left. A further sample
 * begins only if it is likely to end within the budget. Thus only the last sample of a batch can
 * exceed the budget, if it takes longer than expected.
 *
 * The list of candidates begins with the simplest one, which is the reference: it is never dropped,
 * so the others can always be compared with it. */
#ifndef NICBARR_CONTEST_H
#define NICBARR_CONTEST_H

#include <stdbool.h>

#include "coll_nicbarr/choice/statistics.h"

enum {
    NICBARR_CONTESTANTS = 28,    /* maximum number of candidates */
    NICBARR_CONTEST_STAGE = 3,   /* rounds after which candidates may be dropped */
    NICBARR_CONTEST_ROUNDS = 60, /* maximum number of rounds, a multiple of the stage */
    NICBARR_CONTEST_VALUES = 4,  /* maximum number of values in one agree() */
};

/* A choice with less confidence is provisional. */
#define NICBARR_CONTEST_SURE 0.95

/* The functions that the user of a contest supplies. All ranks call sample() and agree() in the
 * same order and with the same arguments, apart from the values. Both return 0, or an error code of
 * either sign. */
struct nicbarr_contest_user {
    /* Execute `candidate` `repetitions` (>= 1) times in a row. *us becomes the time of one
     * repetition in microseconds, as measured by this rank. Each sample is preceded and followed by
     * an agree(). */
    int (*sample)(void *context, int candidate, int repetitions, double *us);
    /* Replace each of `values` by its maximum over all ranks. No rank returns before all have
     * entered, so all ranks begin the next sample together, or none does if one of them has failed.
     */
    int (*agree)(void *context, double *values, int count);
    double (*now_us)(void *context); /* returns the time of a monotonic clock */
    void *context;
};

struct nicbarr_contestant {
    /* times over the rounds; if there are none, the time of the preliminary round */
    struct nicbarr_quartiles us;
    int rounds; /* number of rounds until it was dropped */
    bool dropped;
    int repetitions;                         /* number of executions in a sample */
    double preliminary_us;                   /* result of the preliminary round */
    double round_us[NICBARR_CONTEST_ROUNDS]; /* results in the order of rounds */
};

/* The state and the result, in the user's memory. */
struct nicbarr_contest {
    int count;
    struct nicbarr_contestant of[NICBARR_CONTESTANTS];
    /* Minimum number of repetitions in each sample after the preliminary round; 0: as many as the
     * budget allows. A minimum is needed for collectives that do not synchronise all ranks, because
     * an isolated call of such a collective takes a different time from a call in a long
     * sequence. */
    int in_a_row;
    bool preliminary_done; /* the preliminary round is complete */
    int rounds;            /* number of complete rounds */
    int next;              /* the next candidate in the preliminary round or in the current round */
    double spent_us;       /* time spent in all batches, on the slowest rank */
    /* The result of the contest so far: */
    int chosen; /* the chosen candidate; the first one if no round is complete */
    /* The confidence of the choice, 0 to 1: the probability that none of the remaining candidates
     * is better than the chosen one by more than 3 %, according to paired rank tests of their
     * rounds. */
    double confidence;
    bool provisional; /* the confidence is insufficient, or there were too few rounds */
};

/* Initialise a contest of `count` candidates (1 to NICBARR_CONTESTANTS; a single one is chosen at
 * once). */
void nicbarr_contest_begin(struct nicbarr_contest *contest, int count);

/* Run a batch, and determine the fastest candidate so far. Collective. The time that has passed
 * since `since_us` (user's clock) is charged to `budget_us`. If the budget is already used up, or
 * all rounds are complete, nothing is measured.
 *
 * Returns 0 or an error. After an error in a sample, all ranks return the same error. An error of
 * agree() is returned immediately, because the ranks have no other way to agree on it. An error
 * ends the contest without a result. */
int nicbarr_contest_run_batch(struct nicbarr_contest *contest,
                              const struct nicbarr_contest_user *user, double since_us,
                              double budget_us);

/* Returns whether there are samples left. */
bool nicbarr_contest_has_samples(const struct nicbarr_contest *contest);

/* A contest is run in batches, numbered from 0, so that it can be continued later if its result is
 * uncertain. nicbarr_contest_wants_batch() returns whether the present result makes another batch
 * worthwhile. nicbarr_contest_batch_us() returns the time budget of a batch, where `budget_us` is
 * the budget of the first one. All batches together may take NICBARR_CONTEST_TOTAL times
 * `budget_us`. */
enum { NICBARR_CONTEST_TOTAL = 8 };
bool nicbarr_contest_wants_batch(const struct nicbarr_contest *contest, int batch);
double nicbarr_contest_batch_us(int batch, double budget_us);

#endif
