/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits to measured curves, and points read off them: pure functions.
 *
 * Called by granularity.c, fuzzy.c and rtt.c. A curve is a list of points in ascending order, with
 * linear interpolation.
 */
#ifndef BENCH_EXPERIMENTS_FITS_H
#define BENCH_EXPERIMENTS_FITS_H

#include <stddef.h>

/*
 * The least work between two barriers with which a program reaches `efficiency` (Buntinas, section
 * 4.3: computation / (computation + barrier)). total[i] is the time of a loop with work[i]; work[0]
 * is 0. `stretch` is how much longer all processes take for work than one processor alone. NAN if
 * more work is needed than was measured.
 */
double fits_work_needed(const double *work, const double *total, size_t n, double stretch,
                        double efficiency);

/* The most work that keeps the time within `limit`: where the curve first exceeds the limit, or
 * else the last point. total[0] must be within the limit. */
double fits_work_within(const double *work, const double *total, size_t n, double limit);

/*
 * RTT(P) of the 1:P P:1 ping-pong. Hoefler's LoP (sections 2.2 and 2.3) takes LogP's parameters as
 * functions of the number of messages in a row: a message costs less while they overlap, and more
 * again when the network is full. The paper leaves the formula to its reference [13]; this is one
 * with those three properties:
 *
 *     RTT(P) = startup + P (message + saturation (1 - exp(-rate (P - 1))))
 *
 * With saturation 0 it is LogP's straight line.
 */
struct fits_lop {
    double startup;    /* once, for any P: 2 L and the first overheads */
    double message;    /* per message while they overlap */
    double saturation; /* additional cost of each of many messages; negative: they cost less */
    double rate;       /* how soon saturation is reached */
};

/* Least squares of relative errors. The saturation is 0 with fewer than four points, and `message`
 * as well with one point. Each rtt must be positive; n >= 1. */
struct fits_lop fits_lop(const double *peers, const double *rtt, size_t n);
double fits_lop_rtt(const struct fits_lop *lop, double peers);

#endif
