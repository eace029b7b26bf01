/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the order in which reductions across nodes combine values. A failure means that it differs
 * from the order on one node, so that results of the same program depend on the placement of its
 * ranks.
 *
 * The test covers every placement of up to 7 ranks on up to 4 nodes, and random ones of up to 70
 * ranks. The operation concatenates texts, so that any deviation from the tree's order is detected.
 */
#include "coll_nicbarr/choice/order.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { RANKS = 70, NODES = 9, TEXT = 700, DEPTH = 9 };

/* Compute the reference: the tree of the existing ranks from `first` to `first` + `width`. */
static void expect(uint32_t first, uint32_t width, uint32_t size, char *text)
{
    if (1 == width) {
        sprintf(text, "%u", first);
        return;
    }
    if (first + width / 2 >= size) {
        expect(first, width / 2, size, text);
        return;
    }
    strcpy(text, "(");
    expect(first, width / 2, size, text + strlen(text));
    strcat(text, " ");
    expect(first + width / 2, width / 2, size, text + strlen(text));
    strcat(text, ")");
}

struct stack {
    char text[DEPTH][TEXT];
    uint32_t count, most;
};

static void push(struct stack *stack, const char *text, uint32_t merges)
{
    assert_true(stack->count < stack->most);
    strcpy(stack->text[stack->count++], text);
    for (; merges > 0; --merges) {
        static char both[2 * TEXT];
        assert_true(stack->count >= 2);
        --stack->count;
        snprintf(both, sizeof(both), "(%s %s)", stack->text[stack->count - 1],
                 stack->text[stack->count]);
        assert_true(strlen(both) < TEXT);
        strcpy(stack->text[stack->count - 1], both);
    }
}

static char partial_text[NODES][RANKS][TEXT];

/* Combine the values of a node's own ranks. Returns the number of parts that remain. */
static uint32_t play_own(const struct nicbarr_order *order, const uint32_t *node_of, uint32_t size,
                         uint32_t node)
{
    uint32_t ranks[RANKS], count = 0, partials = 0;
    struct stack stack = {.count = 0, .most = order->depth};
    for (uint32_t r = 0; r < size; ++r) {
        if (node == node_of[r]) {
            ranks[count++] = r;
        }
    }
    assert_int_equal(order->nown, count);
    for (uint32_t t = 0; t < order->nown; ++t) {
        char text[TEXT];
        const struct nicbarr_term *term = &order->own[t];
        sprintf(text, "%u", ranks[term->source]);
        push(&stack, text, term->merges);
        if (t + 1 == order->nown || order->own[t + 1].partial != term->partial) {
            assert_int_equal(stack.count, 1);
            assert_int_equal(term->partial, partials);
            strcpy(partial_text[node][partials++], stack.text[0]);
            stack.count = 0;
        }
    }
    assert_true(partials <= order->most);
    return partials;
}

static void check(const uint32_t *node_of, uint32_t size, uint32_t nodes)
{
    static char wanted[TEXT];
    struct nicbarr_order orders[NODES];
    uint32_t partials = 0, width = 1;
    struct stack stack = {.count = 0};
    for (uint32_t n = 0; n < nodes; ++n) {
        assert_true(nicbarr_order_make(node_of, size, nodes, n, &orders[n]));
        assert_int_equal(orders[n].npartials, orders[0].npartials);
        assert_int_equal(orders[n].most, orders[0].most);
        assert_memory_equal(orders[n].partials, orders[0].partials,
                            orders[0].npartials * sizeof(*orders[0].partials));
        partials += play_own(&orders[n], node_of, size, n);
    }
    assert_int_equal(partials, orders[0].npartials);
    stack.most = orders[0].depth;
    for (uint32_t t = 0; t < orders[0].npartials; ++t) {
        const struct nicbarr_term *term = &orders[0].partials[t];
        push(&stack, partial_text[term->source][term->partial], term->merges);
    }
    while (width < size) {
        width *= 2;
    }
    expect(0, width, size, wanted);
    assert_int_equal(stack.count, 1);
    assert_string_equal(stack.text[0], wanted);
    for (uint32_t n = 0; n < nodes; ++n) {
        nicbarr_order_free(&orders[n]);
    }
}

TEST(every_placement)
{
    for (uint32_t size = 1; size <= 7; ++size) {
        for (uint32_t nodes = 1; nodes <= 4; ++nodes) {
            uint32_t placements = 1, node_of[7];
            for (uint32_t r = 0; r < size; ++r) {
                placements *= nodes;
            }
            for (uint32_t p = 0; p < placements; ++p) {
                for (uint32_t r = 0, rest = p; r < size; ++r, rest /= nodes) {
                    node_of[r] = rest % nodes;
                }
                check(node_of, size, nodes);
            }
        }
    }
}

TEST(random_placements)
{
    uint64_t random = crew_seed();
    for (int game = 0; game < 2000; ++game) {
        uint32_t node_of[RANKS];
        const uint32_t size = 1 + crew_below(&random, RANKS);
        const uint32_t nodes = 1 + crew_below(&random, NODES);
        const uint32_t run = 1 + crew_below(&random, 17);
        for (uint32_t r = 0; r < size; ++r) { /* by block, round-robin, or random */
            node_of[r] = run < 17 ? r / run % nodes : crew_below(&random, nodes);
        }
        check(node_of, size, nodes);
    }
}

TEST(block_placement_has_one_partial_result)
{
    for (uint32_t locals = 1; locals <= 16; locals *= 2) {
        uint32_t node_of[64];
        struct nicbarr_order order;
        for (uint32_t r = 0; r < 64; ++r) {
            node_of[r] = r / locals;
        }
        assert_true(nicbarr_order_make(node_of, 64, 64 / locals, 0, &order));
        assert_int_equal(order.most, 1);
        assert_int_equal(order.npartials, 64 / locals);
        nicbarr_order_free(&order);
    }
}

/* If no values are combined, each rank's value is stored at its own index. */
TEST(ranks_not_combined)
{
    uint64_t random = crew_seed();
    for (int game = 0; game < 500; ++game) {
        const uint32_t size = 1 + crew_below(&random, RANKS);
        const uint32_t nodes = 1 + crew_below(&random, NODES);
        uint32_t node_of[RANKS], rank_in[NODES][RANKS], most = 0;
        for (uint32_t r = 0; r < size; ++r) {
            node_of[r] = crew_below(&random, nodes);
        }
        for (uint32_t n = 0; n < nodes; ++n) {
            struct nicbarr_order order;
            uint32_t local = 0;
            assert_true(nicbarr_order_make_gather(node_of, size, nodes, n, &order));
            assert_int_equal(order.npartials, size);
            for (uint32_t r = 0; r < size; ++r) {
                if (n == node_of[r]) {
                    assert_int_equal(order.own[local].source, local);
                    assert_int_equal(order.own[local].merges, 0);
                    rank_in[n][order.own[local].partial] = r;
                    ++local;
                }
            }
            assert_int_equal(order.nown, local);
            most = local > most ? local : most;
            nicbarr_order_free(&order);
        }
        for (uint32_t n = 0; n < nodes; ++n) {
            struct nicbarr_order order;
            assert_true(nicbarr_order_make_gather(node_of, size, nodes, n, &order));
            assert_int_equal(order.most, most);
            for (uint32_t r = 0; r < size; ++r) {
                const struct nicbarr_term *term = &order.partials[r];
                assert_int_equal(term->source, node_of[r]);
                assert_int_equal(rank_in[term->source][term->partial], r);
                assert_int_equal(term->merges, 0);
            }
            nicbarr_order_free(&order);
        }
    }
}
