/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, quartiles and a paired rank test of samples; pure functions, used by tuning and by the
 * benchmarks. */
#ifndef NICBARR_STATISTICS_H
#define NICBARR_STATISTICS_H

#include <stddef.h>

struct nicbarr_quartiles {
    double q1, median, q3;
};

void nicbarr_sort(double *samples, size_t count); /* sorts in ascending order */

/* Returns the value below which `fraction` (0 to 1) of count >= 1 sorted samples lie, interpolated
 * between two samples. */
double nicbarr_quantile(const double *sorted, size_t count, double fraction);

/* Returns the quartiles of `samples`, which it sorts; all are 0 if there are no samples. */
struct nicbarr_quartiles nicbarr_quartiles(double *samples, size_t count);

enum { NICBARR_PAIRS = 60 /* maximum number of pairs in a rank test */ };

/* Test whether `left` is typically less than `factor` times `right`, by Wilcoxon's signed-rank test
 * of `count` pairs of numbers, which are positive but may have any distribution. Returns the
 * p-value, that is, the probability of a result at least as extreme if there were no difference. A
 * value near 0 means that `left` is less, and a value near 1 that it is greater; if all pairs are
 * equal, the value is 1. The test is exact for any number of pairs, even with ties. As it considers
 * only the ratio within each pair, changes of the machine's speed from one pair to the next have no
 * effect. With the maximum of NICBARR_PAIRS pairs it takes about 50 us. */
double nicbarr_rank_test(const double *left, const double *right, size_t count, double factor);

#endif
