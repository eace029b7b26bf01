/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends a job in which a process is out of memory at a point where the members of a communicator
 * cannot fall back to Open MPI's functions together. The other members decide without a message
 * from this process, so if it alone used Open MPI's function, both sides would wait for ever. */
#ifndef NICBARR_NO_MEMORY_H
#define NICBARR_NO_MEMORY_H

#include "coll_nicbarr/coll_nicbarr.h"

__attribute__((noreturn)) void nicbarr_end_without_memory(ompi_communicator_t *comm);

#endif
