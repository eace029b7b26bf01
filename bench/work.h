/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation of a known length, to overlap with MPI.
 *
 * The length is a number of iterations, not a time: with more processes than processors, a clock
 * also runs while other processes compute.
 */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* Iterations per microsecond of this process's processor time. Takes some milliseconds. */
double work_rate(void);

/* Compute that many iterations. */
void work_do(unsigned long steps);

#endif
