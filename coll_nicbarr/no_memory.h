/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a job in which a process is out of memory at a point where the members of a communicator
 * cannot fall back to Open MPI's functions together. The other members decide without a message
 * from this process. If it alone used Open MPI's function, or returned an error to the program,
 * they would wait for it for ever. */
#ifndef NICBARR_NO_MEMORY_H
#define NICBARR_NO_MEMORY_H

#include <stdlib.h>

#include "coll_nicbarr/coll_nicbarr.h"

__attribute__((noreturn)) void nicbarr_end_without_memory(ompi_communicator_t *comm);

/* Returns `bytes` > 0 bytes of memory for a collective on `comm`, to be freed by free(). Ends the
 * job if there is no memory. */
static inline void *nicbarr_allocate(ompi_communicator_t *comm, size_t bytes)
{
    void *memory = malloc(bytes);
    if (NULL == memory) {
        nicbarr_end_without_memory(comm);
    }
    return memory;
}

#endif
