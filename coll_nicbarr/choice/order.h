/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which a reduction across nodes combines values.
 *
 * It is the order on one node (reduction.h): a fixed binary tree over ranks, lower ranks on the
 * left. So a result depends on the data, the operation and the number of ranks alone, and not on
 * the placement of ranks. A node combines what it can: the largest subtrees whose ranks are all its
 * own. Their values are its pieces. If ranks are placed node by node, and nodes have a power of two
 * of them, that is one piece a node. All processes then combine all nodes' pieces.
 *
 * Both orders are lists of terms, executed on a stack: push the value of a term, then combine the
 * upper two as often as the term says. Pure functions; all members compute the same lists. */
#ifndef NICBARR_ORDER_H
#define NICBARR_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct nicbarr_term {
    uint32_t source; /* a node's pieces: the node; a node's own ranks: the local rank */
    uint32_t piece;  /* index in that node; own ranks: the piece to which the rank belongs */
    uint32_t merges; /* after pushing it */
};

struct nicbarr_order {
    struct nicbarr_term *pieces; /* of all nodes, in the order of ranks */
    struct nicbarr_term *own;    /* this node's ranks, in their order */
    uint32_t npieces, nown;
    uint32_t most;  /* maximum of pieces of a node */
    uint32_t depth; /* maximum of values on the stack */
};

/* `node_of` each of the `size` ranks; this is `node`. False if out of memory; else free it with
 * nicbarr_order_free(). */
bool nicbarr_order_make(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                        struct nicbarr_order *order);
/* The same without combining, for an allgather: each rank is a piece of its own. */
bool nicbarr_order_make_apart(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                              struct nicbarr_order *order);
void nicbarr_order_free(struct nicbarr_order *order);

#endif
