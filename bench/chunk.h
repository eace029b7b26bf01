/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines the length of a chunk, which is the number of operations that are timed together, and
 * reads the clock that times them.
 *
 * Called by nicbarr_raw_limit and nicbarr_bench. A chunk is one sample. It must be long enough for
 * the cost of reading the clock to be negligible, and short enough for many chunks of both sides to
 * alternate under the same load of the machine. */
#ifndef BENCH_CHUNK_H
#define BENCH_CHUNK_H

#include <stdbool.h>

#include "os/clock.h"

/* Returns the time of a monotonic clock in microseconds; only differences are meaningful. */
static inline double chunk_clock(void)
{
    return (double)os_now_ns() * 1e-3;
}

/* Returns the number of operations before the clock is first read, which synchronise the ranks and
 * warm the caches. */
static inline unsigned chunk_approach(unsigned iterations)
{
    return iterations / 10 + 1;
}

/* A search for the number of operations per chunk. Each member of a team runs its own search, and
 * all pass the same times, so they find the same number. */
struct chunk_search {
    unsigned iterations; /* operations to be measured next; at the end the result */
    unsigned probes;     /* number of measurements so far that were long enough */
    double fastest;      /* the fastest measurement, in microseconds per operation */
};

struct chunk_search chunk_search(void);

/* Records that the current number of operations took `elapsed` microseconds. Returns true if the
 * search is complete, false if the new number has to be measured. */
bool chunk_found(struct chunk_search *search, double elapsed);

#endif
