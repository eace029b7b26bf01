/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a chunk: the clock, and how many operations fit between two readings of it.
 *
 * Called by nicbarr_raw_limit and nicbarr_bench. A chunk is one sample: so long that reading the
 * clock does not count, so short that many of them, in turns, see the same moods of the machine.
 */
#ifndef BENCH_CHUNK_H
#define BENCH_CHUNK_H

#include <stdbool.h>

#include "os/clock.h"

/* Microseconds of a clock that never steps back; only differences mean something. */
static inline double chunk_clock(void)
{
    return (double)os_now_ns() * 1e-3;
}

/* Operations to do before the clock is read first, so that everybody is in step and the caches are
 * warm. */
static inline unsigned chunk_approach(unsigned iterations)
{
    return iterations / 10 + 1;
}

/* A search for the number of operations of a chunk. Each member of a team searches for itself and
 * passes the same times, so that all find the same number. */
struct chunk_search {
    unsigned iterations; /* to be measured next; in the end, what fits a chunk */
    unsigned probes;     /* measurements of a sufficient length so far */
    double fastest;      /* microseconds per operation */
};

struct chunk_search chunk_search(void);

/* Tells that the search's number of operations took `elapsed` microseconds. True: found; false:
 * measure again. */
bool chunk_found(struct chunk_search *search, double elapsed);

#endif
