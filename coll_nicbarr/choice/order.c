/* SPDX-License-Identifier: BSD-3-Clause */
/* See order.h. */
#include "coll_nicbarr/choice/order.h"

#include <stdlib.h>

struct maker {
    const uint32_t *node_of;
    uint32_t size, node;
    uint32_t *same_until; /* [rank]: end of the run of ranks on the same node */
    uint32_t *count;      /* [node]: number of partial results so far */
    struct nicbarr_order *order;
};

static uint32_t subtree_end(const struct maker *maker, uint32_t first, uint32_t width)
{
    return maker->size - first < width ? maker->size : first + width;
}

/* List the ranks of one of this node's partial results: a subtree of `width` ranks, or fewer at the
 * end of the communicator. */
static void list_own_ranks(struct maker *maker, uint32_t first, uint32_t width, uint32_t partial)
{
    struct nicbarr_order *order = maker->order;
    if (1 == width) {
        order->own[order->nown] = (struct nicbarr_term){order->nown, partial, 0};
        ++order->nown;
        return;
    }
    list_own_ranks(maker, first, width / 2, partial);
    if (first + width / 2 < maker->size) {
        list_own_ranks(maker, first + width / 2, width / 2, partial);
        ++order->own[order->nown - 1].merges;
    }
}

/* List the partial results of a subtree. */
static void list_partials(struct maker *maker, uint32_t first, uint32_t width)
{
    struct nicbarr_order *order = maker->order;
    if (maker->same_until[first] >= subtree_end(maker, first, width)) {
        const uint32_t node = maker->node_of[first], partial = maker->count[node]++;
        order->partials[order->npartials++] = (struct nicbarr_term){node, partial, 0};
        order->most = maker->count[node] > order->most ? maker->count[node] : order->most;
        if (node == maker->node) {
            list_own_ranks(maker, first, width, partial);
        }
        return;
    }
    list_partials(maker, first, width / 2);
    if (first + width / 2 < maker->size) {
        list_partials(maker, first + width / 2, width / 2);
        ++order->partials[order->npartials - 1].merges;
    }
}

bool nicbarr_order_make(const uint32_t *node_of, uint32_t size, uint32_t nodes, uint32_t node,
                        struct nicbarr_order *order)
{
    uint32_t width = 1;
    *order = (struct nicbarr_order){
        .partials = malloc(size * sizeof(*order->partials)),
        .own = malloc(size * sizeof(*order->own)),
        .depth = 1,
    };
    struct maker maker = {
        .node_of = node_of,
        .size = size,
        .node = node,
        .same_until = malloc(size * sizeof(*maker.same_until)),
        .count = calloc(nodes, sizeof(*maker.count)),
        .order = order,
    };
    const bool good = NULL != order->partials && NULL != order->own && NULL != maker.same_until &&
                      NULL != maker.count;
    if (good) {
        for (uint32_t r = size; r-- > 0;) {
            maker.same_until[r] =
                r + 1 < size && node_of[r] == node_of[r + 1] ? maker.same_until[r + 1] : r + 1;
        }
        for (; width < size; width *= 2) {
            ++order->depth;
        }
        list_partials(&maker, 0, width);
    } else {
        nicbarr_order_free(order);
    }
    free(maker.same_until);
    free(maker.count);
    return good;
}

bool nicbarr_order_make_gather(const uint32_t *node_of, uint32_t size, uint32_t nodes,
                               uint32_t node, struct nicbarr_order *order)
{
    uint32_t *count = calloc(nodes, sizeof(*count));
    *order = (struct nicbarr_order){
        .partials = malloc(size * sizeof(*order->partials)),
        .own = malloc(size * sizeof(*order->own)),
        .npartials = size,
        .depth = 1,
    };
    const bool good = NULL != count && NULL != order->partials && NULL != order->own;
    for (uint32_t r = 0; good && r < size; ++r) {
        const uint32_t partial = count[node_of[r]]++;
        order->partials[r] = (struct nicbarr_term){node_of[r], partial, 0};
        order->most = partial + 1 > order->most ? partial + 1 : order->most;
        if (node == node_of[r]) {
            order->own[order->nown++] = (struct nicbarr_term){partial, partial, 0};
        }
    }
    if (!good) {
        nicbarr_order_free(order);
    }
    free(count);
    return good;
}

void nicbarr_order_free(struct nicbarr_order *order)
{
    free(order->partials);
    free(order->own);
    *order = (struct nicbarr_order){.npartials = 0};
}
