/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Allreduce of long vectors on one node, by a reduce-scatter and an allgather of each chunk
 * (Rabenseifner's algorithm).
 *
 * A plain reduction (reduction.h) costs one synchronisation, but each process reads and combines
 * the parts of all others. Here each of P processes combines only its share of a chunk, the P-th
 * part, and publishes the result. Per element of the vector, a process thus reads about two values
 * instead of P, and it performs only the P-th part of the combinations. The parts are combined
 * along the same tree, so the results have the same bits.
 *
 * Both steps use the same rounds of the exchange: the payload of a round contains a chunk of this
 * process's vector, followed by its share of the result of an earlier chunk, which was sent a fixed
 * number of rounds before. Twice this number is less than the window, so no process waits for room
 * in the window within a reduction.
 *
 * Threads: like a blocking reduction. */
#ifndef NICBARR_SCATTERED_H
#define NICBARR_SCATTERED_H

#include "coll_nicbarr/data/classes.h"
#include "coll_nicbarr/data/reduction.h"

/* Returns whether a reduction of `bytes` bytes is faster in this way than as a plain reduction.
 * Only long vectors are, and only with more than two processes: of two, each reads the same number
 * of values from the other one in both cases. */
static inline bool nicbarr_scatters(const struct nicbarr_reducer *reducer, size_t bytes)
{
    return bytes > NICBARR_EXCHANGE_MOST && reducer->exchange.size > 2;
}

/* Perform a reduction that was initialised for all processes to read, with a predefined operation.
 */
void nicbarr_scattered_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

#endif
