/* SPDX-License-Identifier: BSD-3-Clause */
/* See duel.h. Invariant: after nicbarr_duel_agreed() the state is the same on all ranks; between
 * two agreements it depends only on the number of barriers executed since. */
#include "coll_nicbarr/choice/duel.h"

#include <string.h>

#include "coll_nicbarr/choice/statistics.h"

enum {
    UNCOUNTED = 2,  /* barriers at the start of a turn: Open MPI's own, and the warm-up */
    LOOK = 2,       /* barriers that count in the look */
    LOST_ROUNDS = 3 /* a challenger that has lost this many first rounds is out */
};

/* A challenger is dropped if its best barrier of the look is slower by a factor of `hopeless`. This
 * is strict, but further duels will follow. To win, a challenger must be better by more than `tie`
 * in one kind of value (duel.h), with an error probability of at most `sure`, and must not be worse
 * in the other kind, with an error probability of at most `doubtful`. */
static const double hopeless = 2.0, tie = 1.03, sure = 0.01, doubtful = 0.05;

/* Lower limit of a measured time, because ratios require positive values. */
static const double least_us = 0.001;

static double more(double a, double b)
{
    return a > b ? a : b;
}

static int counted(const struct nicbarr_duel *duel)
{
    return duel->looked ? NICBARR_DUEL_BARRIERS : LOOK;
}

/* Returns the first duelist from `place` on that is not out, or `count` if the round is
 * complete. */
static int next_place(const struct nicbarr_duel *duel, int place)
{
    while (place < duel->count && duel->out[place]) {
        ++place;
    }
    return place;
}

void nicbarr_duel_begin(struct nicbarr_duel *duel, int count, bool shared_clock)
{
    memset(duel, 0, sizeof(*duel));
    duel->count = count;
    duel->shared_clock = shared_clock;
}

int nicbarr_duel_next(const struct nicbarr_duel *duel)
{
    return 0 == duel->number ? NICBARR_DUEL_APART : duel->place;
}

bool nicbarr_duel_note(struct nicbarr_duel *duel, double come_us, double left_us)
{
    const int n = duel->number++ - UNCOUNTED;
    if (n >= 0) {
        double *sample = duel->sample[duel->place][n];
        sample[0] = duel->shared_clock ? left_us : left_us - come_us;
        sample[1] = duel->shared_clock ? come_us : come_us - left_us;
    }
    if (n + 1 < counted(duel)) {
        return false;
    }
    duel->number = 0;
    duel->place = next_place(duel, duel->place + 1);
    return duel->place == duel->count;
}

int nicbarr_duel_values(const struct nicbarr_duel *duel, double *values)
{
    int count = 0;
    for (int d = 0; d < duel->count; ++d) {
        for (int n = 0; !duel->out[d] && n < counted(duel); ++n) {
            values[count++] = duel->sample[d][n][0];
            values[count++] = duel->sample[d][n][1];
        }
    }
    return count;
}

/* Compute a duelist's times for each barrier, of both kinds described in duel.h, from its agreed
 * values. Returns a pointer past these values. */
static const double *figures_of(const struct nicbarr_duel *duel, const double *value,
                                double us[2][NICBARR_DUEL_BARRIERS])
{
    for (int n = 0; n < counted(duel); ++n) {
        const double first = *value++, second = *value++;
        us[0][n] = more(duel->shared_clock ? first - second : first, least_us);
        us[1][n] = more(duel->shared_clock ? first - second : -second, least_us);
    }
    return value;
}

static double median(double *samples, int count)
{
    return nicbarr_quartiles(samples, (size_t)count).median;
}

static bool is_less(const struct nicbarr_duel *duel, int kind, int left, int right, double factor,
                    double chance)
{
    return nicbarr_rank_test(duel->us[kind][left], duel->us[kind][right], (size_t)duel->rounds,
                             factor) <= chance;
}

