/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and quartiles of samples.
 *
 * Called by the benchmark programs when all samples have been taken. The speed of machines changes
 * within seconds. Hence there are no means, but order statistics of many short chunks, and ratios
 * only between samples that were taken next to each other. The functions do not change the caller's
 * samples.
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>

#include "coll_nicbarr/choice/statistics.h"

/* Compute the quantiles at `at` (`wanted` values in [0, 1]); n >= 1 samples. */
void stats_quantiles(const double *samples, size_t n, const double *at, size_t wanted, double *out);

/* The quartiles of n >= 1 samples. */
struct nicbarr_quartiles stats_quartiles(const double *samples, size_t n);

/* Quartiles of over[i] / under[i]. Samples i of both were taken next to each other, so the
 * machine's speed at that time cancels out. All under[i] must be positive. */
struct nicbarr_quartiles stats_ratio(const double *over, const double *under, size_t n);

/* Quartiles of minuend[i] - subtrahend[i], likewise. */
struct nicbarr_quartiles stats_difference(const double *minuend, const double *subtrahend,
                                          size_t n);

#endif
