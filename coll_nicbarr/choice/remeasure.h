/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines when a choice is remeasured: after how many calls, and whether the job can afford it
 * then. The functions depend on their arguments only. data_watch.c calls them.
 *
 * Remeasuring takes no more than NICBARR_REMEASURE_PERCENT of a job's time. Therefore a short job
 * remeasures nothing, and a long one uses its share until it has measured the choice with
 * sufficient confidence. From then on the pauses double, so that the cost approaches zero. */
#ifndef NICBARR_REMEASURE_H
#define NICBARR_REMEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { NICBARR_REMEASURE_PERCENT = 1 /* maximum share of a job's time */ };

/* Returns the number of calls until the next remeasurement, after a pause of `before` calls (0:
 * there was none). `proven`: this job has measured the choice with sufficient confidence. */
uint32_t nicbarr_remeasure_pause(uint32_t before, bool proven);

/* Called when remeasuring was not affordable: updates the pause, and returns the number of calls
 * until the next attempt. */
uint32_t nicbarr_remeasure_postpone(uint32_t *pause);

/* Returns by how much (microseconds) a job would exceed its share if it spent `us` more on
 * measuring: it has run for `job_us`, has spent `spent_us` of them on measuring, and may spend at
 * most `percent`. The job can afford it if the result is not above 0. Among several processes the
 * maximum counts. */
double nicbarr_excess_us(double us, double spent_us, double job_us, int percent);

#endif
