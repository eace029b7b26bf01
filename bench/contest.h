/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contest: several ways to synchronise the ranks of a job, measured in turns.
 *
 * Called by nicbarr_bench and nicbarr_experiments. A contestant is an MPI operation on a
 * communicator, or a raw barrier. The contestants alternate (ABAB), one chunk each, so each chunk
 * is compared with its neighbours in time. Ranks exchange their samples only at the end, so that
 * only the contestants synchronise them meanwhile. Functions with a communicator are collective
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
extern const double contest_tails[CONTEST_TAILS]; /* the reported quantiles */

struct contestant {
    const char *name;
    bool probe; /* not a barrier: printed, but not compared with barriers */
    void *self;
    /* One chunk: synchronise the ranks, then time `iterations` operations on this rank. */
    void (*run)(void *self, unsigned iterations, double figures[FIGURES]);
    void (*once)(void *self); /* one operation; NULL: measure no tails of this contestant */

    unsigned iterations;      /* per chunk */
    double *samples[FIGURES]; /* of each chunk; after the contest rank 0 has those of the slowest
                                 rank */
    double *singles;          /* of single operations on this rank; NULL without tails */

    /* The results on rank 0. The first three are over the ranks' medians of their chunks. Each
     * quantile of single operations is the average over the ranks, as in the OSU benchmarks. */
    double average, least, most;
    double tails[CONTEST_TAILS];
};

/* Do at least `warmup` operations, and set the number of operations per chunk: `iterations`, or
 * what fits a chunk (chunk.h) if that is 0. */
void contest_prepare(struct contestant *contestant, MPI_Comm comm, unsigned warmup,
                     unsigned iterations);

/* The number of rounds that take `seconds` with prepared contestants, at least three; the same on
 * all ranks. */
unsigned contest_rounds(struct contestant *contestants, size_t count, MPI_Comm comm,
                        double seconds);

/* Play `chunks` rounds, and gather the results on rank 0. */
void contest_play(struct contestant *contestants, size_t count, MPI_Comm comm, unsigned chunks);

/* On rank 0: the percentage of the operation's time that computation hides, as osu_ibarrier defines
 * it. The contestant must measure all three figures. */
struct nicbarr_quartiles contest_overlap(const struct contestant *contestant, unsigned chunks);

void contest_free(struct contestant *contestants, size_t count);

#endif
