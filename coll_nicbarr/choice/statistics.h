/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, quartiles and a paired rank test of samples; pure functions, used by tuning and by the
 * benchmarks. */
#ifndef NICBARR_STATISTICS_H
#define NICBARR_STATISTICS_H

#include <stddef.h>

struct nicbarr_quartiles {
    double q1, median, q3;
};

void nicbarr_sort(double *samples, size_t count); /* ascending */

/* The value below which `fraction` (0 to 1) of count >= 1 sorted samples lie, interpolated between
 * two of them. */
double nicbarr_quantile(const double *sorted, size_t count, double fraction);

/* Sorts `samples`. All 0 for no samples. */
struct nicbarr_quartiles nicbarr_quartiles(double *samples, size_t count);

enum { NICBARR_PAIRS = 60 /* at most, in a rank test */ };

/* Is `left` typically less than `factor` times `right`? Wilcoxon's signed-rank test of pairs, as
 * positive numbers of any distribution. The result (above 0, at most 1) is the p-value: the
 * probability of pairs at least as clear without a difference. Near 0: left is less; near 1: it is
 * more; 1 if no pair is informative. It is exact for any number of pairs, and for ties. Only a
 * pair's ratio counts, so changes of the machine's speed from pair to pair have no effect. `count`
 * is at most NICBARR_PAIRS, which take some 50 us. */
double nicbarr_rank_test(const double *left, const double *right, size_t count, double factor);

#endif
