/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A contest measures several ways to synchronise the ranks of a job alternately.
 *
 * Called by nicbarr_bench and nicbarr_experiments. A contestant is an MPI operation on a
 * communicator, or a raw barrier. The contestants alternate (ABAB), one chunk each, so that each
 * chunk is compared with chunks that were measured just before and after it. Ranks exchange their
 * samples only at the end, so that during the measurement only the contestants synchronise them.
 * Functions with a communicator are collective over it.
 */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "coll_nicbarr/choice/statistics.h"

/* The measurements of a chunk, in microseconds per operation. */
enum figure {
    FIGURE_LATENCY, /* duration of the operation alone */
    FIGURE_OVERALL, /* with computation between start and wait (ibarrier, else 0) */
    FIGURE_COMPUTE, /* duration of that computation alone (ibarrier, else 0) */
    FIGURES
};

#define CONTEST_TAILS 3
extern const double contest_tails[CONTEST_TAILS]; /* the reported quantiles */

struct contestant {
    const char *name;
    bool probe; /* not a barrier: printed, but not compared with barriers */
    void *self;
    /* Runs one chunk: synchronises the ranks, then times `iterations` operations on this rank. */
    void (*run)(void *self, unsigned iterations, double figures[FIGURES]);
    void (*once)(void *self); /* runs one operation; NULL: the tails of this contestant are not
                                 measured */

    unsigned iterations;      /* number of operations per chunk */
    double *samples[FIGURES]; /* of each chunk; after the contest, on rank 0, samples of the slowest
                                 rank */
    double *singles;          /* times of single operations on this rank; NULL without tails */

    /* The results on rank 0. The average, minimum and maximum are taken over the ranks, of the
     * median over the chunks of each rank. Each quantile of single operations is the average over
     * the ranks, as in the OSU benchmarks. */
    double average, least, most;
    double tails[CONTEST_TAILS];
};

/* Runs at least `warmup` operations, and sets the number of operations per chunk: `iterations`, or,
 * if that is 0, the number that fits a chunk (chunk.h). */
void contest_prepare(struct contestant *contestant, MPI_Comm comm, unsigned warmup,
                     unsigned iterations);

/* Returns the number of rounds that prepared contestants complete in `seconds`, at least three. It
 * is the same on all ranks. */
unsigned contest_rounds(struct contestant *contestants, size_t count, MPI_Comm comm,
                        double seconds);

/* Runs `chunks` rounds, and gathers the results on rank 0. */
void contest_play(struct contestant *contestants, size_t count, MPI_Comm comm, unsigned chunks);

/* Returns, on rank 0, the percentage of the operation's time that is hidden by computation, as
 * defined by osu_ibarrier. The contestant must measure all three times. */
struct nicbarr_quartiles contest_overlap(const struct contestant *contestant, unsigned chunks);

void contest_free(struct contestant *contestants, size_t count);

#endif
