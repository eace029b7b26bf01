/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the assignment of a communicator's processes to nodes (census.c). A failure means that
 * barriers hang or miss processes.
 *
 * Random communicators are compared with a naive count. (scale_test.c has a large one.)
 */
#include "coll_nicbarr/census.h"
#include "coll_nicbarr/nics.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* Two kinds of NICs, without functions. */
static const struct myr_nic_kind first = {.name = "first"}, second = {.name = "second"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&first, &second, NULL};

enum { FIRST = 1, SECOND = 2, MOST = 64, ROUNDS = 4000 };

/* The processes of a communicator, with the numbers of their segments and NICs, and the NICs'
 * names. */
struct world {
    uint32_t size;
    struct nicbarr_peer peer[MOST];
    const struct nicbarr_peer *peers[MOST];
    struct myr_nic_name name[MOST];
    const struct myr_nic_name *names[MOST];
    struct nicbarr_known known;
};

static void make_world(struct world *world, uint32_t size)
{
    memset(world, 0, sizeof(*world));
    world->size = size;
    for (uint32_t i = 0; i < MOST; ++i) {
        world->name[i].key = 1000 + i;
        world->names[i] = &world->name[i];
        world->peers[i] = &world->peer[i];
    }
    world->known.segments = MOST;
    for (uint32_t nic = FIRST; nic <= SECOND; ++nic) {
        world->known.nics[nic] = MOST;
        world->known.names[nic] = world->names;
    }
}

static void place(struct world *world, uint32_t rank, uint32_t segment, uint32_t nic1,
                  uint32_t nic2)
{
    world->peer[rank] = (struct nicbarr_peer){
        .segment = segment, .number = 1 + 7 * rank % MOST, .nic = {0, nic1, nic2}};
}

static enum nicbarr_census_result count(const struct world *world, uint32_t rank,
                                        uint32_t by_segment, struct nicbarr_nodes *nodes)
{
    return nicbarr_census(world->peers, world->size, rank, &world->known, by_segment, nodes);
}

TEST(test_players)
{
    struct world world;
    struct nicbarr_nodes nodes;
    make_world(&world, 4);

    /* Both NICs are shared by the same processes. */
    for (uint32_t r = 0; r < 4; ++r) {
        place(&world, r, 1 + r / 2, 1 + r / 2, 5 + r / 2);
    }
    assert_int_equal(count(&world, 0, 1 << SECOND, &nodes), NICBARR_COUNTED);
    assert_int_equal(nodes.nics, 1 << FIRST | 1 << SECOND);
    assert_ptr_equal(nodes.names[SECOND][1], world.names[5]);
    nicbarr_nodes_free(&nodes);

    /* The second NIC is shared by other processes than the first one, so that barriers cannot
     * use it. */
    world.peer[1].nic[SECOND] = 9;
    assert_int_equal(count(&world, 0, 0, &nodes), NICBARR_COUNTED);
    assert_int_equal(nodes.nics, 1 << FIRST);
    nicbarr_nodes_free(&nodes);

    /* A process lacks the first NIC, so the second one defines the nodes, unless these must match
     * the segments. */
    world.peer[3].nic[FIRST] = 0;
    assert_int_equal(count(&world, 3, 0, &nodes), NICBARR_COUNTED);
    assert_int_equal(nodes.nics, 1 << SECOND);
    assert_int_equal(nodes.nodes, 3);
    nicbarr_nodes_free(&nodes);
    assert_int_equal(count(&world, 3, 1 << SECOND, &nodes), NICBARR_MIXED);

    /* The processes have no NIC in common. */
    world.peer[0].nic[SECOND] = 0;
    assert_int_equal(count(&world, 0, 0, &nodes), NICBARR_NO_COMMON_NIC);
}

static void check_naively(const struct world *world, uint32_t rank,
                          const struct nicbarr_nodes *nodes)
{
    uint32_t before = 0, locals = 0, local = 0, distinct = 0;
    for (uint32_t r = 0; r < world->size; ++r) {
        bool first_of_node = true;
        for (uint32_t s = 0; s < r; ++s) {
            first_of_node = first_of_node && world->peer[s].nic[FIRST] != world->peer[r].nic[FIRST];
        }
        const bool ours = world->peer[r].nic[FIRST] == world->peer[rank].nic[FIRST];
        assert_true(!first_of_node || nodes->ranks[distinct] == r);
        assert_true(!first_of_node || nodes->firsts[distinct] == world->peer[r].number);
        before = first_of_node && ours ? distinct : before;
        distinct += first_of_node;
        local = ours && r < rank ? local + 1 : local;
        locals += ours;
    }
    assert_int_equal(nodes->nodes, distinct);
    assert_int_equal(nodes->node, before);
    assert_int_equal(nodes->locals, locals);
    assert_int_equal(nodes->local, local);
}

/* Returns whether both NICs are shared by the same processes, compared pairwise. */
static bool shared_alike(const struct world *world)
{
    bool equal = true;
    for (uint32_t r = 0; r < world->size; ++r) {
        for (uint32_t s = 0; s < r; ++s) {
            const uint32_t *one = world->peer[r].nic, *other = world->peer[s].nic;
            equal = equal && (one[FIRST] == other[FIRST]) == (one[SECOND] == other[SECOND]);
        }
    }
    return equal;
}

TEST(test_random_communicators)
{
    uint64_t random = crew_seed();
    struct world world;
    struct nicbarr_nodes nodes;
    size_t before = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        make_world(&world, 1 + crew_below(&random, MOST));
        const uint32_t of = 1 + crew_below(&random, MOST - 1);
        for (uint32_t r = 0; r < world.size; ++r) {
            const uint32_t home = 1 + crew_below(&random, of);
            place(&world, r, home, home, home);
        }
        if (0 == round % 2) { /* swap the second NICs of two processes, possibly of one node */
            uint32_t *one = &world.peer[crew_below(&random, world.size)].nic[SECOND];
            uint32_t *other = &world.peer[crew_below(&random, world.size)].nic[SECOND];
            const uint32_t home = *one;
            *one = *other;
            *other = home;
        }
        const uint32_t rank = crew_below(&random, world.size);
        assert_int_equal(count(&world, rank, round % 3 ? 1 << SECOND : 0, &nodes), NICBARR_COUNTED);
        assert_int_equal(nodes.by, FIRST);
        assert_int_equal(nodes.nics, 1 << FIRST | (shared_alike(&world) ? 1 << SECOND : 0));
        check_naively(&world, rank, &nodes);
        nicbarr_nodes_free(&nodes);
        before = ROUNDS / 2 == round ? crew_allocated() : before;
    }
    assert_true(crew_allocated() <= before + (1 << 16)); /* else something is not freed */
}
