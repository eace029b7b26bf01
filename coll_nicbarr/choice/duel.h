/* SPDX-License-Identifier: BSD-3-Clause */
/* A duel checks whether the chosen barrier is still the best. It and its challengers execute the
 * program's own barriers, a few each in turns, so that the program executes no additional barriers.
 *
 * A pure state machine, like contest.h's: it is independent of the players, and has no clock. All
 * ranks go through the same states, as they decide by agreed values alone. Called by watch.c.
 *
 * The duel compares the time from the last rank's arrival to the leaving, which is the program's
 * cost, and not the wait for a late rank.
 * - If all ranks share a clock, that is the last rank's leaving minus the last rank's arrival.
 * - Otherwise, there are two values: the minimum time that a rank spent in the barrier, which is
 *   about that of the last one to arrive, and the maximum. A winner must be better by one of them,
 *   and not worse by the other.
 *
 * A turn is a barrier by Open MPI's own function, which separates the challengers' memory, one to
 * warm up, and some that count. After a look, which drops the hopeless, there are rounds of turns,
 * and a rank test (statistics.h) decides whether one is better by more than 3 %. */
#ifndef NICBARR_DUEL_H
#define NICBARR_DUEL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NICBARR_DUELISTS = 8,    /* at most */
    NICBARR_DUEL_ROUNDS = 9, /* the minimum for an error probability of 1 in 100 with one outlier */
    NICBARR_DUEL_BARRIERS = 8, /* of a turn, without the warm-up */
    NICBARR_DUEL_VALUES = 2 * NICBARR_DUELISTS * NICBARR_DUEL_BARRIERS,
    NICBARR_DUEL_APART = -1 /* in place of a duelist: Open MPI's own barrier, not counted */
};

struct nicbarr_duel {
    int count; /* duelists; the first is the present choice */
    bool shared_clock;
    bool out[NICBARR_DUELISTS]; /* has lost */
    int rounds;                 /* complete ones, without the look */
    bool looked;
    int place, number; /* the duelist whose turn it is; the barrier of the turn, from 0 */
    double sample[NICBARR_DUELISTS][NICBARR_DUEL_BARRIERS][2];
    double us[2][NICBARR_DUELISTS][NICBARR_DUEL_ROUNDS]; /* medians of a round, agreed */
    bool over;
    int winner; /* once it is over */
};

/* `count` is 2 to NICBARR_DUELISTS. `shared_clock`: see above. */
void nicbarr_duel_begin(struct nicbarr_duel *duel, int count, bool shared_clock);

/* The duelist that executes the next barrier; NICBARR_DUEL_APART: Open MPI's own function, between
 * two turns. */
int nicbarr_duel_next(const struct nicbarr_duel *duel);

/* Record a barrier with the times at which this rank has arrived and left (microseconds). True: a
 * round is over, and the ranks must agree. */
bool nicbarr_duel_note(struct nicbarr_duel *duel, double come_us, double left_us);

/* Write the values on whose maxima over all ranks the ranks must agree. Returns their number, at
 * most NICBARR_DUEL_VALUES. */
int nicbarr_duel_values(const struct nicbarr_duel *duel, double *values);

/* Continue with the agreed values. The duel may be over then. */
void nicbarr_duel_agreed(struct nicbarr_duel *duel, const double *values);

/* The median of a duelist's rounds (microseconds), each of which counts by the slower of its two
 * values; 0: there is none. */
double nicbarr_duel_us(const struct nicbarr_duel *duel, int duelist);

/* Select the challengers of candidate number `chosen` of `all` (-1: none of them): the first
 * candidate, which is Open MPI's own, and as many others as fit. Each duel continues in the list
 * where the previous one stopped; `*next`, initially 0, keeps the position. Returns the number of
 * challengers. */
int nicbarr_duel_challengers(int chosen, int all, uint32_t *next,
                             int challengers[NICBARR_DUELISTS - 1]);

/* The number of barriers until the next duel. If the choice was measured elsewhere, or was just
 * made by a duel, it is small until all candidates have been challengers once (`next` and `all` are
 * those of nicbarr_duel_challengers()). From then on it doubles each time. */
enum {
    NICBARR_PAUSE_UNKNOWN = 400,
    NICBARR_PAUSE_MEASURED = 20000,
    NICBARR_PAUSE_MOST = 1 << 20 /* the upper limit of barriers until a change of the machine is
                                  * detected */
};
uint32_t nicbarr_duel_pause(uint32_t before, uint32_t next, int all);

#endif
