/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the objects on the heap, by replacing the functions of malloc(3). Unlike crew_allocated(),
 * it does not count free memory that the C library keeps for the thread, nor what Open MPI's
 * threads allocate at any time. */
#ifndef TESTS_FIBRES_HEAP_H
#define TESTS_FIBRES_HEAP_H

#include <stdint.h>

/* Count the calls of this thread from now on. */
void heap_watch(void);

/* Returns the number of objects that were allocated and not freed since heap_watch(). Negative if
 * older ones were freed. */
int64_t heap_objects(void);

#endif
