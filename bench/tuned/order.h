/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do sums that do not commute come out right?
 *
 * Called by nicbarr_tuned. Some of tuned's algorithms combine the ranks' values in another order
 * than that of the ranks. tuned's own decision does not take these for an operation that does not
 * commute, but a rule of its rules file knows sizes only, not the operation.
 */
#ifndef BENCH_TUNED_ORDER_H
#define BENCH_TUNED_ORDER_H

#include <mpi.h>
#include <stdbool.h>

#include "bench/operations.h"

/* Whether this rank got the right result of such operations on the communicator, with few elements
 * and many: with several segments of that many bytes. True for what does not compute. Collective.
 */
bool order_is_kept(MPI_Comm comm, enum operation operation, int segment);

#endif
