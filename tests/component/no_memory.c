/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, this library simulates a process that is short of memory: one
 * allocation by coll/nicbarr fails, with a message. $NO_MEMORY is its number among those of this
 * process after MPI_Init. Allocations by libraries on behalf of the component are not counted.
 * declining.sh runs jobs with it to test that they do not hang.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static struct {
    uintptr_t begin, end; /* the component's code; 0: not counting yet */
} component;
static _Atomic long left; /* number of allocations until the one that fails */

/* glibc's functions behind the replaced ones */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *object, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static int find_component(struct dl_phdr_info *about, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    if (NULL == strstr(about->dlpi_name, "mca_coll_nicbarr.so")) {
        return 0;
    }
    for (int p = 0; p < about->dlpi_phnum; ++p) {
        const ElfW(Phdr) *part = &about->dlpi_phdr[p];
        if (PT_LOAD == part->p_type && 0 != (part->p_flags & PF_X)) {
            component.begin = about->dlpi_addr + part->p_vaddr;
            component.end = component.begin + part->p_memsz;
        }
    }
    return 1;
}

static void begin_counting(void)
{
    const char *number = getenv("NO_MEMORY");
    if (NULL != number) {
        left = atol(number);
        (void)dl_iterate_phdr(find_component, NULL);
    }
}

/* Returns whether the allocation by this caller fails. */
static bool fails(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    if (at < component.begin || at >= component.end || 0 != left--) {
        return false;
    }
    fprintf(stderr, "an allocation fails\n");
    errno = ENOMEM;
    return true;
}

EXPORTED int MPI_Init(int *argc, char ***argv)
{
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "MPI_Init");
    const int rc = init(argc, argv);
    begin_counting();
    return rc;
}

EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*init)(int *, char ***, int, int *) =
        (int (*)(int *, char ***, int, int *))dlsym(RTLD_NEXT, "MPI_Init_thread");
    const int rc = init(argc, argv, required, provided);
    begin_counting();
    return rc;
}

EXPORTED void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

EXPORTED void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

EXPORTED void *realloc(void *object, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(object, bytes);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
