/* SPDX-License-Identifier: BSD-3-Clause */
/* When a watched choice is remeasured: after how many calls, and whether that is affordable then.
 * Pure: independent of calls, clocks and ranks. Called by data_watch.c.
 *
 * Remeasuring takes no more than a small share of a job's time. So a short job remeasures nothing,
 * and a long one uses up its share until it has measured the choice with sufficient confidence.
 * From then on pauses double, so that the cost approaches zero. */
#ifndef NICBARR_REMEASURE_H
#define NICBARR_REMEASURE_H

#include <stdbool.h>
#include <stdint.h>

enum { NICBARR_REMEASURE_PERCENT = 1 /* of a job's time */ };

/* The number of calls until the next remeasurement, after a pause of `before` calls (0: there was
 * none). `proven`: this job has measured the choice with sufficient confidence. */
uint32_t nicbarr_remeasure_pause(uint32_t before, bool proven);

/* Remeasuring was not affordable: update the pause, and return the number of calls until the next
 * attempt. */
uint32_t nicbarr_remeasure_put_off(uint32_t *pause);

/* Decides whether `us` more may be spent on measuring, if the job has run for `job_us`, has spent
 * `spent_us` of them, and may spend at most `percent`. It may if the result is not above 0; among
 * several processes the maximum counts. (Microseconds.) */
double nicbarr_lacking_us(double us, double spent_us, double job_us, int percent);

#endif
