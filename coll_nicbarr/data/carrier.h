/* SPDX-License-Identifier: BSD-3-Clause */
/* A carrier executes reductions and allgathers across nodes, by means of a group of NICs that
 * carries the contributions of the processes (libmyr/groups/nic_data.h).
 *
 * Each node contributes one block to an epoch. The block begins with a header, which contains the
 * epoch and the length of the block, followed by the partial results of the node. A partial result
 * is the value of a subtree whose ranks are all on this node (order.h). An allgather combines
 * nothing: the vector of each rank is a partial result, and all partial results are concatenated. A
 * vector that is too long for one block takes several epochs.
 *
 * All processes get all blocks, and each process combines them itself. Therefore NICs need not know
 * types and operations, and the result has the same bits however the ranks are placed.
 *
 * The operations of a carrier are executed one at a time, in the order in which they were begun.
 * For broadcasts, a carrier provides only the group and this order (bcast_across.c). The caller of
 * a function for non-blocking operations holds the requests' lock (requests.h). Blocking operations
 * need no lock, because they first wait until no non-blocking operation is outstanding. */
#ifndef NICBARR_CARRIER_H
#define NICBARR_CARRIER_H

#include "ompi/release.h"

#include "coll_nicbarr/choice/order.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/nic_data.h"

struct nicbarr_carrier {
    struct myr_nic_group group; /* not joined if there is no carrier (yet) */
    struct nicbarr_choice choice;
    const struct nicbarr_order *order;
    uint8_t *stack;       /* memory for combining: space for order->depth + 1 values */
    uint32_t stack_bytes; /* bytes from one value to the next */
    uint32_t vector_most; /* maximum bytes of a vector in one epoch */
    /* For a rooted carrier (rooted.h), the carrier that returns results from the combining rank;
     * NULL if all processes get all blocks. */
    struct nicbarr_carrier *back;
    int combiner;           /* the combining rank */
    uint32_t begun, served; /* numbers of operations begun and completed; an operation's `ticket` is
                               its position in this order */
    myr_word outstanding;   /* number of non-blocking operations that are not complete */
};

/* The state of a reduction or an allgather. */
struct nicbarr_carried {
    const uint8_t *from; /* the first element that was not sent yet */
    uint8_t *to; /* destination of the next result, possibly MPI_BOTTOM (NULL), if `reads` */
    bool reads;  /* this process needs the result */
    /* for an allgather: distance of two ranks' vectors (bytes); 0: not an allgather */
    size_t stride;
    ompi_op_t *op;
    ompi_datatype_t *type;
    const struct nicbarr_operands *gaps; /* elements are sent packed, and unpacked here to be
                                            combined; NULL: they are sent as in memory */
    size_t extent;                       /* extent of an element, bytes */
    uint32_t left;                       /* number of elements that are not complete */
    uint32_t count; /* number of elements in the current epoch; 0: no epoch is under way */
    uint32_t epoch;
    uint32_t ticket;
    int rc; /* the first MPI error; the operation still continues after it, because the other
               processes wait for this one */
};

/* The state of a broadcast. */
struct nicbarr_carried_bcast {
    uint8_t *data;    /* at the root: data not sent yet; else destination of the remaining data */
    size_t left;      /* number of bytes of this remainder */
    uint32_t bytes;   /* bytes of the current block, if this process is the root */
    uint32_t node;    /* node of the root */
    bool root;        /* this process is the root */
    bool begun, sent; /* state of the current block; if this process is not the root, `sent` is set
                         together with `begun` */
    uint32_t ticket;
    int rc; /* the first MPI error, as in struct nicbarr_carried */
};

/* The result of an epoch of a rooted reduction, while it is returned to all processes. */
struct nicbarr_returning {
    struct nicbarr_result {
        uint8_t *at; /* source or destination on this process */
        size_t bytes;
    } result;
    struct nicbarr_carried_bcast bcast;
    bool begun;
};

/* Returns the size (bytes) of a block with `partials` partial results of a vector of `bytes`. */
uint32_t nicbarr_carrier_unit(uint32_t partials, uint32_t bytes);

/* Create a carrier from a joined group, which it then owns. `order` must outlive the carrier; it is
 * NULL for broadcasts. If memory is exhausted, or if an element does not fit into a block, the
 * function leaves the group and returns false. */
bool nicbarr_carrier_open(struct nicbarr_carrier *carrier, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, const struct nicbarr_order *order);
void nicbarr_carrier_close(struct nicbarr_carrier *carrier);

/* Begin a reduction of `count` > 0 elements of type `type`, and reserve its place in the order of
 * operations. An element takes at most NICBARR_ELEMENT_MOST bytes, which always fit into an epoch.
 * If the type has gaps, the data at `from` and `to` are packed, and `gaps` provides memory in which
 * the elements are unpacked to combine them. `gaps` is NULL if the type is contiguous. */
void nicbarr_carrier_begin(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                           const void *from, void *to, bool reads, nicbarr_count_t count,
                           ompi_datatype_t *type, ompi_op_t *op,
                           const struct nicbarr_operands *gaps);

/* Begin an allgather likewise: `bytes` > 0 of each rank are concatenated in `to`. */
void nicbarr_carrier_begin_gathering(struct nicbarr_carrier *carrier,
                                     struct nicbarr_carried *carried, const void *from, void *to,
                                     bool reads, size_t bytes);

/* Advance the operation as far as possible. Returns whether it is complete; then carried->rc is its
 * result. */
bool nicbarr_carrier_progress(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* An epoch takes two steps. The first function sends the contribution of this process in the next
 * epoch. The caller then waits until the group has completed this epoch, and calls the second
 * function, which processes the blocks of all nodes. All earlier operations must be complete. */
void nicbarr_carrier_arrive(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);
void nicbarr_carrier_finish(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* The two parts of nicbarr_carrier_finish(), for rooted carriers. The first function is called on
 * the combining rank, and combines the received blocks. Its result is valid until the next call,
 * and is NULL if processes passed vectors of different lengths. The second function proceeds to the
 * next epoch. */
uint8_t *nicbarr_carrier_combine(const struct nicbarr_carrier *carrier,
                                 const struct nicbarr_carried *carried);
void nicbarr_carrier_next(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

#endif
