/*
 * Medians and quartiles of measured samples: see stats.h.
 */
#include "stats.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double interpolate(const double *sorted, size_t n, double at)
{
    double position = at * (double)(n - 1);
    size_t below = (size_t)position;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

void stats_quantiles(const double *samples, size_t n, const double *at, size_t wanted, double *out)
{
    double *sorted = bench_alloc(n, sizeof(*sorted));
    memcpy(sorted, samples, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    for (size_t i = 0; i < wanted; i++)
        out[i] = interpolate(sorted, n, at[i]);
    free(sorted);
}

struct stats_quartiles stats_quartiles(const double *samples, size_t n)
{
    static const double quarters[3] = {0.25, 0.5, 0.75};
    double out[3];
    stats_quantiles(samples, n, quarters, 3, out);
    return (struct stats_quartiles){.q1 = out[0], .median = out[1], .q3 = out[2]};
}

struct stats_quartiles stats_ratio(const double *over, const double *under, size_t n)
{
    double *ratios = bench_alloc(n, sizeof(*ratios));
    for (size_t i = 0; i < n; i++)
        ratios[i] = over[i] / under[i];
    struct stats_quartiles quartiles = stats_quartiles(ratios, n);
    free(ratios);
    return quartiles;
}
