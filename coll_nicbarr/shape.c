/* SPDX-License-Identifier: BSD-3-Clause */
/* See shape.h. */
#include "coll_nicbarr/shape.h"

#include <stdbool.h>

#include "coll_nicbarr/digest.h"

uint64_t nicbarr_shape_key(const struct nicbarr_shape *shape)
{
    const uint32_t fields[] = {shape->nodes,      shape->processes, shape->homes,
                               shape->processors, shape->nics,      shape->oversubscribed};
    return UINT64_C(1) << 63 | nicbarr_digest(0, fields, sizeof(fields));
}

static bool add_schedule(uint64_t *digest, struct nicbarr_choice choice, uint32_t size,
                         uint32_t rank)
{
    struct myr_schedule schedule;
    if (!nicbarr_schedule_create(choice, size, rank, &schedule)) {
        return false;
    }
    *digest = nicbarr_digest(*digest, schedule.steps, schedule.nsteps * sizeof(*schedule.steps));
    *digest = nicbarr_digest(*digest, schedule.peers, schedule.npeers * sizeof(*schedule.peers));
    nicbarr_schedule_destroy(&schedule);
    return true;
}

/* To detect changes of the algorithms, the schedules for a single number of processes are
 * sufficient. This number is not a power of two, so that the pairwise exchange includes ranks
 * beyond the highest power of two (emit_pairwise()). */
uint64_t nicbarr_schedules_digest(void)
{
    enum { SIZE = 13, PARAMETERS = 3 };
    uint64_t digest = 0;
    bool good = true;
    for (enum nicbarr_algorithm a = NICBARR_OPENMPI + 1; a < NICBARR_SCHEDULES; ++a) {
        const uint32_t most = nicbarr_parameter_max(a, SIZE);
        for (uint32_t p = most > 0; p <= PARAMETERS && p <= most; ++p) {
            for (uint32_t rank = 0; good && rank < SIZE; ++rank) {
                good = add_schedule(&digest, (struct nicbarr_choice){a, p, 0}, SIZE, rank);
            }
        }
    }
    return good ? digest : 0;
}

bool nicbarr_shape_without(struct nicbarr_shape *shape, uint32_t nics)
{
    const uint32_t left = shape->nics & ~nics;
    shape->nics = 0 == left ? shape->nics : left;
    return 0 != left;
}
