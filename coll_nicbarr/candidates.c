/* SPDX-License-Identifier: BSD-3-Clause */
/* See candidates.h. */
#include "coll_nicbarr/candidates.h"

struct candidates {
    struct nicbarr_choice *choices; /* [NICBARR_CANDIDATES] */
    int count;
    enum nicbarr_player player; /* of those that are added */
};

/* Add one, unless it makes no difference among `size`, or is there already. */
static void add(struct candidates *candidates, uint32_t size, enum nicbarr_algorithm algorithm,
                uint32_t parameter)
{
    const struct nicbarr_choice choice = {algorithm, parameter, candidates->player};
    bool fresh = parameter <= nicbarr_parameter_max(algorithm, size) &&
                 candidates->count < NICBARR_CANDIDATES;
    for (int c = 0; fresh && c < candidates->count; ++c) {
        fresh = !nicbarr_choice_equal(candidates->choices[c], choice);
    }
    if (fresh) {
        candidates->choices[candidates->count++] = choice;
    }
}

/* Those that soft NICs play among `size` nodes, or processes on their lines. */
static void add_messages(struct candidates *candidates, uint32_t size)
{
    add(candidates, size, NICBARR_PAIRWISE, 0);
    for (uint32_t n = 1; n <= 7 && n < size; n = 2 * n + 1) { /* n + 1 = 2, 4, 8 */
        add(candidates, size, NICBARR_DISSEMINATION, n);
    }
    for (uint32_t degree = 2; degree <= 16 && degree < size; degree *= 2) {
        add(candidates, size, NICBARR_TREE, degree);
    }
}

/* Everybody at the root: fewest messages. */
static void add_star(struct candidates *candidates, uint32_t nodes, uint32_t most)
{
    if (nodes > 2 && nodes <= most) {
        add(candidates, nodes, NICBARR_TREE, nodes - 1);
    }
}

/* Those that the nodes' kernels play: fewer, as all of them cost time to try, and a group there has
 * room for few messages (engine.h). */
static void add_kernel(struct candidates *candidates, uint32_t nodes)
{
    add(candidates, nodes, NICBARR_PAIRWISE, 0);
    add(candidates, nodes, NICBARR_DISSEMINATION, 1);
    add(candidates, nodes, NICBARR_DISSEMINATION, 3);
    add(candidates, nodes, NICBARR_TREE, 4);
    add_star(candidates, nodes, 16);
}

static int across_candidates(const struct nicbarr_shape *shape, struct candidates *candidates)
{
    if (nicbarr_has(shape, NICBARR_SOFT)) {
        add_messages(candidates, shape->nodes);
        add_star(candidates, shape->nodes, 64);
    }
    if (nicbarr_has(shape, NICBARR_KERNEL)) {
        candidates->player = NICBARR_KERNEL;
        add_kernel(candidates, shape->nodes);
    }
    return candidates->count;
}

int nicbarr_candidates(const struct nicbarr_shape *shape, struct nicbarr_choice *choices)
{
    const uint32_t size = shape->processes;
    struct candidates candidates = {choices, 0, NICBARR_SOFT};
    add(&candidates, size, NICBARR_OPENMPI, 0);
    if (shape->nodes > 1) {
        return across_candidates(shape, &candidates);
    }
    add(&candidates, size, NICBARR_COUNTER, 1);
    if (shape->homes > 1 && shape->homes < size) {
        add(&candidates, size, NICBARR_COUNTER, shape->homes);
    }
    if (size <= 128) { /* beyond that, reading a line of everybody's is never the shortest way */
        add(&candidates, size, NICBARR_FLAGS, 4);
        add(&candidates, size, NICBARR_FLAGS, 64);
        add(&candidates, size, NICBARR_FLAGS, 128);
    }
    add_messages(&candidates, size);
    return candidates.count;
}

struct nicbarr_choice nicbarr_default_choice(const struct nicbarr_shape *shape)
{
    if (shape->nodes > 1) {
        return (struct nicbarr_choice){NICBARR_OPENMPI, 0, NICBARR_SOFT};
    }
    if (shape->oversubscribed || shape->processes > 16) {
        return (struct nicbarr_choice){NICBARR_COUNTER, 1, NICBARR_SOFT};
    }
    return (struct nicbarr_choice){NICBARR_FLAGS, 4, NICBARR_SOFT};
}
