/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a chunk; see chunk.h.
 */
#include "chunk.h"

#include <math.h>

/* Microseconds. A process that is preempted loses milliseconds. Most chunks are much shorter, so
 * they are not disturbed even when the machine is busy. */
static const double chunk_length = 200.0;
static const unsigned fewest = 50; /* operations, even if a chunk then takes longer */

/* A polling process may repeatedly be preempted for milliseconds, until the scheduler has moved it
 * to an idle core. Therefore many measurements are made, and the fastest is used. */
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
