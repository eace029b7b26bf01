/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contest: which of several ways to do the same thing is the fastest, as all ranks measure it
 * together.
 *
 * It knows nothing of what the candidates are, who plays them, or how the ranks talk to each other:
 * its user lends it three functions for that. tune.c has it choose a communicator's barrier. It has
 * no clock, takes no memory, and needs no lock: one thread of each rank runs it.
 *
 * How it chooses. The candidates take turns, round after round. So a machine that changes its speed
 * changes it for all of them. A round's figure is that of its slowest rank. A candidate's figure is
 * the median over its rounds. After each batch of rounds the ranks agree on the figures. So all of
 * them drop the same candidates, stop together, and choose alike. (Hoefler's ibbarr chose the n of
 * dissemination by measurement. Here the whole algorithm is chosen.)
 *
 * Candidates are in the order of simplicity. The first is the reference: it is never dropped, so
 * that there is always a figure to compare with.
 */
#ifndef NICBARR_CONTEST_H
#define NICBARR_CONTEST_H

#include <stdbool.h>

#include "coll_nicbarr/statistics.h"

enum {
    NICBARR_CONTESTANTS = 24,    /* at most */
    NICBARR_CONTEST_BATCH = 3,   /* rounds between two looks at the figures */
    NICBARR_CONTEST_ROUNDS = 60, /* at most; a multiple of the batch */
    NICBARR_CONTEST_VALUES = NICBARR_CONTESTANTS * NICBARR_CONTEST_BATCH + 3, /* in one agree() */
};

/*
 * What the user lends. turn() and agree() are called by all ranks in the same order and with the
 * same arguments, apart from the values. They return 0, or an error's code of either sign.
 */
struct nicbarr_contest_user {
    /* Play `candidate` so many times in a row (`repetitions` >= 1); *us: the microseconds of one of
     * them, as this rank sees it. The user has all ranks set off together. After an error the
     * other turns of the batch follow all the same, as the other ranks play them. */
    int (*turn)(void *context, int candidate, int repetitions, double *us);
    /* Each of `values` becomes the greatest that any rank has; at most NICBARR_CONTEST_VALUES. */
    int (*agree)(void *context, double *values, int count);
    double (*now_us)(void *context); /* a clock that never goes back */
    void *context;
};

struct nicbarr_contestant {
    struct nicbarr_quartiles us; /* over the rounds */
    int rounds;                  /* until it was dropped */
    bool dropped;
    int repetitions;                         /* in a turn */
    double round_us[NICBARR_CONTEST_ROUNDS]; /* in the order in which they were played */
};

/* Below that a choice is provisional. */
#define NICBARR_CONTEST_SURE 0.95

/* The state and the result; its memory is the user's. */
struct nicbarr_contest {
    int count;
    struct nicbarr_contestant of[NICBARR_CONTESTANTS];
    double spent_us; /* from `since_us` to the end of the last batch, on the slowest rank */
    /* Valid after success: */
    int chosen;
    /* 0 to 1: one minus the chance that another one, which has not been dropped, is better than the
     * chosen one by more than 3 %, from a rank test of their rounds in pairs. */
    double confidence;
    bool provisional; /* that is too little to rely on */
};

/*
 * Find the fastest of `count` candidates (1 to NICBARR_CONTESTANTS; one alone is chosen without a
 * turn). Collective.
 *
 * What was spent since `since_us`, by the user's clock, counts against `budget_us`. There is always
 * one batch. Another one follows while it is likely to end within the budget, or, as long as there
 * were few rounds, within a small multiple of it (contest.c says how many, and why).
 *
 * 0, or an error. After a turn's error all ranks return the same one. An error of agree() is
 * returned at once: without that function nobody can be told.
 */
int nicbarr_contest_run(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                        int count, double since_us, double budget_us);

#endif
