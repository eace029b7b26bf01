/* SPDX-License-Identifier: BSD-3-Clause */
/* Carriers: reductions and allgathers across nodes with a group of NICs that carries the processes'
 * parts (libmyr/groups/nic_data.h).
 *
 * A node's block contains its pieces (order.h), after a head with their epoch and the length of the
 * block. All processes get all blocks, and each combines them for itself. So NICs need no knowledge
 * of types and operations, and the result has the same bits whatever the placement of ranks. A
 * vector that is too long for one block is cut, and takes several epochs. If nothing is combined,
 * each rank's vector is a piece, and all are concatenated.
 *
 * The operations of a carrier are served one at a time, in the order in which they were begun. (A
 * carrier of broadcasts has its group and its turns, and nothing else; see bcast_across.c.)
 * Threads: the requests' lock (requests.h); see also outstanding. */
#ifndef NICBARR_CARRIER_H
#define NICBARR_CARRIER_H

#include "ompi/release.h"

#include "coll_nicbarr/choice/order.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/nic_data.h"

struct nicbarr_carrier {
    struct myr_nic_group group; /* not joined: none (yet) */
    struct nicbarr_choice choice;
    const struct nicbarr_order *order;
    uint8_t *stack;       /* for combining: order->depth values, */
    uint32_t stack_bytes; /* ... this many bytes apart */
    uint32_t piece_most;  /* bytes of a vector in one epoch */
    /* For a rooted carrier (rooted.h), the carrier that returns results from the combining rank;
     * NULL: all processes get all blocks. */
    struct nicbarr_carrier *back;
    int combiner;
    uint32_t begun, served;
    myr_word outstanding; /* non-blocking reductions that are not complete */
};

/* A reduction or an allgather under way. */
struct nicbarr_carried {
    const uint8_t *from; /* elements that were not sent yet */
    uint8_t *to;         /* destination of the next result, possibly MPI_BOTTOM (NULL), if: */
    bool reads;          /* the result is for this process */
    size_t apart; /* of an allgather: distance of two ranks' vectors (bytes); 0: not an allgather */
    ompi_op_t *op;
    ompi_datatype_t *type;
    const struct nicbarr_operands *gaps; /* elements are packed, and unpacked here to be combined;
                                            NULL: they are as in memory */
    size_t extent;                       /* of an element, bytes */
    uint32_t left;                       /* elements still to be done */
    uint32_t count;                      /* elements in the epoch under way; 0: none */
    uint32_t epoch;
    uint32_t turn;
    int rc; /* the first MPI error; the operation continues to stay in step */
};

/* A broadcast under way. */
struct nicbarr_handed {
    uint8_t *data;    /* the root: data not sent yet; else destination of the rest */
    size_t left;      /* bytes of that */
    uint32_t bytes;   /* of the block under way, if this process is the root */
    uint32_t node;    /* the root's */
    bool root;        /* this process is the root */
    bool begun, sent; /* of the block under way; for the others `sent` follows `begun` */
    uint32_t turn;
    int rc; /* as above */
};

/* The result of an epoch of a rooted reduction, on its way back. */
struct nicbarr_returning {
    struct nicbarr_result {
        uint8_t *at; /* source or destination on this process */
        size_t bytes;
    } result;
    struct nicbarr_handed handed;
    bool begun;
};

/* Bytes of a block with `pieces` pieces of a vector of `bytes`. */
uint32_t nicbarr_carrier_unit(uint32_t pieces, uint32_t bytes);

/* Create a carrier from a joined group, which it then owns. `order` must outlive it; NULL: it is
 * for broadcasts. On failure the group is left, and the result is false: out of memory, or an
 * element does not fit into a block. */
bool nicbarr_carrier_open(struct nicbarr_carrier *carrier, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, const struct nicbarr_order *order);
void nicbarr_carrier_close(struct nicbarr_carrier *carrier);

/* Begin a reduction of `count` > 0 elements of type `type` and take its turn; an element takes at
 * most NICBARR_ELEMENT_MOST bytes, which always fit into an epoch. If the type has gaps, `from` and
 * `to` are packed, and `gaps` has room for the elements; NULL: the type is contiguous. */
void nicbarr_carrier_begin(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                           const void *from, void *to, bool reads, nicbarr_count_t count,
                           ompi_datatype_t *type, ompi_op_t *op,
                           const struct nicbarr_operands *gaps);

/* The same for an allgather: `bytes` > 0 of each rank are concatenated in `to`. */
void nicbarr_carrier_begin_gathering(struct nicbarr_carrier *carrier,
                                     struct nicbarr_carried *carried, const void *from, void *to,
                                     bool reads, size_t bytes);

/* Advance as far as possible; true: complete, with carried->rc. */
bool nicbarr_carrier_go_on(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Arrive in the next epoch; and take its result once it is complete. For callers that do the
 * waiting in between, which requires that all earlier reductions are complete. */
void nicbarr_carrier_arrive(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);
void nicbarr_carrier_take(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* nicbarr_carrier_take() in two parts, for rooted carriers: combine the received blocks, on the
 * combining rank (the result is valid until the next call; NULL: processes passed vectors of
 * different lengths); and proceed to the next epoch. */
uint8_t *nicbarr_carrier_combine(const struct nicbarr_carrier *carrier,
                                 const struct nicbarr_carried *carried);
void nicbarr_carrier_next(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

#endif
