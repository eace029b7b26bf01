/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation that ends the program when memory runs out, so callers never see NULL.
 *
 * The benchmark programs use these functions for their messages, and for tables whose size depends
 * on the options. Without this memory a benchmark has no result, so it is pointless to handle the
 * error. The memory is zeroed. */
#ifndef BENCH_ALLOC_H
#define BENCH_ALLOC_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Allocates whole pages, as the OSU benchmarks do for their messages, so that a message's offset in
 * its cache line does not depend on earlier allocations. */
static inline void *bench_alloc_pages(size_t bytes)
{
    enum { PAGE = 4096 };
    const size_t whole = (bytes / PAGE + 1) * PAGE;
    void *memory = aligned_alloc(PAGE, whole);
    if (!memory) {
        fprintf(stderr, "out of memory: %zu bytes; ask for smaller messages (-m)\n", bytes);
        exit(EXIT_FAILURE);
    }
    memset(memory, 0, whole);
    return memory;
}

#endif
