/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tuning cache: measured choices, remembered across jobs in a file of the user's. One process
 * of a communicator asks it, and one writes to it. Complaints are printed once on a node.
 */
#ifndef NICBARR_CACHE_H
#define NICBARR_CACHE_H

#include "coll_nicbarr/tuning.h"

/* The remembered choice for `shape`; false if there is none. */
bool nicbarr_cache_read(const struct nicbarr_shape *shape, struct nicbarr_choice *choice);

/* Remember `choice`, one of the candidates of `tuning`. */
void nicbarr_cache_write(const struct nicbarr_shape *shape, const struct nicbarr_tuning *tuning,
                         struct nicbarr_choice choice);

#endif
