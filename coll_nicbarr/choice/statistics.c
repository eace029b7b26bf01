/* SPDX-License-Identifier: BSD-3-Clause */
/* See statistics.h. */
#include "coll_nicbarr/choice/statistics.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_samples(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void nicbarr_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), compare_samples);
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

/* ---- the rank test ---- */

struct difference {
    double size;
    bool positive;
};

static int compare_differences(const void *left, const void *right)
{
    const struct difference *a = left, *b = right;
    return (a->size > b->size) - (a->size < b->size);
}

/* Compute the differences of the pairs, sorted by magnitude; pairs without a difference are
 * omitted. The difference of l and r is (l - r) / (l + r). Like the logarithm of l / r it grows
 * with this ratio, and changes its sign if l and r are exchanged. */
static size_t find_differences(struct difference *of, const double *left, const double *right,
                               size_t count, double factor)
{
    size_t found = 0;
    for (size_t i = 0; i < count; ++i) {
        const double r = factor * right[i], difference = (left[i] - r) / (left[i] + r);
        if (difference < 0 || difference > 0) {
            of[found++] =
                (struct difference){difference > 0 ? difference : -difference, difference > 0};
        }
    }
    qsort(of, found, sizeof(*of), compare_differences);
    return found;
}

/* Compute the rank of each difference, multiplied by two. Tied differences get the mean of their
 * ranks, which is thus an integer, too. Returns the sum over the positive differences. */
static size_t find_ranks(const struct difference *of, size_t count, size_t ranks[NICBARR_PAIRS])
{
    size_t positive = 0;
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && of[end].size <= of[first].size) {
            ++end;
        }
        for (size_t i = first; i < end; ++i) {
            ranks[i] = first + 1 + end; /* twice the mean of first + 1 to end */
            positive += of[i].positive ? ranks[i] : 0;
        }
    }
    return positive;
}

enum { SUMS = NICBARR_PAIRS * (NICBARR_PAIRS + 1) / 2 + 1 };

/* Returns the probability that the sum of a random subset of the ranks is at most `most`. Single
 * precision is sufficient here and halves the stack usage, which matters in threads with small
 * stacks. */
static double tail_probability(const size_t *ranks, size_t count, size_t most)
{
    float of[SUMS] = {1}; /* probability by sum */
    for (size_t i = 0; i < count; ++i) {
        for (size_t sum = most + 1; sum-- > 0;) {
            of[sum] = (of[sum] + (sum >= ranks[i] ? of[sum - ranks[i]] : 0)) / 2;
        }
    }
    double all = 0;
    for (size_t sum = 0; sum <= most; ++sum) {
        all += (double)of[sum];
    }
    return all;
}

double nicbarr_rank_test(const double *left, const double *right, size_t count, double factor)
{
    struct difference differences[NICBARR_PAIRS] = {{0, false}};
    size_t ranks[NICBARR_PAIRS];
    const size_t found = find_differences(differences, left, right, count, factor);
    const size_t positive = find_ranks(differences, found, ranks), all = found * (found + 1);
    if (positive >= all) {
        return 1;
    }
    /* The distribution is symmetric, so the probability is computed from the smaller tail. */
    return positive < all / 2 ? tail_probability(ranks, found, positive)
                              : 1 - tail_probability(ranks, found, all - positive - 1);
}
