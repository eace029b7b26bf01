/* SPDX-License-Identifier: BSD-3-Clause */
/* See heap.h. */
#include "tests/fibres/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

static _Thread_local bool watched;
static int64_t objects;

void heap_watch(void)
{
    watched = true;
}

int64_t heap_objects(void)
{
    return objects;
}

/* glibc's functions behind the replaced ones */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *object, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *object);

static void *count_new(void *object)
{
    objects += watched && NULL != object;
    return object;
}

void *malloc(size_t bytes)
{
    return count_new(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return count_new(__libc_calloc(count, bytes));
}

void *realloc(void *object, size_t bytes)
{
    void *moved = __libc_realloc(object, bytes);
    if (NULL == object) {
        return count_new(moved);
    }
    objects -= watched && 0 == bytes && NULL == moved;
    return moved;
}

void *memalign(size_t alignment, size_t bytes)
{
    return count_new(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **object, size_t alignment, size_t bytes)
{
    *object = memalign(alignment, bytes);
    return NULL == *object ? ENOMEM : 0;
}

void free(void *object)
{
    objects -= watched && NULL != object;
    __libc_free(object);
}
