/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contest: which of several ways to do the same thing is the fastest, as all ranks measure it
 * together.
 *
 * It knows nothing of what the candidates are, who plays them, or how the ranks talk to each other:
 * its user lends it three functions for that. tune.c has it choose a communicator's barrier. It has
 * no clock, takes no memory, and needs no lock: one thread of each rank runs it.
 *
 * How it chooses. First each candidate is looked at once. Then they take turns, round after round.
 * So a machine that changes its speed changes it for all of them. A turn's figure is that of its
 * slowest rank. A candidate's figure is the median over its rounds. After each turn the ranks agree
 * on its figure. So all of them drop the same candidates, stop together, and choose alike.
 * (Hoefler's ibbarr chose the n of dissemination by measurement. Here the whole algorithm is
 * chosen.)
 *
 * How long it takes. It is played in portions, each with a budget, and may be continued at any
 * time. No turn begins that is not likely to end within the budget, but for a portion's first one.
 * Besides, only what cannot be foreseen goes beyond it: one turn.
 *
 * Candidates are in the order of simplicity. The first is the reference: it is never dropped, so
 * that there is always a figure to compare with.
 */
#ifndef NICBARR_CONTEST_H
#define NICBARR_CONTEST_H

#include <stdbool.h>

#include "coll_nicbarr/choice/statistics.h"

enum {
    NICBARR_CONTESTANTS = 28,    /* at most */
    NICBARR_CONTEST_BATCH = 3,   /* rounds between two times when candidates are dropped */
    NICBARR_CONTEST_ROUNDS = 60, /* at most; a multiple of the batch */
    NICBARR_CONTEST_VALUES = 4,  /* in one agree() */
};

/* A choice of less confidence is provisional. */
#define NICBARR_CONTEST_SURE 0.95

/*
 * What the user lends. turn() and agree() are called by all ranks in the same order and with the
 * same arguments, apart from the values. They return 0, or an error's code of either sign.
 */
struct nicbarr_contest_user {
    /* Play `candidate` so many times in a row (`repetitions` >= 1); *us: the microseconds of one of
     * them, as this rank sees it. An agree() comes before and after each turn. */
    int (*turn)(void *context, int candidate, int repetitions, double *us);
    /* Each of `values` becomes the greatest that any rank has. Nobody is done before all have come:
     * so all ranks set off to the next turn together, or none does if one has failed. */
    int (*agree)(void *context, double *values, int count);
    double (*now_us)(void *context); /* a clock that never goes back */
    void *context;
};

struct nicbarr_contestant {
    struct nicbarr_quartiles us; /* over the rounds; if there are none, the look's */
    int rounds;                  /* until it was dropped */
    bool dropped;
    int repetitions;                         /* in a turn */
    double look_us;                          /* before the rounds */
    double round_us[NICBARR_CONTEST_ROUNDS]; /* in the order in which they were played */
};

/* The state and the result; its memory is the user's. */
struct nicbarr_contest {
    int count;
    struct nicbarr_contestant of[NICBARR_CONTESTANTS];
    /* Repetitions that each turn after the look has at the least; 0: as the budget allows. For what
     * does not wait for everybody: one alone takes another time than each of many in a row. */
    int in_a_row;
    bool looked;     /* at all of them */
    int rounds;      /* that are complete */
    int next;        /* place in the look or the present round */
    double spent_us; /* in all portions, on the slowest rank */
    /* The result: */
    int chosen; /* the first if no round is complete */
    /* 0 to 1: one minus the chance that another one, which has not been dropped, is better than the
     * chosen one by more than 3 %, from a rank test of their rounds in pairs. */
    double confidence;
    bool provisional; /* that is too little to rely on, or there were too few rounds */
};

/* Have `count` candidates (1 to NICBARR_CONTESTANTS; one alone is chosen at once). */
void nicbarr_contest_begin(struct nicbarr_contest *contest, int count);

/*
 * Play a portion, and find the fastest, as far as is known then. Collective. What was spent since
 * `since_us`, by the user's clock, counts against `budget_us`. Nothing is played where that is
 * over already, or where all rounds have been.
 *
 * 0, or an error. After a turn's error all ranks return the same one. An error of agree() is
 * returned at once: without that function nobody can be told. There is no result then, and the
 * contest is over.
 */
int nicbarr_contest_go_on(struct nicbarr_contest *contest, const struct nicbarr_contest_user *user,
                          double since_us, double budget_us);

/* Is there something left to play? */
bool nicbarr_contest_open(const struct nicbarr_contest *contest);

/* How it is continued: is portion number `portion` (from 0 on) worth while, now that the result is
 * what it is? And what is its budget, if the first one's is `budget_us`? All portions together have
 * NICBARR_CONTEST_TOTAL such budgets. */
enum { NICBARR_CONTEST_TOTAL = 8 };
bool nicbarr_contest_wants(const struct nicbarr_contest *contest, int portion);
double nicbarr_contest_portion_us(int portion, double budget_us);

#endif
