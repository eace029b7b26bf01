/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions on one node: MPI_Allreduce, MPI_Reduce and their non-blocking variants.
 *
 * The vector is cut into chunks of whole elements, and each chunk takes one round of the
 * communicator's exchange (libmyr/node/exchange.h): every process writes its own part, then reads
 * all parts and combines them itself. Therefore a reduction takes a single synchronisation step,
 * regardless of the number of processes, and no process computes on behalf of another. In
 * MPI_Reduce only the root reads. The other processes proceed to the next round as soon as they
 * have written their part, so they may be a window ahead of the root.
 *
 * Blocking reductions of long vectors use exchanges with larger slots. The parts of such a round
 * are combined piece by piece, so that intermediate values stay in the cache. In a long
 * MPI_Allreduce, the processes share the work of combining, instead of each combining the whole
 * vector (scattered.h).
 *
 * **Reproducibility.** Parts are combined along a fixed binary tree over the ranks: first pairs of
 * neighbours, then pairs of pairs, with the lower ranks on the left (combine_ranks()). The result
 * depends only on the data, the operation and the number of processes, and not on the order of
 * arrival. Non-commutative operations are executed correctly, too.
 *
 * **Other uses of a round.** Instead of combining the parts by a predefined operation, a reduction
 * may pass them to a consumer (struct nicbarr_consumer). User-defined operations (user_op.h) and
 * gathers do so.
 *
 * The rounds of an exchange are assigned to reductions in the order in which these were begun, so a
 * reduction writes its first part only after all parts of the earlier reductions have been written.
 * Blocking and non-blocking reductions use separate exchanges. Only one thread at a time may use an
 * exchange; for non-blocking reductions, this is the thread that holds the requests' lock
 * (requests.h). */
#ifndef NICBARR_REDUCTION_H
#define NICBARR_REDUCTION_H

#include "ompi/release.h"

#include "libmyr/node/exchange.h"

enum { NICBARR_NO_ROOT = -1 /* all processes get the result */ };

/* The state that the blocking reductions of a communicator share; the non-blocking ones share
 * another instance. */
struct nicbarr_reducer {
    struct myr_exchange exchange; /* without a record if not set up (yet) */
    uint8_t *parts;               /* [size][piece]: intermediate values while parts are combined */
    uint32_t piece;               /* number of bytes that are combined at a time */
    uint32_t begun;               /* rounds that are assigned to reductions */
};

struct nicbarr_reduction;

/* A consumer processes the payload of a rank in a round, `bytes` bytes, when it has arrived. */
struct nicbarr_consumer {
    void (*consume)(struct nicbarr_consumer *consumer, const struct nicbarr_reduction *reduction,
                    const struct myr_exchange *x, size_t bytes);
    uint32_t rank; /* that rank, or NICBARR_EVERYBODY */
    uint8_t *to;   /* destination of the next bytes */
    size_t block;  /* for NICBARR_EVERYBODY: distance of the blocks of two processes */
};
enum { NICBARR_EVERYBODY = UINT32_MAX };

/* Returns a consumer that copies the payload of `rank` to `to`. */
struct nicbarr_consumer nicbarr_consumer_of(uint32_t rank, uint8_t *to);
/* Returns a consumer that concatenates the blocks of all processes, of `block` bytes each. */
struct nicbarr_consumer nicbarr_consumer_of_all(uint8_t *to, size_t block);

struct nicbarr_reduction {
    const uint8_t *from;               /* the first element that is not written yet */
    const uint8_t *own;                /* the first element that is not read yet, if this process
                                          reads its own part from the caller's memory; else NULL */
    struct nicbarr_consumer *consumer; /* NULL: a predefined operation combines the parts */
    uint8_t *to;                       /* the destination of the next result */
    ompi_op_t *op;
    ompi_datatype_t *type;
    size_t extent;      /* extent of an element in a slot, bytes */
    uint32_t unwritten; /* number of elements that are not written yet */
    uint32_t unread;    /* number of elements whose rounds are not complete yet */
    uint32_t chunk;     /* number of elements in a round; set when the reduction begins */
    bool reads;         /* false: the result is for another process */
    uint32_t first;     /* number of the first round */
};

/* Initialise a reduction with a predefined operation, on a predefined type: `count` > 0 elements of
 * at most MYR_SLOT_BYTES each. */
void nicbarr_reduction_init(struct nicbarr_reduction *reduction, const void *from, void *to,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
                            bool reads);

/* Initialise a reduction of `bytes` bytes with a consumer. */
void nicbarr_reduction_init_consumer(struct nicbarr_reduction *reduction, const void *from,
                                     size_t bytes, struct nicbarr_consumer *consumer, bool reads);

/* Let this process, which must be the only one that reads, use its own part from the caller's
 * memory, without a copy in the slots. For long vectors that are not overwritten by the result. */
static inline void nicbarr_reduction_keep_own(struct nicbarr_reduction *reduction)
{
    reduction->own = reduction->from;
}

/* Reserve the reduction's rounds. Returns their number. */
static inline uint32_t nicbarr_reduction_begin(struct nicbarr_reducer *reducer,
                                               struct nicbarr_reduction *reduction)
{
    reduction->chunk = myr_exchange_width(&reducer->exchange) / (uint32_t)reduction->extent;
    const uint32_t rounds = (reduction->unread + reduction->chunk - 1) / reduction->chunk;
    reduction->first = reducer->begun + 1;
    reducer->begun += rounds;
    return rounds;
}

/* Write as many chunks as there is space for, if all earlier reductions have been written. */
void nicbarr_reduction_write(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

/* Advance as far as possible. Returns whether the reduction is complete. */
bool nicbarr_reduction_progress(struct nicbarr_reducer *reducer,
                                struct nicbarr_reduction *reduction);

/* Combine the parts of all ranks in the round that is currently being read: `count` elements of
 * each part, from element `first` on. The result is stored at `to`; returns the address of the
 * first byte after it. */
uint8_t *nicbarr_reduction_combine(const struct nicbarr_reducer *reducer,
                                   const struct nicbarr_reduction *reduction, uint32_t first,
                                   uint32_t count, uint8_t *to);

/* Complete the reduction, blocking. No other reduction may be outstanding. */
void nicbarr_reduction_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

#endif
