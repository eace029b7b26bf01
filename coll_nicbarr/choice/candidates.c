/* SPDX-License-Identifier: BSD-3-Clause */
/* See candidates.h. */
#include "coll_nicbarr/choice/candidates.h"

#include "coll_nicbarr/nics.h"
#include "firmware/wire.h"

struct candidates {
    struct nicbarr_choice *choices; /* [NICBARR_CANDIDATES] */
    int count;
    uint32_t nic; /* the NIC of the candidates that are being added */
};

/* Add a candidate, unless the list contains it already, or the parameter makes no difference among
 * `size` ranks. */
static void add_candidate(struct candidates *candidates, uint32_t size,
                          enum nicbarr_algorithm algorithm, uint32_t parameter)
{
    const struct nicbarr_choice choice = {algorithm, parameter, candidates->nic};
    bool is_new = parameter <= nicbarr_parameter_max(algorithm, size) &&
                  candidates->count < NICBARR_CANDIDATES;
    for (int c = 0; is_new && c < candidates->count; ++c) {
        is_new = !nicbarr_choice_equal(candidates->choices[c], choice);
    }
    if (is_new) {
        candidates->choices[candidates->count++] = choice;
    }
}

/* Returns the number of rounds of n-way dissemination. Each round multiplies the number of ranks
 * that a rank knows to have arrived by n + 1. */
static uint32_t rounds_of(uint32_t n, uint32_t size)
{
    uint32_t rounds = 0;
    for (uint64_t heard = 1; heard < size; heard *= n + 1) {
        ++rounds;
    }
    return rounds;
}

/* Add n-way dissemination for each n that takes fewer rounds than all smaller ones. Any other n
 * would only send more messages in the same number of rounds. */
static void add_disseminations(struct candidates *candidates, uint32_t size)
{
    uint32_t rounds = UINT32_MAX;
    for (uint32_t n = 1; n <= 7 && n < size; ++n) {
        if (rounds_of(n, size) < rounds) {
            rounds = rounds_of(n, size);
            add_candidate(candidates, size, NICBARR_DISSEMINATION, n);
        }
    }
}

/* Add the algorithms that exchange messages among `size` nodes or processes. */
static void add_messages(struct candidates *candidates, uint32_t size)
{
    add_candidate(candidates, size, NICBARR_PAIRWISE, 0);
    add_disseminations(candidates, size);
    for (uint32_t degree = 2; degree <= 16 && degree < size; degree *= 2) {
        add_candidate(candidates, size, NICBARR_TREE, degree);
    }
}

/* Add the star, in which all ranks send to the root, because it needs the fewest messages. */
static void add_star(struct candidates *candidates, uint32_t nodes, uint32_t most)
{
    if (nodes > 2 && nodes <= most) {
        add_candidate(candidates, nodes, NICBARR_TREE, nodes - 1);
    }
}

/* Add a smaller set, for NICs on which joining groups is expensive. */
static void add_few(struct candidates *candidates, uint32_t nodes)
{
    add_candidate(candidates, nodes, NICBARR_PAIRWISE, 0);
    add_candidate(candidates, nodes, NICBARR_DISSEMINATION, 1);
    add_candidate(candidates, nodes, NICBARR_DISSEMINATION, 3);
    add_candidate(candidates, nodes, NICBARR_TREE, 4);
    add_star(candidates, nodes, 16);
}

/* List the barriers across nodes. Schedules that are too long for a NIC are left out, because the
 * NIC would refuse to join their groups. */
static int across_candidates(const struct nicbarr_shape *shape, struct candidates *candidates)
{
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        candidates->nic = nic;
        if (nicbarr_shape_has(shape, nic) &&
            0 != (nicbarr_kind(nic)->caps.flags & MYR_DEAR_GROUPS)) {
            add_few(candidates, shape->nodes);
        } else if (nicbarr_shape_has(shape, nic)) {
            add_messages(candidates, shape->nodes);
            add_star(candidates, shape->nodes, 64);
        }
    }
    return candidates->count;
}

