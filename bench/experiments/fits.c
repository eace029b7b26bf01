/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits to measured curves; see fits.h.
 */
#include "fits.h"

#include <math.h>

enum { MOST_TERMS = 3 };

/* ---- curves of time over work ---- */

double fits_work_needed(const double *work, const double *total, size_t n, double stretch,
                        double efficiency)
{
    for (size_t i = 1; i < n; i++) {
        if (work[i] * stretch < efficiency * total[i]) {
            continue;
        }
        double slope = (total[i] - total[i - 1]) / (work[i] - work[i - 1]);
        double at_zero = total[i] - slope * work[i];
        /* work * stretch = efficiency * (at_zero + slope * work) */
        double needed = efficiency * at_zero / (stretch - efficiency * slope);
        return fmin(fmax(needed, work[i - 1]), work[i]);
    }
    return NAN;
}

double fits_work_within(const double *work, const double *total, size_t n, double limit)
{
    for (size_t i = 1; i < n; i++) {
        if (total[i] > limit) {
            double part = (limit - total[i - 1]) / (total[i] - total[i - 1]);
            return work[i - 1] + part * (work[i] - work[i - 1]);
        }
    }
    return work[n - 1];
}

/* ---- LoP ---- */

/* Computes the factors of the model's linear parameters. */
static void terms_of(double peers, double rate, double terms[MOST_TERMS])
{
    terms[0] = 1;
    terms[1] = peers;
    terms[2] = peers * (1 - exp(-rate * (peers - 1)));
}

double fits_lop_rtt(const struct fits_lop *lop, double peers)
{
    double terms[MOST_TERMS];
    terms_of(peers, lop->rate, terms);
    return lop->startup * terms[0] + lop->message * terms[1] + lop->saturation * terms[2];
}

/* Solves a symmetric positive definite system in place by Gaussian elimination. The solution
 * replaces `right`. */
static void solve(double matrix[MOST_TERMS][MOST_TERMS], double right[MOST_TERMS], size_t size)
{
    for (size_t pivot = 0; pivot < size; pivot++) {
        for (size_t row = 0; row < size; row++) {
            double factor = row == pivot ? 0 : matrix[row][pivot] / matrix[pivot][pivot];
            for (size_t column = pivot; column < size; column++) {
                matrix[row][column] -= factor * matrix[pivot][column];
            }
            right[row] -= factor * right[pivot];
        }
    }
    for (size_t row = 0; row < size; row++) {
        right[row] /= matrix[row][row];
    }
}

/* Fits the `size` linear parameters for a given rate. */
static struct fits_lop fit_linear(const double *peers, const double *rtt, size_t n, double rate,
                                  size_t size)
{
    double matrix[MOST_TERMS][MOST_TERMS] = {{0}}, right[MOST_TERMS] = {0};
    for (size_t i = 0; i < n; i++) {
        double terms[MOST_TERMS];
        terms_of(peers[i], rate, terms);
        for (size_t row = 0; row < size; row++) {
            for (size_t column = 0; column < size; column++) {
                matrix[row][column] += terms[row] * terms[column] / (rtt[i] * rtt[i]);
            }
            right[row] += terms[row] / rtt[i];
        }
    }
    solve(matrix, right, size);
    return (struct fits_lop){right[0], right[1], right[2], rate};
}

static double error_of(const struct fits_lop *lop, const double *peers, const double *rtt, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fits_lop_rtt(lop, peers[i]) / rtt[i] - 1;
        sum += error * error;
    }
    return sum;
}

struct fits_lop fits_lop(const double *peers, const double *rtt, size_t n)
{
    /* The rates that are tried: from `slowest`, multiplied by `step`, up to 3.2. */
    static const double slowest = 0.05, step = 1.05;
    enum { RATES = 85 };
    if (n <= MOST_TERMS) {
        struct fits_lop line = fit_linear(peers, rtt, n, slowest, n == 1 ? 1 : 2);
        line.saturation = 0;
        return line;
    }
    struct fits_lop best = fit_linear(peers, rtt, n, slowest, MOST_TERMS);
    for (int i = 1; i <= RATES; i++) {
        struct fits_lop next = fit_linear(peers, rtt, n, slowest * pow(step, i), MOST_TERMS);
        if (error_of(&next, peers, rtt, n) < error_of(&best, peers, rtt, n)) {
            best = next;
        }
    }
    return best;
}
