/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a choice that is watched is measured anew: after how many calls, and whether that is
 * affordable then. Pure: it knows nothing of calls, clocks and ranks. Called by data_watch.c.
 *
 * What is measured anew takes no more than a small share of a job's time. So a short job measures
 * nothing anew, and a long one as much as it may until it is sure. Then pauses double: in the end
 * next to nothing is spent.
 */
#ifndef NICBARR_REMEASURE_H
#define NICBARR_REMEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { NICBARR_REMEASURE_PERCENT = 1 /* of a job's time */ };

/* Calls from one time to the next, where it was `before` (0: this is the first one). `proven`: this
 * job has measured, and is sure. */
uint32_t nicbarr_remeasure_pause(uint32_t before, bool proven);

/* It was not affordable then. Calls until it is asked again, and the pause from now on. */
uint32_t nicbarr_remeasure_put_off(uint32_t *pause);

/* May `us` more be spent on measuring, after `job_us` of which `spent_us` were, where that is to be
 * no more than so many percent? It may if the result is not above 0; of several processes the
 * greatest counts. (Microseconds.) */
double nicbarr_lacking_us(double us, double spent_us, double job_us, int percent);

#endif