int nicbarr_candidates(const struct nicbarr_shape *shape, struct nicbarr_choice *choices)
{
    const uint32_t size = shape->processes;
    struct candidates candidates = {choices, 0, 0};
    add_candidate(&candidates, size, NICBARR_OPENMPI, 0);
    if (shape->nodes > 1) {
        return across_candidates(shape, &candidates);
    }
    add_candidate(&candidates, size, NICBARR_COUNTER, 1);
    if (shape->homes > 1 && shape->homes < size) {
        add_candidate(&candidates, size, NICBARR_COUNTER, shape->homes);
    }
    /* with more processes, reading one cache line of each is never the fastest */
    if (size <= 128) {
        add_candidate(&candidates, size, NICBARR_FLAGS, 4);
        add_candidate(&candidates, size, NICBARR_FLAGS, 64);
        add_candidate(&candidates, size, NICBARR_FLAGS, 128);
    }
    add_messages(&candidates, size);
    return candidates.count;
}

/* Add trees for broadcasts. A broadcast is forwarded along the messages of a dissemination barrier
 * (libmyr/groups/spread.h), which form an (n + 1)-nomial tree for each root. */
static void add_trees(struct candidates *candidates, uint32_t nodes, bool few)
{
    for (uint32_t n = 1; n <= 3; n += few ? 2 : 1) {
        add_candidate(candidates, nodes, NICBARR_DISSEMINATION, n);
    }
}

enum {
    STAR_NODES = 16 /* maximum number of nodes for a root that exchanges messages with all others */
};

struct nicbarr_choice nicbarr_rooted_choice(const struct nicbarr_shape *shape, uint32_t nic)
{
    const uint32_t nodes = shape->nodes;
    return (struct nicbarr_choice){NICBARR_ROOTED, nodes <= STAR_NODES ? nodes - 1 : 4, nic};
}

/* List the algorithms that are worth measuring for collectives that carry data. All-to-all has the
 * fewest steps (for a broadcast, the root sends to all nodes), and the star has the fewest
 * messages. Reducing at one process (NICBARR_ROOTED) takes an additional step, which pays off only
 * if the blocks of all nodes do not fit into one packet. */
int nicbarr_data_candidates(const struct nicbarr_shape *shape, bool broadcasts, uint32_t combined,
                            struct nicbarr_choice *choices)
{
    const uint32_t nodes = shape->nodes;
    struct candidates candidates = {choices, 0, 0};
    add_candidate(&candidates, nodes, NICBARR_OPENMPI, 0);
    for (uint32_t nic = 1; nic < nicbarr_nics_end(); ++nic) {
        candidates.nic = nic;
        if (!nicbarr_shape_has(shape, nic) || !nicbarr_carries_data(nic)) {
            continue;
        }
        if (broadcasts) {
            add_trees(&candidates, nodes, 0 != (nicbarr_kind(nic)->caps.flags & MYR_DEAR_GROUPS));
        } else {
            add_few(&candidates, nodes);
        }
        if (nodes > 2 && nodes <= STAR_NODES && nodes * combined > MCP_PAYLOAD_MOST) {
            add_candidate(&candidates, nodes, NICBARR_ROOTED, nodes - 1);
        }
        if (nodes <= STAR_NODES) {
            add_candidate(&candidates, nodes, NICBARR_DISSEMINATION, nodes - 1);
        }
    }
    return candidates.count;
}

struct nicbarr_choice nicbarr_default_choice(const struct nicbarr_shape *shape)
{
    if (shape->nodes > 1) {
        return (struct nicbarr_choice){NICBARR_OPENMPI, 0, 0};
    }
    if (shape->oversubscribed || shape->processes > 16) {
        return (struct nicbarr_choice){NICBARR_COUNTER, 1, 0};
    }
    return (struct nicbarr_choice){NICBARR_FLAGS, 4, 0};
}
