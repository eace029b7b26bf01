/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation of a known length, to overlap with MPI.
 *
 * The length is a number of iterations and not a time, because with more processes than cores a
 * part of the time is used by other processes. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* Returns the number of iterations per microsecond of CPU time of this process. Takes some
 * milliseconds. */
double work_rate(void);

/* Computes that many iterations. */
void work_do(unsigned long steps);

#endif
