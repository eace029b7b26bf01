/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and quartiles of measured samples.
 *
 * Called by the benchmark programs when all samples are in. Machines change speed within seconds,
 * hence no means here: order statistics of many short chunks, and ratios only of samples that were
 * taken next to each other. No function changes the caller's samples.
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>

#include "coll_nicbarr/choice/statistics.h"

/* The quantiles at `at` (each in [0, 1], `wanted` of them) into `out`; n >= 1 samples. */
void stats_quantiles(const double *samples, size_t n, const double *at, size_t wanted, double *out);

/* q1, median and q3 of n >= 1 samples. */
struct nicbarr_quartiles stats_quartiles(const double *samples, size_t n);

/* Quartiles of over[i] / under[i]: sample i of both comes from the same moment, which cancels the
 * machine's speed of that moment. Every under[i] is greater than 0. */
struct nicbarr_quartiles stats_ratio(const double *over, const double *under, size_t n);

/* Quartiles of minuend[i] - subtrahend[i], likewise of one moment. */
struct nicbarr_quartiles stats_difference(const double *minuend, const double *subtrahend,
                                          size_t n);

#endif
