/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules, as those who play them need them; see schedule.h. */
#include "libmyr/schedule.h"

#include <stdlib.h>

bool myr_schedule_slot(uint32_t sender, uint32_t receiver, myr_schedule_fn schedule_of,
                       const void *context, uint32_t *slot)
{
    struct myr_schedule schedule;
    if (!schedule_of(context, receiver, &schedule)) {
        return false;
    }
    uint32_t waits = 0;
    const uint32_t *peer = schedule.peers;
    *slot = UINT32_MAX;
    for (uint32_t s = 0; s < schedule.nsteps; ++s) {
        peer += schedule.steps[s].sends;
        for (uint32_t i = 0; i < schedule.steps[s].waits; ++i, ++waits) {
            if (*peer++ == sender) {
                *slot = waits;
            }
        }
    }
    free(schedule.steps);
    return UINT32_MAX != *slot;
}
