/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether an algorithm keeps the order of ranks in reductions that do not commute.
 *
 * Called by nicbarr_tuned. Some algorithms of coll/tuned combine the values of the ranks in a
 * different order. By default coll/tuned does not choose them for operations that do not commute,
 * but rules in a rules file do not depend on the operation. */
#ifndef BENCH_TUNED_ORDER_H
#define BENCH_TUNED_ORDER_H

#include <mpi.h>
#include <stdbool.h>

#include "bench/operations.h"

/* Returns whether this rank has received correct results of such operations, with few elements, and
 * with several segments of `segment` bytes. Returns true for collectives that do not compute.
 * Collective over the communicator. */
bool order_is_kept(MPI_Comm comm, enum operation operation, int segment);

#endif
