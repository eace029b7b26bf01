/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning cache: measured choices, remembered across jobs in a file of the user's. One process
 * of a communicator asks it, and one writes to it. Complaints are printed once on a node.
 */
#ifndef NICBARR_CACHE_H
#define NICBARR_CACHE_H

#include "coll_nicbarr/shape.h"

/* The remembered choice for `shape` and `what`, a collective and its size in words (NULL:
 * MPI_Barrier); false if there is none. */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, const char *what,
                        struct nicbarr_choice *choice);

/* Remember `choice`, which takes `choice_us`, where Open MPI's own takes `openmpi_us`. */
void nicbarr_cache_write(const struct nicbarr_shape *shape, const char *what,
                         struct nicbarr_choice choice, double choice_us, double openmpi_us);

#endif
