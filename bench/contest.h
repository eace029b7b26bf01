/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contest: several ways to synchronise the ranks of a job, measured in turns.
 *
 * Called by nicbarr_bench and nicbarr_experiments. A contestant is an MPI barrier on a
 * communicator, or a raw barrier. They take turns, ABAB, one chunk each. So every chunk is compared
 * with its neighbours in time. Ranks keep their own samples until the end: nothing but the
 * contestants synchronises them meanwhile. The functions that get a communicator are collective
 * over it.
 */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "coll_nicbarr/choice/statistics.h"

/* What a chunk measures, in microseconds per operation. */
enum figure {
    FIGURE_LATENCY, /* the operation alone */
    FIGURE_OVERALL, /* with computation between start and wait (ibarrier, else 0) */
    FIGURE_COMPUTE, /* that computation alone (ibarrier, else 0) */
    FIGURES
};

#define CONTEST_TAILS 3
extern const double contest_tails[CONTEST_TAILS]; /* which quantiles of single operations */

struct contestant {
    const char *name;
    bool probe; /* no barrier: shown, but not compared with barriers */
    void *self;
    /* One chunk: gets the ranks into step, then measures `iterations` operations on this rank. */
    void (*run)(void *self, unsigned iterations, double figures[FIGURES]);
    void (*once)(void *self); /* one operation; NULL: no tails are wanted of this contestant */

    unsigned iterations;      /* in a chunk */
    double *samples[FIGURES]; /* of each chunk; after the contest on rank 0: of the slowest rank */
    double *singles;          /* of single operations on this rank; NULL without tails */

    /* The results on rank 0: over the ranks, each with the median of its chunks; and the quantiles
     * of single operations, each the average of the ranks as in the OSU benchmarks. */
    double average, least, most;
    double tails[CONTEST_TAILS];
};

/* Warms the contestant up, at least `warmup` operations, and settles how many operations a chunk
 * has: `iterations`, or what fits a chunk (chunk.h) if that is 0. */
void contest_prepare(struct contestant *contestant, MPI_Comm comm, unsigned warmup,
                     unsigned iterations);

/* How many rounds of prepared contestants take `seconds`, at least three; the same on all ranks. */
unsigned contest_rounds(struct contestant *contestants, size_t count, MPI_Comm comm,
                        double seconds);

/* Plays `chunks` rounds and gathers the results on rank 0. */
void contest_play(struct contestant *contestants, size_t count, MPI_Comm comm, unsigned chunks);

/* On rank 0: the part of the operation's time that computation can hide, as osu_ibarrier has it, in
 * percent. Of contestants that measure all three figures. */
struct nicbarr_quartiles contest_overlap(const struct contestant *contestant, unsigned chunks);

void contest_free(struct contestant *contestants, size_t count);

#endif
