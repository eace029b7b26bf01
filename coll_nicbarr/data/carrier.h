/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions and gatherings across nodes: a group of NICs that carries the processes' parts
 * (libmyr/groups/nic_data.h), and what is made of them.
 *
 * A node's block has its pieces (order.h), behind a head that says which epoch they are of, and how
 * long the block is. All processes get all blocks, and each combines them for itself. So NICs need
 * to know nothing of types and operations, and the result has the same bits wherever the ranks are.
 * A vector that is too long for one block is cut, and goes through several epochs. Where nothing is
 * combined each rank's vector is a piece, and all are put side by side.
 *
 * What a carrier carries takes its turns in the order in which it was begun, one at a time. (A
 * carrier of broadcasts has its group and its turns, and nothing else; see bcast_across.c.)
 * Threads: the requests' lock (requests.h); see also outstanding.
 */
#ifndef NICBARR_CARRIER_H
#define NICBARR_CARRIER_H

#include "ompi/release.h"

#include "coll_nicbarr/choice/order.h"
#include "coll_nicbarr/data/packing.h"
#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/nic_data.h"

struct nicbarr_carrier {
    struct myr_nic_group group; /* not joined: there is none (yet) */
    struct nicbarr_choice choice;
    const struct nicbarr_order *order;
    uint8_t *stack;       /* where values are combined: order->depth of them, ... */
    uint32_t stack_bytes; /* ... so far apart */
    uint32_t piece_most;  /* bytes of a vector that one epoch carries */
    /* Of a rooted one (rooted.h): results come back by this one, from the rank that combines. NULL:
     * all processes get all blocks. */
    struct nicbarr_carrier *back;
    int combiner;
    uint32_t begun, served;
    myr_word outstanding; /* non-blocking reductions that are not complete */
};

/* A reduction under way, or a gathering. */
struct nicbarr_carried {
    const uint8_t *from; /* elements that were not sent yet */
    uint8_t *to;         /* where the next result goes, which may be MPI_BOTTOM (NULL), if: */
    bool reads;          /* the result is for this process */
    size_t apart; /* of a gathering: from one rank's vector to the next (bytes); 0: it is none */
    ompi_op_t *op;
    ompi_datatype_t *type;
    const struct nicbarr_operands *gaps; /* elements are packed: where they are unpacked to be
                                            combined; NULL: they are as in memory */
    size_t extent;                       /* of an element, bytes */
    uint32_t left;                       /* elements */
    uint32_t count;                      /* elements in the epoch under way; 0: none is */
    uint32_t epoch;
    uint32_t turn;
    int rc; /* the first error of MPI's; it goes on nevertheless, to stay in step */
};

/* A broadcast under way. */
struct nicbarr_handed {
    uint8_t *data;    /* the root's: what was not sent yet; else where the rest goes */
    size_t left;      /* bytes of that */
    uint32_t bytes;   /* of the block under way, if this process is the root */
    uint32_t node;    /* the root's */
    bool root;        /* this process is it */
    bool begun, sent; /* the block under way was; of others `sent` goes with `begun` */
    uint32_t turn;
    int rc; /* as above */
};

/* The result of an epoch of a rooted reduction on its way back. */
struct nicbarr_returning {
    struct nicbarr_result {
        uint8_t *at; /* what this process sends, or where it gets it */
        size_t bytes;
    } result;
    struct nicbarr_handed handed;
    bool begun;
};

/* Bytes of a block with `pieces` pieces of a vector of `bytes`. */
uint32_t nicbarr_carrier_unit(uint32_t pieces, uint32_t bytes);

/* Make a carrier of a group that was joined, which is its own then. `order` must outlive it; NULL:
 * it is for broadcasts. False when out of memory, or if no such element has room in a block; then
 * the group is left. */
bool nicbarr_carrier_open(struct nicbarr_carrier *carrier, const struct myr_nic_group *group,
                          struct nicbarr_choice choice, const struct nicbarr_order *order);
void nicbarr_carrier_close(struct nicbarr_carrier *carrier);

/* Take a number for a reduction of `count` > 0 elements of type `type`; an element takes at most
 * NICBARR_ELEMENT_MOST bytes, which always have room in an epoch. `gaps`: `from` and `to` are
 * packed, and this has room for so many elements; NULL: the type is contiguous. */
void nicbarr_carrier_begin(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried,
                           const void *from, void *to, bool reads, nicbarr_count_t count,
                           ompi_datatype_t *type, ompi_op_t *op,
                           const struct nicbarr_operands *gaps);

/* The same for a gathering: `bytes` > 0 of each rank come to `to`, side by side. */
void nicbarr_carrier_begin_gathering(struct nicbarr_carrier *carrier,
                                     struct nicbarr_carried *carried, const void *from, void *to,
                                     bool reads, size_t bytes);

/* Go on as far as it can; true: complete, with carried->rc. */
bool nicbarr_carrier_go_on(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* Arrive in the next epoch; and, when that is complete, take its result. For those who wait in
 * between by themselves, as all reductions before are complete. */
void nicbarr_carrier_arrive(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);
void nicbarr_carrier_take(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

/* The same in two parts, for rooted carriers: combine what has come, on the rank that does (valid
 * until the next; NULL: processes gave vectors of different lengths); go on behind the epoch. */
uint8_t *nicbarr_carrier_combine(const struct nicbarr_carrier *carrier,
                                 const struct nicbarr_carried *carried);
void nicbarr_carrier_next(struct nicbarr_carrier *carrier, struct nicbarr_carried *carried);

#endif
