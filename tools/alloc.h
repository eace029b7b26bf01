/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation of zeroed memory that ends the program when memory is exhausted, so callers need not
 * check for NULL. All files of the tool use it, because a short-lived command cannot do anything
 * useful without its tables.
 */
#ifndef TOOLS_ALLOC_H
#define TOOLS_ALLOC_H

#include <stdio.h>
#include <stdlib.h>

static inline _Noreturn void tool_no_memory(void)
{
    fputs("nicbarr: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

static inline void *tool_alloc(size_t count, size_t size)
{
    void *memory = calloc(0 == count ? 1 : count, size);
    if (NULL == memory) {
        fprintf(stderr, "nicbarr: out of memory: %zu items of %zu bytes\n", count, size);
        exit(EXIT_FAILURE);
    }
    return memory;
}

#endif
