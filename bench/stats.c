/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Medians and quartiles of samples; see stats.h.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

void stats_quantiles(const double *samples, size_t n, const double *at, size_t wanted, double *out)
{
    double *sorted = bench_alloc(n, sizeof(*sorted));
    memcpy(sorted, samples, n * sizeof(*sorted));
    nicbarr_sort(sorted, n);
    for (size_t i = 0; i < wanted; i++)
        out[i] = nicbarr_quantile(sorted, n, at[i]);
    free(sorted);
}

struct nicbarr_quartiles stats_quartiles(const double *samples, size_t n)
{
    double *copy = bench_alloc(n, sizeof(*copy));
    memcpy(copy, samples, n * sizeof(*copy));
    struct nicbarr_quartiles quartiles = nicbarr_quartiles(copy, n);
    free(copy);
    return quartiles;
}

struct nicbarr_quartiles stats_ratio(const double *over, const double *under, size_t n)
{
    double *ratios = bench_alloc(n, sizeof(*ratios));
    for (size_t i = 0; i < n; i++)
        ratios[i] = over[i] / under[i];
    struct nicbarr_quartiles quartiles = stats_quartiles(ratios, n);
    free(ratios);
    return quartiles;
}

struct nicbarr_quartiles stats_difference(const double *minuend, const double *subtrahend, size_t n)
{
    double *differences = bench_alloc(n, sizeof(*differences));
    for (size_t i = 0; i < n; i++) {
        differences[i] = minuend[i] - subtrahend[i];
    }
    struct nicbarr_quartiles quartiles = stats_quartiles(differences, n);
    free(differences);
    return quartiles;
}
