/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is read off measured curves: pure functions.
 *
 * Called by granularity.c, fuzzy.c and rtt.c. Curves are points in ascending order, taken as
 * straight lines in between.
 */
#ifndef BENCH_EXPERIMENTS_FITS_H
#define BENCH_EXPERIMENTS_FITS_H

#include <stddef.h>

/*
 * The least work between two barriers that makes a program as efficient as `efficiency` (Buntinas,
 * section 4.3: computation / (computation + barrier)). total[i] is the time of a loop with work[i];
 * work[0] is 0. `stretch` is how long the processes take for work that one processor does in 1.
 * NAN: it takes more work than was measured.
 */
double fits_work_needed(const double *work, const double *total, size_t n, double stretch,
                        double efficiency);

/* The most work that keeps the time within `limit`. That is where the curve first gets above the
 * limit, or the last point. total[0] is within the limit. */
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
    double startup;    /* once, whatever P: 2 L and the first overheads */
    double message;    /* of each message while they overlap */
    double saturation; /* what a message costs more when there are many; below 0: less */
    double rate;       /* how soon that is reached */
};

/* Least squares of relative errors. With fewer than four points the saturation is 0, with one
 * the message as well. Every rtt is greater than 0; n >= 1. */
struct fits_lop fits_lop(const double *peers, const double *rtt, size_t n);
double fits_lop_rtt(const struct fits_lop *lop, double peers);

#endif
