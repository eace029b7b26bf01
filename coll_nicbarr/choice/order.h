/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which a reduction across nodes is combined.
 *
 * It is the order on one node (reduction.h): a fixed binary tree over ranks, lower ranks on the
 * left. So a result depends on the data, the operation and the number of ranks alone, and not on
 * where ranks are. A node combines what it can: the largest subtrees whose ranks are all its own.
 * Their values are its pieces. Where ranks lie node by node, and nodes have as many as a power of
 * two, that is one piece a node. All processes then combine all nodes' pieces.
 *
 * Both are lists of terms, played on a stack: take the value of a term, put it on the stack, then
 * so often combine the upper two. Pure functions; all members come to the same lists.
 */
#ifndef NICBARR_ORDER_H
#define NICBARR_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct nicbarr_term {
    uint32_t source; /* a node's pieces: its number; a node's own ranks: which of them, from 0 */
    uint32_t piece;  /* of that node; own ranks: the piece that the rank belongs to */
    uint32_t merges; /* afterwards */
};

struct nicbarr_order {
    struct nicbarr_term *pieces; /* of all nodes, in the order of ranks */
    struct nicbarr_term *own;    /* this node's ranks, in their order */
    uint32_t npieces, nown;
    uint32_t most;  /* pieces of a node at the most */
    uint32_t depth; /* values on the stack at the most */
};

/* `node_of` each of the `size` ranks; this is `node`. False when out of memory; else to be given
 * back by nicbarr_order_free(). */
bool nicbarr_order_make(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                        struct nicbarr_order *order);
/* Where nothing is combined: each rank is a piece of its own. As above. */
bool nicbarr_order_make_apart(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                              struct nicbarr_order *order);
void nicbarr_order_free(struct nicbarr_order *order);

#endif
