/* SPDX-License-Identifier: BSD-3-Clause */
/* See statistics.h. */
#include "coll_nicbarr/statistics.h"

#include <stdlib.h>

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void nicbarr_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), ascending);
}

double nicbarr_quantile(const double *sorted, size_t count, double fraction)
{
    const double position = fraction * (double)(count - 1);
    const size_t below = (size_t)position;
    const size_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (position - (double)below) * (sorted[above] - sorted[below]);
}

struct nicbarr_quartiles nicbarr_quartiles(double *samples, size_t count)
{
    if (0 == count) {
        return (struct nicbarr_quartiles){0, 0, 0};
    }
    nicbarr_sort(samples, count);
    return (struct nicbarr_quartiles){nicbarr_quantile(samples, count, 0.25),
                                      nicbarr_quantile(samples, count, 0.5),
                                      nicbarr_quantile(samples, count, 0.75)};
}