static bool beats_chosen(const struct nicbarr_duel *duel, int challenger)
{
    bool beats = false;
    for (int kind = 0; kind < 2; ++kind) {
        beats = beats || (is_less(duel, kind, challenger, 0, 1 / tie, sure) &&
                          !is_less(duel, !kind, 0, challenger, 1, doubtful));
    }
    return beats;
}

/* Returns a value that combines both kinds of times, to compare challengers that have won. */
static double product(const struct nicbarr_duel *duel, int duelist)
{
    double us[2][NICBARR_DUEL_ROUNDS];
    memcpy(us[0], duel->us[0][duelist], sizeof(us[0]));
    memcpy(us[1], duel->us[1][duelist], sizeof(us[1]));
    return median(us[0], duel->rounds) * median(us[1], duel->rounds);
}

static int find_winner(const struct nicbarr_duel *duel)
{
    int winner = 0;
    for (int d = 1; d < duel->count; ++d) {
        if (!duel->out[d] && beats_chosen(duel, d) &&
            (0 == winner || product(duel, d) < product(duel, winner))) {
            winner = d;
        }
    }
    return winner;
}

/* Drop the challengers that were slower than the current choice, by both kinds of times, in the
 * look or in each of the first rounds. */
static void drop_duelists(struct nicbarr_duel *duel)
{
    const double factor = duel->looked ? 1 : hopeless;
    const int rounds = duel->looked ? duel->rounds : 1;
    for (int d = 1; d < duel->count; ++d) {
        bool lost = true;
        for (int r = 0; r < rounds; ++r) {
            lost = lost && duel->us[0][d][r] > factor * duel->us[0][0][r] &&
                   duel->us[1][d][r] > factor * duel->us[1][0][r];
        }
        duel->out[d] = duel->out[d] || lost;
    }
}

/* Returns whether all challengers have been dropped. */
static bool alone(const struct nicbarr_duel *duel)
{
    return next_place(duel, 1) == duel->count;
}

void nicbarr_duel_agreed(struct nicbarr_duel *duel, const double *values)
{
    double us[2][NICBARR_DUEL_BARRIERS];
    for (int d = 0; d < duel->count; ++d) {
        if (!duel->out[d]) {
            values = figures_of(duel, values, us);
            for (int kind = 0; kind < 2; ++kind) {
                /* The look counts by its minimum, because disturbances only ever make a barrier
                 * slower. */
                duel->us[kind][d][duel->rounds] = duel->looked ? median(us[kind], counted(duel))
                                                  : us[kind][0] < us[kind][1] ? us[kind][0]
                                                                              : us[kind][1];
            }
        }
    }
    duel->rounds += duel->looked;
    if (!duel->looked || LOST_ROUNDS == duel->rounds) {
        drop_duelists(duel);
    }
    duel->looked = true;
    duel->place = 0;
    duel->over = alone(duel) || NICBARR_DUEL_ROUNDS == duel->rounds;
    duel->winner = duel->over && !alone(duel) ? find_winner(duel) : 0;
}

double nicbarr_duel_us(const struct nicbarr_duel *duel, int duelist)
{
    double us[NICBARR_DUEL_ROUNDS];
    const bool complete = duel->rounds > 0 && !duel->out[duelist];
    memcpy(us, duel->us[0][duelist], sizeof(us));
    return complete ? median(us, duel->rounds) : 0;
}

int nicbarr_duel_challengers(int chosen, int all, uint32_t *next,
                             int challengers[NICBARR_DUELISTS - 1])
{
    int count = 0;
    if (0 != chosen) {
        challengers[count++] = 0;
    }
    for (int c = 1; c < all && count < NICBARR_DUELISTS - 1; ++c) {
        const int candidate = 1 + (int)((*next)++ % (uint32_t)(all - 1));
        if (candidate != chosen) {
            challengers[count++] = candidate;
        }
    }
    return count;
}

uint32_t nicbarr_duel_pause(uint32_t before, uint32_t next, int all)
{
    if (next < (uint32_t)(all - 1)) {
        return before;
    }
    return before < NICBARR_PAUSE_MOST / 2 ? 2 * before : NICBARR_PAUSE_MOST;
}
