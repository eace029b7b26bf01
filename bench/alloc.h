/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is there or ends the program.
 *
 * Called by every benchmark program, for tables whose size follows from the options. A benchmark
 * without its tables has nothing to say, so callers never see NULL. The memory is zeroed.
 */
#ifndef BENCH_ALLOC_H
#define BENCH_ALLOC_H

#include <stdio.h>
#include <stdlib.h>

static inline void *bench_alloc(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) {
        fprintf(stderr, "out of memory: %zu items of %zu bytes; ask for fewer chunks (-c)\n", count,
                size);
        exit(EXIT_FAILURE);
    }
    return memory;
}

#endif
