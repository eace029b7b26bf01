/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reduction under way: what MPI_Allreduce, MPI_Reduce and the non-blocking two are made of on
 * one node.
 *
 * The vector is cut into chunks of whole elements. A chunk is a round of the communicator's
 * exchange (libmyr/node/exchange.h): every process writes its own part, then reads all parts and
 * combines them for itself. So a reduction costs one meeting, however many processes there are, and
 * nobody computes for another one. Of MPI_Reduce only the root reads. The others pass a round as
 * soon as they have written it, and may be a window ahead of the root.
 *
 * **The same bits.** Parts are combined along a fixed binary tree over ranks: first pairs of
 * neighbours, then pairs of pairs, lower ranks on the left (nicbarr_combine()). The result depends
 * on the data, the operation and the number of processes alone, whoever comes first, and operations
 * that do not commute are right. (So do the two halves of a node's ranks, once nodes combine what
 * is theirs.)
 *
 * **Other uses of a round.** A reduction may have somebody else take the parts of its rounds
 * (struct nicbarr_taker): operations that the program has defined (user_op.h).
 *
 * Reductions of a communicator have rounds in the order in which they were begun. One that is not
 * the oldest waits for its turn. Blocking and non-blocking ones of a communicator have an exchange
 * each. Threads: one at a time; of those that do not block, requests' lock (requests.h).
 */
#ifndef NICBARR_REDUCTION_H
#define NICBARR_REDUCTION_H

#include "ompi/release.h"

#include "libmyr/node/exchange.h"

enum { NICBARR_NO_ROOT = -1 /* all processes get the result */ };

/* What the reductions of a communicator share, the blocking ones or the others. */
struct nicbarr_reducer {
    struct myr_exchange exchange; /* no record: not set up (yet) */
    uint8_t (*parts)[MYR_LINE];   /* [size]; where they are combined */
    uint32_t begun;               /* rounds that are given to reductions */
};

/* Consumes what a process has written in a round, once it is there: so many bytes. */
struct nicbarr_taker {
    void (*take)(struct nicbarr_taker *taker, const struct myr_exchange *x, size_t bytes);
    uint32_t rank; /* that process, or: */
    uint8_t *to;   /* the taker's: where it puts them */
    size_t block;  /* ... if they are everybody's: bytes from one process's to the next */
};
enum { NICBARR_EVERYBODY = UINT32_MAX };

/* One that takes what `rank` has written. */
struct nicbarr_taker nicbarr_taker_of(uint32_t rank, uint8_t *to);
/* One that puts what each has written, so many bytes in all, side by side. */
struct nicbarr_taker nicbarr_taker_of_all(uint8_t *to, size_t block);

struct nicbarr_reduction {
    const uint8_t *from;         /* elements that are not written yet */
    struct nicbarr_taker *taker; /* NULL: they are combined by one of MPI's operations, where: */
    uint8_t *to;                 /* is where the next result goes */
    ompi_op_t *op;
    ompi_datatype_t *type;
    size_t extent;      /* of an element in a slot, bytes */
    uint32_t unwritten; /* elements */
    uint32_t unread;    /* elements */
    uint32_t chunk;     /* elements in a round */
    bool reads;         /* no: it is for another process */
    uint32_t first;     /* round */
};

/* A reduction by one of MPI's operations, on one of its types; `count` > 0 elements of at most
 * MYR_SLOT_BYTES each. */
void nicbarr_reduction_init(struct nicbarr_reduction *reduction, const void *from, void *to,
                            nicbarr_count_t count, ompi_datatype_t *type, ompi_op_t *op,
                            bool reads);

/* One of so many bytes, whose rounds somebody else takes. */
void nicbarr_reduction_init_taken(struct nicbarr_reduction *reduction, const void *from,
                                  size_t bytes, struct nicbarr_taker *taker, bool reads);

/* Reserve its rounds; returns how many. */
static inline uint32_t nicbarr_reduction_begin(struct nicbarr_reducer *reducer,
                                               struct nicbarr_reduction *reduction)
{
    const uint32_t rounds = (reduction->unread + reduction->chunk - 1) / reduction->chunk;
    reduction->first = reducer->begun + 1;
    reducer->begun += rounds;
    return rounds;
}

/* Write what there is room for, if it is its turn. */
void nicbarr_reduction_write(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

/* Go on as far as it can; true: complete. */
bool nicbarr_reduction_go_on(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

/* The same to the end. No other reduction may be outstanding. */
void nicbarr_reduction_finish(struct nicbarr_reducer *reducer, struct nicbarr_reduction *reduction);

#endif
