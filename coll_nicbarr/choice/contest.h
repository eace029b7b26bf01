/* SPDX-License-Identifier: BSD-3-Clause */
/* A contest finds the fastest of several candidates for the same task, by measurements that all
 * ranks take collectively.
 *
 * It is independent of the candidates, of their players, and of the communication between the
 * ranks: its user supplies three functions for that. tune.c uses it to choose a communicator's
 * barrier. It has no clock, allocates no memory, and needs no lock: one thread of each rank runs
 * it.
 *
 * Choice. First each candidate is measured once (the look). Then they alternate, round after round,
 * so that changes of the machine's speed affect all of them. The result of a turn is that of its
 * slowest rank; the result of a candidate is the median over its rounds. After each turn the ranks
 * agree on its result. So all of them drop the same candidates, stop together, and make the same
 * choice. (Hoefler's ibbarr chose the n of dissemination by measurement. Here the whole algorithm
 * is chosen.)
 *
 * Duration. A contest is played in portions, each with a budget, and may be continued at any time.
 * Except for a portion's first turn, a turn begins only if it is likely to end within the budget.
 * So the budget can be exceeded by one turn only, if that takes longer than expected.
 *
 * Candidates are in the order of simplicity. The first is the reference: it is never dropped, so
 * there is always a result to compare with. */
#ifndef NICBARR_CONTEST_H
#define NICBARR_CONTEST_H

#include <stdbool.h>

#include "coll_nicbarr/choice/statistics.h"

enum {
    NICBARR_CONTESTANTS = 28,    /* at most */
    NICBARR_CONTEST_BATCH = 3,   /* rounds between two occasions to drop candidates */
    NICBARR_CONTEST_ROUNDS = 60, /* at most; a multiple of the batch */
    NICBARR_CONTEST_VALUES = 4,  /* in one agree() */
};

/* A choice of less confidence is provisional. */
#define NICBARR_CONTEST_SURE 0.95

/* The functions of the user. All ranks call turn() and agree() in the same order and with the same
 * arguments, apart from the values. They return 0, or an error code of either sign. */
struct nicbarr_contest_user {
    /* Play `candidate` `repetitions` (>= 1) times in a row. *us becomes the time of one repetition
     * in microseconds, as measured by this rank. Each turn is preceded and followed by an
     * agree(). */
    int (*turn)(void *context, int candidate, int repetitions, double *us);
    /* Replace each of `values` by its maximum over all ranks. No rank returns before all have
     * entered, so all ranks begin the next turn together, or none does if one has failed. */
    int (*agree)(void *context, double *values, int count);
    double (*now_us)(void *context); /* a monotonic clock */
    void *context;
};

struct nicbarr_contestant {
    struct nicbarr_quartiles us; /* over the rounds; without rounds, of the look */
    int rounds;                  /* until it was dropped */
    bool dropped;
    int repetitions;                         /* in a turn */
    double look_us;                          /* before the rounds */
    double round_us[NICBARR_CONTEST_ROUNDS]; /* in the order in which they were played */
};

/* The state and the result, in the user's memory. */
struct nicbarr_contest {
    int count;
    struct nicbarr_contestant of[NICBARR_CONTESTANTS];
    /* Minimum of repetitions in each turn after the look; 0: as the budget allows. Needed for
     * collectives that do not synchronise all ranks, since the time of a single call differs from
     * the time per call of a long sequence. */
    int in_a_row;
    bool looked;     /* the look is complete */
    int rounds;      /* complete ones */
    int next;        /* next turn of the look or the present round */
    double spent_us; /* in all portions, on the slowest rank */
    /* The result: */
    int chosen; /* the first if no round is complete */
    /* The confidence of the choice, 0 to 1: one minus the probability, from a paired rank test of
     * their rounds, that one of the remaining candidates is better than the chosen one by more than
     * 3 %. */
    double confidence;
    bool provisional; /* the confidence is too low to rely on, or there were too few rounds */
};

/* Initialise a contest of `count` candidates (1 to NICBARR_CONTESTANTS; a single one is chosen at
 * once). */
void nicbarr_contest_begin(struct nicbarr_contest *contest, int count);

/* Play a portion, and determine the fastest candidate so far. Collective. The time since
 * `since_us`, by the user's clock, counts against `budget_us`. If the budget is exhausted already,
 * or all rounds are complete, nothing is played.
 *
 * Returns 0 or an error. After an error of a turn, all ranks return the same one. An error of
 * agree() is returned at once, since the ranks have no other means to agree on it. After an error
 * there is no result, and the contest is over. */
int nicbarr_contest_go_on(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                          double since_us, double budget_us);

/* Are there turns left to play? */
bool nicbarr_contest_open(const struct nicbarr_contest *contest);

/* A contest is played in portions, numbered from 0, so that one with an uncertain result can
 * continue later. nicbarr_contest_wants() returns whether another portion is worthwhile, given the
 * present result, and nicbarr_contest_portion_us() its time budget, if that of the first one is
 * `budget_us`. All portions together may take NICBARR_CONTEST_TOTAL times `budget_us`. */
enum { NICBARR_CONTEST_TOTAL = 8 };
bool nicbarr_contest_wants(const struct nicbarr_contest *contest, int portion);
double nicbarr_contest_portion_us(int portion, double budget_us);

#endif
