/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians and quartiles of samples; pure functions, used by tuning and by the benchmarks. */
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

#endif
