/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of work and barriers as contestants: the programs of Buntinas' sections 4.3 to 4.5.
 *
 * Called by granularity.c, arrival.c, applications.c and fuzzy.c on all ranks of a team. The amount
 * of work is a number of iterations (bench/work.h), so the loop need not read a clock, and does not
 * do less work if the process is preempted. The n-th operations of all compared loops draw the same
 * random numbers, so chance does not affect their ratio.
 */
#ifndef BENCH_EXPERIMENTS_LOOPS_H
#define BENCH_EXPERIMENTS_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "settings.h"
#include "sides.h"

enum loop_kind {
    LOOP_BARRIER,  /* work, then MPI_Barrier */
    LOOP_IBARRIER, /* MPI_Ibarrier, then work, then MPI_Wait: the fuzzy barrier */
    LOOP_ALONE,    /* work only */
};

/* A loop to be measured. One operation runs all its steps. */
struct loop {
    enum loop_kind kind;
    MPI_Comm comm;
    const double *works; /* mean work of each step, in microseconds of CPU time */
    size_t steps;
    double variation; /* maximum relative deviation of the work of each process and step */
    /* Set by loops_compare(): */
    double rate;     /* iterations of work per microsecond */
    uint64_t random; /* state of the random generator */
};

/* Measures the loops alternately for `seconds`. The results are the same on all ranks of the
 * team. */
void loops_compare(const struct settings *settings, struct loop *loops, size_t count, MPI_Comm team,
                   double seconds, struct figures *figures);

/* Measures one program with the barriers of A and of B. */
void loops_compare_sides(const struct settings *settings, const struct sides *sides,
                         struct loop program, double seconds, struct figures *figures);

#endif
