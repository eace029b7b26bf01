/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits to measured curves, and values that are read from these curves. Pure functions.
 *
 * Called by granularity.c, fuzzy.c and rtt.c. A curve is a list of points in ascending order, with
 * linear interpolation.
 */
#ifndef BENCH_EXPERIMENTS_FITS_H
#define BENCH_EXPERIMENTS_FITS_H

#include <stddef.h>

/*
 * Returns the least work between two barriers with which a program reaches `efficiency` (Buntinas,
 * section 4.3: computation / (computation + barrier)). total[i] is the time of a loop with work[i],
 * and work[0] is 0. `stretch` is the time that work takes if all processes compute, divided by its
 * time on an otherwise idle core. Returns NAN if the efficiency requires more work than was
 * measured.
 */
double fits_work_needed(const double *work, const double *total, size_t n, double stretch,
                        double efficiency);

/* Returns the most work that keeps the time within `limit`: where the curve first exceeds the
 * limit, or else the last point. total[0] must be within the limit. */
double fits_work_within(const double *work, const double *total, size_t n, double limit);

/*
 * A model of RTT(P), the round-trip time of the 1:P P:1 ping-pong. In Hoefler's LoP (sections 2.2
 * and 2.3), LogP's parameters are functions of the number of consecutive messages: the cost per
 * message decreases as long as messages overlap, and increases again when the network is saturated.
 * The paper does not state the formula, but refers to its reference [13]. The following formula has
 * these properties:
 *
 *     RTT(P) = startup + P (message + saturation (1 - exp(-rate (P - 1))))
 *
 * With saturation 0 it is LogP's straight line.
 */
struct fits_lop {
    double startup;    /* independent of P: 2 L and the first overheads */
    double message;    /* per message while they overlap */
    double saturation; /* additional cost per message when there are many; negative: they cost
                          less */
    double rate;       /* rate at which saturation is reached */
};

/* Fits the model by least squares of the relative errors. The saturation is 0 with fewer than four
 * points, and so is `message` with a single point. Each rtt must be positive; n >= 1. */
struct fits_lop fits_lop(const double *peers, const double *rtt, size_t n);
double fits_lop_rtt(const struct fits_lop *lop, double peers);

#endif
