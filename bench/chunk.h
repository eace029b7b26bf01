/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The length of a chunk: how many operations are timed together, and the clock that times them.
 *
 * Called by nicbarr_raw_limit and nicbarr_bench. A chunk is one sample. It is long enough that
 * reading the clock does not count, and short enough that many chunks of the two sides alternate
 * under the same load of the machine.
 */
#ifndef BENCH_CHUNK_H
#define BENCH_CHUNK_H

#include <stdbool.h>

#include "os/clock.h"

/* Microseconds of a monotonic clock; only differences are meaningful. */
static inline double chunk_clock(void)
{
    return (double)os_now_ns() * 1e-3;
}

/* Operations before the clock is first read, so that the ranks are synchronised and the caches
 * warm. */
static inline unsigned chunk_approach(unsigned iterations)
{
    return iterations / 10 + 1;
}

/* A search for the number of operations of a chunk. Each member of a team runs its own search, and
 * all pass the same times, so they find the same number. */
struct chunk_search {
    unsigned iterations; /* to be measured next; at the end the result */
    unsigned probes;     /* measurements of a sufficient length so far */
    double fastest;      /* microseconds per operation */
};

struct chunk_search chunk_search(void);

/* Pass that the current number of operations took `elapsed` microseconds. True if the search is
 * over, false if the new number is to be measured. */
bool chunk_found(struct chunk_search *search, double elapsed);

#endif
