/* SPDX-License-Identifier: BSD-3-Clause */
/* See remeasure.h. */
#include "coll_nicbarr/choice/remeasure.h"

enum {
    /* Minimum number of calls between two remeasurements. PROVEN applies if this job has measured
     * the choice with sufficient confidence, and UNKNOWN if the choice was measured elsewhere or
     * without sufficient confidence. */
    UNKNOWN = 400,
    PROVEN = 20000,
    MOST = 1 << 24 /* maximum; even the fastest calls take more than a second in total, and a
                      remeasurement only 0.4 % of that */
};

static uint32_t doubled_pause(uint32_t pause)
{
    return pause < MOST / 2 ? 2 * pause : MOST;
}

uint32_t nicbarr_remeasure_pause(uint32_t before, bool proven)
{
    const uint32_t least = proven ? PROVEN : UNKNOWN, next = doubled_pause(before);
    return next > least ? next : least;
}

uint32_t nicbarr_remeasure_postpone(uint32_t *pause)
{
    if (*pause < PROVEN) {
        *pause = doubled_pause(*pause);
    }
    return *pause < PROVEN ? *pause : PROVEN;
}

double nicbarr_excess_us(double us, double spent_us, double job_us, int percent)
{
    return us + spent_us - job_us * percent / 100;
}
