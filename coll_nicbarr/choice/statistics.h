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
 * of pairs of positive numbers, of any distribution. Returns the p-value (above 0, at most 1): the
 * probability of a result at least as extreme if there is no difference. Near 0, left is less; near
 * 1, it is greater; the result is 1 if all pairs are equal. The test is exact for any number of
 * pairs, also with ties. Only the ratio within each pair matters, so changes of the machine's speed
 * from one pair to the next have no effect. `count` is at most NICBARR_PAIRS, which take about 50
 * us. */
double nicbarr_rank_test(const double *left, const double *right, size_t count, double factor);

#endif
