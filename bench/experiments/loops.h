/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of work and barriers, as contestants: the programs of Buntinas' sections 4.3 to 4.5.
 *
 * Called by granularity.c, arrival.c, applications.c and fuzzy.c on all ranks of a team. Work is
 * counted in steps (bench/work.h), so that no clock is read and nothing else of the machine's
 * counts as work. Loops that take turns vary alike. The n-th operation of each draws the same
 * numbers, so their ratio does not depend on the luck of the draw.
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
    LOOP_ALONE,    /* work */
};

/* One operation is all steps. */
struct loop {
    enum loop_kind kind;
    MPI_Comm comm;
    const double *works; /* mean work of each step, microseconds of a processor */
    size_t steps;
    double variation; /* of the work of each process and step: up to this part more or less */
    /* set by loops_compare: */
    double rate;     /* steps of work in a microsecond */
    uint64_t random; /* state of chance */
};

/* Lets the loops take turns for `seconds`. The same figures on all ranks of the team. */
void loops_compare(const struct settings *settings, struct loop *loops, size_t count, MPI_Comm team,
                   double seconds, struct figures *figures);

/* The same for one program between the barriers of A and of B. */
void loops_compare_sides(const struct settings *settings, const struct sides *sides,
                         struct loop program, double seconds, struct figures *figures);

#endif
