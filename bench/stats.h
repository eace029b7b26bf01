/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and quartiles of samples.
 *
 * Called by the benchmark programs when all samples have been taken. Because the speed of a machine
 * may change within seconds, they are not means, but order statistics of many short chunks, and
 * ratios are only computed between samples that were taken consecutively. The functions do not
 * change the samples of the caller. */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>

#include "coll_nicbarr/choice/statistics.h"

/* Computes the quantiles at `at` (`wanted` values in [0, 1]); n >= 1 samples. */
void stats_quantiles(const double *samples, size_t n, const double *at, size_t wanted, double *out);

/* Returns the quartiles of n >= 1 samples. */
struct nicbarr_quartiles stats_quartiles(const double *samples, size_t n);

/* Returns the quartiles of over[i] / under[i]. Samples i of both were taken consecutively, so the
 * speed of the machine at that time cancels out. All under[i] must be positive. */
struct nicbarr_quartiles stats_ratio(const double *over, const double *under, size_t n);

/* Returns the quartiles of minuend[i] - subtrahend[i], whose samples were also taken
 * consecutively. */
struct nicbarr_quartiles stats_difference(const double *minuend, const double *subtrahend,
                                          size_t n);

#endif
