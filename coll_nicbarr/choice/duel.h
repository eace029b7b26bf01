/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A duel: is the barrier that was chosen still the best? It and its challengers play the program's
 * own barriers, a few each in turns, so a program pays for no barrier more than it asked for.
 *
 * A pure state machine, like contest.h's: it knows nothing of what plays, and has no clock. All
 * ranks go through the same states, as they decide by agreed figures alone. Called by watch.c.
 *
 * What is compared is what a program feels: the time from the last one's arrival to the leaving,
 * not the time that somebody waited for one who came late.
 * - Where all ranks share a clock, that is the last one's leaving less the last one's arrival.
 * - Where they do not, there are two figures: the least time that a rank spent in the barrier,
 *   which is about the last one's to come, and the greatest. A winner must be better by one of
 *   them, and not worse by the other.
 *
 * A turn is a barrier by Open MPI's own function, which keeps the challengers' memory apart, one to
 * get warm, and some that count. After a look, which drops the hopeless, there are rounds of turns,
 * and a rank test (statistics.h) says who is better by more than 3 %.
 */
#ifndef NICBARR_DUEL_H
#define NICBARR_DUEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NICBARR_DUELISTS = 8,      /* at most */
    NICBARR_DUEL_ROUNDS = 9,   /* the least for a chance of error of 1 in 100 with one outlier */
    NICBARR_DUEL_BARRIERS = 8, /* of a turn, that count */
    NICBARR_DUEL_VALUES = 2 * NICBARR_DUELISTS * NICBARR_DUEL_BARRIERS,
    NICBARR_DUEL_APART = -1 /* in place of a duelist: Open MPI's own barrier, which counts not */
};

struct nicbarr_duel {
    int count; /* duelists; the first is the chosen one */
    bool shared_clock;
    bool out[NICBARR_DUELISTS]; /* it has lost */
    int rounds;                 /* complete, besides the look */
    bool looked;
    int place, number; /* whose turn it is; the barrier of the turn, from 0 on */
    double sample[NICBARR_DUELISTS][NICBARR_DUEL_BARRIERS][2];
    double us[2][NICBARR_DUELISTS][NICBARR_DUEL_ROUNDS]; /* medians of a round, agreed on */
    bool over;
    int winner; /* once it is over */
};

/* `count` is 2 to NICBARR_DUELISTS. `shared_clock`: see above. */
void nicbarr_duel_begin(struct nicbarr_duel *duel, int count, bool shared_clock);

/* The duelist that plays the next barrier; NICBARR_DUEL_APART: Open MPI's own function, between two
 * turns. */
int nicbarr_duel_next(const struct nicbarr_duel *duel);

/* It was played: this rank has come and left then (microseconds). True: a round is over, and the
 * ranks are to agree. */
bool nicbarr_duel_note(struct nicbarr_duel *duel, double come_us, double left_us);

/* What to agree on: of each value the greatest that any rank has. Returns how many, at most
 * NICBARR_DUEL_VALUES. */
int nicbarr_duel_values(const struct nicbarr_duel *duel, double *values);

/* These were agreed on. The duel may be over then. */
void nicbarr_duel_agreed(struct nicbarr_duel *duel, const double *values);

/* The median of a duelist's rounds, of the slower of both figures (microseconds); 0: it has none.
 */
double nicbarr_duel_us(const struct nicbarr_duel *duel, int duelist);

/*
 * The challengers of candidate number `chosen` of `all` (-1: it is none of them): the first, which
 * is Open MPI's own, and as many others as have a place. Each duel goes on in the list where the
 * one before has stopped: `*next` counts, from 0 on. Returns how many.
 */
int nicbarr_duel_challengers(int chosen, int all, uint32_t *next,
                             int challengers[NICBARR_DUELISTS - 1]);

/*
 * Barriers until the next duel: few at first where a choice was measured elsewhere, or has just
 * been made by a duel, until all candidates have been challengers once (`next` and `all` as above);
 * then twice as many each time.
 */
enum {
    NICBARR_PAUSE_UNKNOWN = 400,
    NICBARR_PAUSE_MEASURED = 20000,
    NICBARR_PAUSE_MOST = 1 << 20 /* a change of the machine is noticed within so many */
};
uint32_t nicbarr_duel_pause(uint32_t before, uint32_t next, int all);

#endif
