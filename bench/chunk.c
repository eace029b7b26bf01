/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a chunk; see chunk.h.
 */
#include "chunk.h"

#include <math.h>

/* The length of a chunk in microseconds. A process that is preempted loses milliseconds. Chunks are
 * much shorter, so most of them are not affected even if the machine is busy. */
static const double chunk_length = 200.0;
static const unsigned fewest = 50; /* operations, even if a chunk then takes longer */

/* The number of measurements, of which the fastest is used. There are many, because a polling
 * process may repeatedly be preempted for milliseconds, until the scheduler has moved it to an idle
 * core. */
static const unsigned enough_probes = 15;

struct chunk_search chunk_search(void)
{
    return (struct chunk_search){.iterations = fewest, .fastest = INFINITY};
}

bool chunk_found(struct chunk_search *search, double elapsed)
{
    search->fastest = fmin(search->fastest, elapsed / search->iterations);
    /* A quarter of a chunk is long enough for extrapolating. */
    if (search->iterations * search->fastest < chunk_length / 4) {
        search->iterations *= 2;
        return false;
    }
    if (++search->probes < enough_probes)
        return false;
    unsigned fitting = (unsigned)(chunk_length / search->fastest);
    search->iterations = fitting > fewest ? fitting : fewest;
    return true;
}
