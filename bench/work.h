/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation of a known length, which MPI can overlap with.
 *
 * Called by mpi_side.c for the overlap of non-blocking operations. The length is counted in steps,
 * not by a clock: with more processes than processors, a clock also runs while others compute.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* Steps in a microsecond of this process's own processor time. Takes some milliseconds. */
double work_rate(void);

/* Computes that many steps. */
void work_do(unsigned long steps);

#endif
