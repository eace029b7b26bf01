/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines when a choice is remeasured: after how many calls, and whether the job can afford it
 * then. The functions depend on their arguments only. Called by data_watch.c, trial.c, batches.c
 * and expense.c.
 *
 * Remeasuring takes at most NICBARR_REMEASURE_PERCENT of a job's time. A short job therefore
 * remeasures nothing, and a long job uses its share until it has measured the choice with
 * sufficient confidence. From then on each pause is twice as long as the previous one, so the cost
 * approaches zero. */
#ifndef NICBARR_REMEASURE_H
#define NICBARR_REMEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { NICBARR_REMEASURE_PERCENT = 1 /* maximum share of a job's time */ };

/* Returns the number of calls until the next remeasurement, where `before` is the number of calls
 * before the latest one (0 if there was none), and `proven` states whether this job has measured
 * the choice with sufficient confidence. */
uint32_t nicbarr_remeasure_pause(uint32_t before, bool proven);

/* Called when remeasuring was not affordable: updates the pause, and returns the number of calls
 * until the next attempt. */
uint32_t nicbarr_remeasure_postpone(uint32_t *pause);

/* Returns by how many microseconds a job would exceed its share if it spent another `us` on
 * measuring. The job has run for `job_us`, of which it has spent `spent_us` on measuring, and it
 * may spend at most `percent` of its time. The job can afford the measurement if the result is not
 * positive. If several processes compute it, the maximum counts. */
double nicbarr_excess_us(double us, double spent_us, double job_us, int percent);

#endif
