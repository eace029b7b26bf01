/* SPDX-License-Identifier: BSD-3-Clause */
/* Determines the order in which a reduction across nodes combines values, so that a result has the
 * same bits wherever the ranks are placed.
 *
 * It is the same order as on one node (reduction.h): a fixed binary tree over the ranks, with the
 * lower ranks on the left. Therefore a result depends only on the data, the operation and the
 * number of ranks. Each node first combines the largest subtrees whose ranks are all on this node;
 * the values of these subtrees are its partial results. (A node has a single partial result if
 * ranks are placed node by node and the number of ranks per node is a power of two.) Then every
 * process combines the partial results of all nodes.
 *
 * The orders within a node and across nodes are lists of terms, which are executed on a stack: for
 * each term, push its value, then replace the two topmost values by their combination, `merges`
 * times. The functions are pure, so all members compute the same lists. */
#ifndef NICBARR_ORDER_H
#define NICBARR_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct nicbarr_term {
    uint32_t
        source; /* across nodes: the node of the partial result; within a node: the local rank */
    uint32_t partial; /* across nodes: its index in that node; within a node: the partial result to
                       which the rank belongs */
    uint32_t merges;  /* number of combinations after pushing it */
};

struct nicbarr_order {
    struct nicbarr_term *partials; /* partial results of all nodes, in the order of ranks */
    struct nicbarr_term *own;      /* this node's ranks, in ascending order */
    uint32_t npartials, nown;
    uint32_t most;  /* maximum number of partial results of a node */
    uint32_t depth; /* maximum number of values on the stack */
};

/* Compute the order for `size` ranks on `nodes` nodes, where node_of[r] is the node of rank r, and
 * `node` is this node. Returns false if out of memory; otherwise the caller frees the order with
 * nicbarr_order_free(). */
bool nicbarr_order_make(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                        struct nicbarr_order *order);
/* Compute the order for an allgather, which combines nothing, so that each rank is a separate
 * partial result. Otherwise like nicbarr_order_make(). */
bool nicbarr_order_make_gather(const uint32_t *node_of, uint32_t size, uint32_t nodes,
                               uint32_t node, struct nicbarr_order *order);
void nicbarr_order_free(struct nicbarr_order *order);

#endif
