/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests collectives on RDMA devices, with the RDMA NIC on a fake libibverbs. A failure means that
 * they return early, hang, deliver wrong data, or write into freed memory.
 *
 * Invariants of collectives:
 *
 * - No node is released before all have arrived, regardless of the order in which the network
 *   executes and completes writes, and all are released in the end.
 * - In groups that carry data, all nodes get exactly the blocks of their epoch; in a broadcast,
 *   they get the root's block.
 * - Memory is freed when no card accesses it any more, and not before.
 *
 * Invariants of connections and devices:
 *
 * - Groups share queue pairs.
 * - When a card is removed, all nodes' groups fail and name a node.
 * - What cannot be set up fails with an error message, and without leaks.
 * - Of several ports, the requested one is used, with its best address. Equally good ports are
 *   distributed among the processes.
 *
 * All this holds with librdmacm, without it, and if only some nodes have it: both ends of a
 * connection always use the same MTU. If librdmacm resolves a route, packets take it.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/nic_bcast.h"
#include "libmyr/groups/nic_data.h"
#include "libmyr/node/segment.h"
#include "libmyr/verbs/verbs.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"
#include "tests/unit/verbs_fake.h"

#ifdef WITH_LIBRDMACM
#define LIBRDMACM verbs_fake_cm()
#else
#define LIBRDMACM NULL
#endif

enum {
    MOST_NODES = 9,
    MOST_LOCALS = 3,
    GROUPS = 3,
    EPOCHS = 20,
    CALLS = 150, /* broadcasts of a run: more than a window */
    AHEAD = 3,
    STEPS = 10000000, /* of a run; usually up to a third of a million */
    SEGMENT = 16 << 20
};

/* Active ports: RoCE; RoCE with this GID, fast or slow; InfiniBand with this LID and GID. */
#define ROCE .active = true, .ethernet = true
#define FAST(gid) ROCE, .mtu = IBV_MTU_4096, .speed = 32, .gids = {"v1", gid}
#define SLOW(gid) ROCE, .mtu = IBV_MTU_4096, .speed = 1, .gids = {"v1", gid}
#define IB(number, gid) .active = true, .lid = (number), .mtu = IBV_MTU_4096, .gids = {gid}

/* Cards with one RoCE port: a usual one, one with inline data of a single word only, and one that
 * grants less inline data than requested. */
#define ONE_PORT ROCE, .mtu = IBV_MTU_1024, .gids = {"v1", "v2", "v2 10.9.0.1"}
static const struct verbs_fake_device
    one_card[] = {{.name = "card", .port = {{ONE_PORT}}}, {0}},
    plain_card[] = {{.name = "plain", .inline_most = 12, .port = {{ONE_PORT}}}, {0}},
    restricted_card[] = {{.name = "restricted", .inline_got = 12, .port = {{ONE_PORT}}}, {0}};

/* ---- nodes ---- */

struct member {
    struct myr_verbs *nic;
    uint32_t node, local;
    struct myr_nic_group group[GROUPS];
    uint32_t arrived[GROUPS];
    bool left[GROUPS];
    /* The number of completed broadcasts, and the state of the next one. */
    uint32_t ended[GROUPS];
    enum { BETWEEN, IN_BARRIER, BEGUN, SENT } at[GROUPS];
};

struct world {
    uint32_t nodes, locals, groups;
    uint32_t unit_most; /* 0: groups for barriers */
    bool broadcasts;
    struct nicbarr_choice choice[GROUPS];
    struct myr_segment *segment[MOST_NODES];
    struct myr_nic_name name[MOST_NODES];
    const struct myr_nic_name *names[MOST_NODES];
    uint32_t firsts[MOST_NODES];
    struct member member[MOST_NODES * MOST_LOCALS]; /* those of node 0 first */
    struct myr_verbs_calls plain, routed;           /* without and with librdmacm */
    uint64_t random;
    uint32_t steps; /* number of moves */
};

/* Returns a world on these cards. `routed` has a bit for each node that uses librdmacm. `wanted`
 * is each node's port; NULL: any. */
static struct world *world_on(const struct verbs_fake_device *card, uint32_t nodes, uint32_t locals,
                              uint64_t seed, uint32_t routed, const char *const *wanted)
{
    struct world *world = calloc(1, sizeof(*world));
    *world = (struct world){.nodes = nodes, .locals = locals, .random = seed};
    world->plain = world->routed = *verbs_fake(card, seed);
    world->routed.cm = LIBRDMACM;
    for (uint32_t n = 0; n < nodes; ++n) {
        assert_int_equal(myr_segment_join(NULL, SEGMENT, &world->segment[n], NULL), MYR_OK);
        world->name[n].key = myr_segment_identity(world->segment[n]);
        world->names[n] = &world->name[n];
        world->firsts[n] = myr_segment_number(world->segment[n]);
        for (uint32_t l = 0; l < locals; ++l) {
            struct member *member = &world->member[n * locals + l];
            member->node = n;
            member->local = l;
            assert_int_equal(myr_verbs_open(world->segment[n],
                                            0 != (routed >> n & 1) ? &world->routed : &world->plain,
                                            NULL == wanted ? NULL : wanted[n], &member->nic, NULL),
                             MYR_OK);
        }
    }
    return world;
}

static struct world *world_of(const struct verbs_fake_device *card, uint32_t nodes, uint32_t locals,
                              uint64_t seed)
{
    uint64_t random = seed + 1;
    return world_on(card, nodes, locals, seed, crew_below(&random, 1U << nodes), NULL);
}

static struct world *world_new(uint32_t nodes, uint32_t locals, uint64_t seed)
{
    return world_of(one_card, nodes, locals, seed);
}

static uint32_t size_of(const struct world *world)
{
    return world->nodes * world->locals;
}

static void world_free(struct world *world)
{
    for (uint32_t m = 0; m < size_of(world); ++m) {
        myr_verbs_close(world->member[m].nic);
    }
    for (uint32_t n = 0; n < world->nodes; ++n) {
        myr_segment_leave(world->segment[n]);
    }
    free(world);
    assert_int_equal(verbs_fake_held(), 0);
}

/* The context of a group's schedules. */
struct group_context {
    struct nicbarr_choice choice;
    uint32_t nodes;
};

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct group_context *group_context = context;
    return nicbarr_schedule_create(group_context->choice, group_context->nodes, node, schedule);
}

static struct myr_nic_members members_of(const struct world *world, uint32_t group,
                                         const struct member *member)
{
    return (struct myr_nic_members){
        .key = 1000 + group,
        .secret = {{group, 77}},
        .nodes = world->nodes,
        .node = member->node,
        .locals = world->locals,
        .local = member->local,
        .names = world->names,
        .firsts = world->firsts,
        .unit_most = world->unit_most,
        .broadcasts = world->broadcasts,
        .rooted = NICBARR_ROOTED == world->choice[group].algorithm,
    };
}

static void leave(struct world *world, uint32_t g)
{
    for (uint32_t m = 0; m < size_of(world); ++m) {
        if (!world->member[m].left[g]) {
            myr_nic_group_leave(&world->member[m].group[g]);
        }
    }
}

/* Execute both phases of joining. Returns false if a member lacks memory, in which case no member
 * has joined. */
static bool join(struct world *world, uint32_t g, struct nicbarr_choice choice)
{
    const struct group_context group_context = {choice, world->nodes};
    struct myr_verbs_blob blobs[MOST_NODES], blob;
    struct myr_error error = {0};
    bool good = true;
    world->choice[g] = choice;
    for (uint32_t m = 0; m < size_of(world); ++m) {
        struct member *member = &world->member[m];
        const struct myr_nic_members members = members_of(world, g, member);
        member->left[g] =
            MYR_OK != myr_verbs_prepare(member->nic, NULL, &members, schedule_of, &group_context,
                                        &member->group[g],
                                        0 == member->local ? &blobs[member->node] : &blob, &error);
        good = good && !member->left[g];
        member->arrived[g] = member->ended[g] = 0;
        member->at[g] = BETWEEN;
    }
    const bool prepared = good;
    for (uint32_t m = 0; prepared && m < size_of(world); ++m) {
        struct member *member = &world->member[m];
        const struct myr_nic_members members = members_of(world, g, member);
        member->left[g] =
            MYR_OK != myr_verbs_join(member->nic, &members, schedule_of, &group_context, blobs,
                                     &member->group[g], &error);
        good = good && !member->left[g];
    }
    if (!good) {
        leave(world, g);
        assert_true('\0' != error.text[0]);
    }
    return good;
}

/* ---- random runs ---- */

/* Returns the last epoch in which all have arrived. */
static uint32_t all_arrived(const struct world *world, uint32_t g)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t m = 0; m < size_of(world); ++m) {
        const uint32_t arrived = world->member[m].arrived[g];
        least = arrived < least ? arrived : least;
    }
    return least;
}

static void advance_barriers(struct member *member, uint32_t g, uint32_t epochs)
{
    struct myr_nic_group *group = &member->group[g];
    if (member->arrived[g] < epochs && member->arrived[g] < *group->done + AHEAD) {
        ++member->arrived[g]; /* before the others can detect it */
        assert_int_equal(myr_nic_group_arrive(group), member->arrived[g]);
    }
}

/* Returns a word of a block; contents and sizes of blocks are the same on all nodes. */
static uint64_t word_of(uint32_t g, uint32_t number, uint32_t node, uint32_t place)
{
    uint64_t random = UINT64_C(1) << 60 | (uint64_t)g << 56 | (uint64_t)number << 24 |
                      (uint64_t)node << 12 | place;
    return crew_random(&random);
}

static uint32_t unit_of(const struct myr_nic_group *group, uint32_t g, uint32_t epoch)
{
    const uint32_t words = myr_nic_data_most(group) / MCP_BLOCK_UNIT;
    return (uint32_t)(word_of(g, epoch, 4000, 4000) % (words + 1)) * MCP_BLOCK_UNIT;
}

struct building {
    uint32_t g, node, unit;
};

static void build(void *context, uint32_t epoch, uint8_t *block)
{
    const struct building *building = context;
    for (uint32_t w = 0; w < building->unit / 8; ++w) {
        const uint64_t word = word_of(building->g, epoch, building->node, w);
        memcpy(block + (size_t)8 * w, &word, 8);
    }
}

static void expect_block(const uint8_t *block, uint32_t g, uint32_t number, uint32_t node,
                         uint32_t bytes)
{
    for (uint32_t w = 0; w < bytes / 8; ++w) {
        uint64_t word;
        memcpy(&word, block + (size_t)8 * w, 8);
        assert_true(word == word_of(g, number, node, w));
    }
}

/* Returns the progress of the group at the node that gets all blocks. */
static uint32_t answered(const struct world *world, uint32_t g)
{
    const struct member *member = &world->member[0];
    return member->left[g] ? member->arrived[g] : *member->group[g].done;
}

/* Advance a process, which must have the blocks of the last epoch before it arrives in the next
 * one. */
static void advance_data(const struct world *world, struct member *member, uint32_t g,
                         uint32_t epochs)
{
    struct myr_nic_group *group = &member->group[g];
    const uint32_t epoch = member->arrived[g];
    struct building building = {g, member->node, unit_of(group, g, epoch + 1)};
    const bool rooted = NICBARR_ROOTED == world->choice[g].algorithm;
    const bool reads = !rooted || 0 == member->node;
    /* In practice, another group acknowledges the blocks of a rooted group. Here its progress is
     * read instead. */
    if (epoch != *group->done || epoch == epochs || (rooted && epoch != answered(world, g))) {
        return;
    }
    for (uint32_t n = 0; reads && 0 != epoch && n < world->nodes; ++n) {
        const uint32_t unit = unit_of(group, g, epoch);
        expect_block(myr_nic_data_block(group, epoch, unit, n), g, epoch, n, unit);
    }
    ++member->arrived[g];
    assert_int_equal(myr_nic_data_arrive(group, building.unit, build, &building),
                     member->arrived[g]);
}

/* Advance a process, which sometimes executes a barrier, and otherwise is the root or waits. */
static void advance_broadcasts(const struct world *world, struct member *member, uint32_t g)
{
    struct myr_nic_group *group = &member->group[g];
    const uint32_t call = member->ended[g];
    const uint32_t root = (uint32_t)word_of(g, call, 0, 4001) % size_of(world);
    const uint32_t bytes =
        (uint32_t)(word_of(g, call, 0, 4002) % (myr_nic_bcast_most(group) / 8 + 1)) * 8;
    if (CALLS == call) {
        return;
    }
    switch (member->at[g]) {
    case BETWEEN:
        if (0 == word_of(g, call, 0, 4003) % 16) {
            member->arrived[g] = myr_nic_group_arrive(group);
            member->at[g] = IN_BARRIER;
            break;
        }
        myr_nic_bcast_begin(group, root / world->locals);
        member->at[g] = BEGUN;
        break;
    case IN_BARRIER:
        if (myr_nic_group_test(group, member->arrived[g])) {
            myr_nic_bcast_begin(group, root / world->locals);
            member->at[g] = BEGUN;
        }
        break;
    case BEGUN:
        if (&world->member[root] != member) {
            member->at[g] = SENT;
        } else if (myr_nic_bcast_room(group)) {
            struct building building = {g, root, bytes};
            build(&building, call, myr_nic_bcast_data(group));
            myr_nic_bcast_send(group, bytes);
            member->at[g] = SENT;
        }
        break;
    case SENT:
        if (myr_nic_bcast_test(group)) {
            uint32_t came;
            const void *block = myr_nic_bcast_check(group, &came);
            assert_int_equal(came, bytes);
            expect_block(block, g, call, root, bytes);
            myr_nic_bcast_end(group);
            ++member->ended[g];
            member->at[g] = BETWEEN;
        }
        break;
    }
}

static bool has_finished(const struct world *world, const struct member *member, uint32_t g,
                         uint32_t epochs)
{
    return member->left[g] ||
           (world->broadcasts ? CALLS == member->ended[g] : epochs == *member->group[g].done);
}

static void move_in(struct world *world, struct member *member, uint32_t g, uint32_t epochs)
{
    struct myr_nic_group *group = &member->group[g];
    if (!world->broadcasts && NICBARR_ROOTED != world->choice[g].algorithm) {
        assert_in_range(*group->done, 0, all_arrived(world, g));
    }
    if (0 == crew_below(&world->random, 2)) {
        (void)group->ops->poll(group);
    } else if (world->broadcasts) {
        advance_broadcasts(world, member, g);
    } else if (0 != world->unit_most) {
        advance_data(world, member, g, epochs);
    } else {
        advance_barriers(member, g, epochs);
    }
}

/* Let a random process make a step in a random group. */
static void move(struct world *world, uint32_t epochs)
{
    assert_true(++world->steps < STEPS); /* else it hangs */
    struct member *member = &world->member[crew_below(&world->random, size_of(world))];
    const uint32_t g = crew_below(&world->random, world->groups);
    switch (crew_below(&world->random, 4)) {
    case 0:
        myr_verbs_poll(member->nic);
        break;
    case 1:
        (void)verbs_fake_step();
        break;
    default:
        if (!member->left[g]) {
            move_in(world, member, g, epochs);
        }
        break;
    }
}

/* Let processes that have completed a group leave it at once, or stay. After its last group of
 * barriers a process may close its connections, but its last writes arrive nevertheless. */
static void leave_some(struct world *world, uint32_t epochs)
{
    struct member *member = &world->member[crew_below(&world->random, size_of(world))];
    const uint32_t g = crew_below(&world->random, world->groups);
    if (!member->left[g] && has_finished(world, member, g, epochs)) {
        bool ends = 0 == world->unit_most;
        myr_nic_group_leave(&member->group[g]);
        member->left[g] = true;
        for (uint32_t other = 0; other < world->groups; ++other) {
            ends = ends && member->left[other];
        }
        if (ends) {
            myr_verbs_close_links(member->nic);
        }
    }
}

static bool is_over(const struct world *world, uint32_t epochs)
{
    bool over = true;
    for (uint32_t m = 0; over && m < size_of(world); ++m) {
        for (uint32_t g = 0; over && g < world->groups; ++g) {
            over = has_finished(world, &world->member[m], g, epochs);
        }
    }
    return over;
}

/* Have all processes execute barriers in group 0. */
static void play_barriers(struct world *world, uint32_t epochs)
{
    world->groups = 1;
    while (!is_over(world, epochs)) {
        move(world, epochs);
    }
}

static struct nicbarr_choice dissemination(uint32_t ways)
{
    return (struct nicbarr_choice){NICBARR_DISSEMINATION, ways, 1};
}

static struct nicbarr_choice any_choice(uint64_t *random, uint32_t nodes)
{
    static const enum nicbarr_algorithm algorithms[] = {NICBARR_TREE, NICBARR_DISSEMINATION,
                                                        NICBARR_PAIRWISE};
    struct nicbarr_choice choice = {.algorithm = algorithms[crew_below(random, 3)], .nic = 1};
    const uint32_t most = nicbarr_parameter_max(choice.algorithm, nodes);
    choice.parameter =
        NICBARR_PAIRWISE == choice.algorithm ? 0 : 1 + crew_below(random, most < 7 ? most : 7);
    return choice;
}

/* Wait until only queue pairs and the devices' own resources are allocated. */
static void await_freeing(struct world *world)
{
    while (verbs_fake_held() != verbs_fake_pairs() + 4 * size_of(world)) {
        myr_verbs_poll(world->member[crew_below(&world->random, size_of(world))].nic);
        (void)verbs_fake_step();
    }
}

/* Run random groups, on a random number of nodes. */
static void play_game(uint64_t *random, uint32_t unit_most, bool broadcasts)
{
    const uint32_t nodes = 2 + crew_below(random, MOST_NODES - 1);
    const uint32_t locals = 1 + crew_below(random, MOST_LOCALS);
    static const struct verbs_fake_device *const cards[] = {one_card, plain_card, restricted_card};
    struct world *world =
        world_of(cards[crew_below(random, 3)], nodes, locals, crew_random(random));
    world->groups = 1 + crew_below(random, GROUPS);
    world->unit_most = unit_most;
    world->broadcasts = broadcasts;
    verbs_fake_network((struct verbs_fake_network){
        .mtu = (uint8_t)crew_below(random, 1 + IBV_MTU_4096)}); /* 0: the port's */
    for (uint32_t g = 0; g < world->groups; ++g) {
        struct nicbarr_choice choice = any_choice(random, nodes);
        if (broadcasts) {
            choice = dissemination(1 + crew_below(random, 3));
        } else if (0 != unit_most && nodes > 2 && 0 == crew_below(random, 4)) {
            choice = (struct nicbarr_choice){NICBARR_ROOTED, nodes - 1, 1};
        }
        assert_true(join(world, g, choice));
    }
    while (!is_over(world, EPOCHS)) {
        move(world, EPOCHS);
        leave_some(world, EPOCHS);
    }
    for (uint32_t g = 0; g < world->groups; ++g) {
        leave(world, g);
    }
    if (0 == unit_most) { /* nothing is in flight */
        assert_int_equal(verbs_fake_held(), verbs_fake_pairs() + 4 * nodes * locals);
    } else if (0 != crew_below(random, 4)) {
        await_freeing(world);
    }
    world_free(world);
}

TEST(test_games)
{
    uint64_t random = crew_seed();
    for (uint32_t game = 0; game < 150; ++game) {
        play_game(&random, 0, false);
        if (game < 100) {
            play_game(&random, 16 + 8 * crew_below(&random, 100), false);
        }
        if (game < 60) {
            play_game(&random, 8 + 8 * crew_below(&random, 150), true);
        }
    }
}

/* Load libibverbs in one of two concurrent threads: both must get the complete table, or
 * neither. */
static void *load(void *start)
{
    (void)pthread_barrier_wait(start);
    const struct myr_verbs_calls *calls = myr_verbs_load();
    return NULL != calls && NULL != calls->freeifaddrs ? (void *)(uintptr_t)calls : NULL;
}

TEST(test_two_threads_load)
{
    pthread_t thread;
    pthread_barrier_t start;
    void *calls;
    assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, load, &start), 0);
    const void *own = load(&start);
    assert_int_equal(pthread_join(thread, &calls), 0);
    assert_ptr_equal(calls, own);
    pthread_barrier_destroy(&start);
}

/* A thousand consecutive groups share the queue pairs of the first one. */
TEST(test_pairs_are_shared)
{
    struct world *world = world_new(4, 2, crew_seed());
    for (uint32_t round = 0; round < 1000; ++round) {
        assert_true(join(world, 0, dissemination(3)));
        play_barriers(world, 1);
        leave(world, 0);
        assert_int_equal(verbs_fake_pairs(), 4 * 3);
    }
    world_free(world);
}

/* ---- failures ---- */

TEST(test_card_is_removed)
{
    uint64_t random = crew_seed() + 1;
    for (uint32_t game = 0; game < 100; ++game) {
        const uint32_t nodes = 2 + crew_below(&random, MOST_NODES - 1);
        struct world *world = world_new(nodes, 1, crew_random(&random));
        const uint32_t dead = crew_below(&random, nodes);
        uint64_t now_us = 1000000;
        bool all_know = false;
        world->groups = 1;
        assert_true(join(world, 0, any_choice(&random, nodes)));
        while (world->member[dead].arrived[0] < 5) {
            move(world, EPOCHS);
        }
        verbs_fake_remove(world->member[dead].nic->device.context);
        while (!all_know) {
            all_know = true;
            for (uint32_t n = 0; n < nodes; ++n) {
                struct myr_nic_group *group = &world->member[n].group[0];
                uint32_t node;
                if (world->member[n].arrived[0] == *group->done) {
                    ++world->member[n].arrived[0];
                    (void)myr_nic_group_arrive(group);
                }
                (void)group->ops->poll(group);
                group->ops->remind(group, now_us);
                all_know = all_know && myr_nic_group_failed(group, &node);
                assert_true(!myr_nic_group_failed(group, &node) || node < nodes);
                (void)verbs_fake_step();
            }
            now_us += 300000;
        }
        leave(world, 0);
        world_free(world);
    }
}

/* A node that waits for a block gets a response of its parent in the tree, or the error that a
 * node is missing. */
TEST(test_root_is_late_or_gone)
{
    uint64_t random = crew_seed() + 5;
    for (uint32_t game = 0; game < 60; ++game) {
        const uint32_t nodes = 2 + crew_below(&random, MOST_NODES - 1);
        const uint32_t root = crew_below(&random, nodes);
        struct world *world = world_new(nodes, 1, crew_random(&random));
        const bool removed = 0 == crew_below(&random, 2);
        uint32_t know = 0;
        world->unit_most = 64;
        world->broadcasts = true;
        assert_true(join(world, 0, dissemination(1)));
        for (uint32_t n = 0; n < nodes; ++n) {
            myr_nic_bcast_begin(&world->member[n].group[0], root);
        }
        if (removed) {
            verbs_fake_remove(world->member[root].nic->device.context);
        }
        while (nodes - 1 != know) {
            know = 0;
            for (uint32_t n = 0; n < nodes; ++n) {
                struct myr_nic_group *group = &world->member[n].group[0];
                struct mcp_missing missing;
                uint32_t node;
                if (n == root) {
                    continue;
                }
                group->ops->bcast_ask(group, root, 1);
                (void)group->ops->poll(group);
                assert_true(myr_nic_bcast_missing(group, &missing));
                know += removed ? myr_nic_group_failed(group, &node) : 0 != missing.heard_ms;
                assert_true(removed || !myr_nic_group_failed(group, &node));
                (void)verbs_fake_step();
            }
        }
        leave(world, 0);
        world_free(world);
    }
}

/* One node has completed the last barrier and left the group, when another node that still waits in
 * that barrier gives up. The failure message finds no group, but must not break the connection,
 * which other groups need. */
TEST(test_failure_after_leaving)
{
    uint64_t random = crew_seed() + 6;
    for (uint32_t game = 0; game < 100; ++game) {
        struct world *world = world_new(3, 1, crew_random(&random));
        struct myr_nic_group *waits = &world->member[1].group[0];
        world->groups = 1;
        world->unit_most = 0 == game % 2 ? 0 : 64;
        assert_true(join(world, 0, dissemination(2)));
        for (uint32_t n = 0; n < 3; ++n) {
            (void)myr_nic_group_arrive(&world->member[n].group[0]);
        }
        while (1 != *world->member[0].group[0].done) {
            (void)verbs_fake_step();
            myr_verbs_poll(world->member[0].nic);
        }
        myr_nic_group_leave(&world->member[0].group[0]);
        while (verbs_fake_step()) {
            myr_verbs_poll(world->member[0].nic); /* its memory is freed */
        }
        assert_int_equal(*waits->done, 0);
        world->member[0].left[0] = true;
        struct myr_verbs_words *words = &world->member[0].nic->words;
        if (game % 4 < 2) { /* the next group reuses the word of this one */
            words->taken = words->given - 1;
        }
        myr_nic_group_fail(waits, 2);
        assert_true(join(world, 1, dissemination(2)));
        for (uint32_t n = 0; n < 3; ++n) {
            (void)myr_nic_group_arrive(&world->member[n].group[1]);
        }
        for (uint32_t n = 0, steps = 0; n < 3; ++steps) {
            struct myr_nic_group *group = &world->member[n].group[1];
            assert_in_range(steps, 0, 100000);
            (void)group->ops->poll(group);
            (void)verbs_fake_step();
            n += 1 == *group->done && !myr_nic_group_over(group);
        }
        leave(world, 0);
        leave(world, 1);
        world_free(world);
    }
}

/* The next process with the same index in the node's segment, such as that of a job spawned after
 * another one ended, gets its own connections. */
TEST(test_the_next_process)
{
    struct world *world = world_new(2, 1, crew_seed());
    for (uint32_t round = 0; round < 3; ++round) {
        assert_true(join(world, 0, dissemination(1)));
        play_barriers(world, 3);
        leave(world, 0);
        const int kept = dup(myr_segment_fd(world->segment[1]));
        const uint32_t index = myr_segment_index(world->segment[1]);
        myr_verbs_close(world->member[1].nic);
        myr_segment_leave(world->segment[1]);
        assert_int_equal(myr_segment_join_fd(kept, &world->segment[1], NULL), MYR_OK);
        assert_int_equal(myr_segment_index(world->segment[1]), index);
        world->firsts[1] = myr_segment_number(world->segment[1]);
        assert_int_equal(
            myr_verbs_open(world->segment[1], &world->plain, NULL, &world->member[1].nic, NULL),
            MYR_OK);
    }
    world_free(world);
}

/* A process that is late but alive responds, so that it is not considered dead. */
TEST(test_late_processes_respond)
{
    struct world *world = world_new(2, 1, crew_seed());
    struct myr_nic_group *group = &world->member[0].group[0];
    struct mcp_missing missing = {0};
    uint64_t now_us = 1000000;
    assert_true(join(world, 0, dissemination(1)));
    (void)myr_nic_group_arrive(group);
    assert_int_equal(myr_nic_group_missing(group, &missing, 1), 1);
    assert_int_equal(missing.heard_ms, 0);
    while (0 == missing.heard_ms) {
        group->ops->remind(group, now_us += 300000);
        (void)verbs_fake_step();
        assert_int_equal(myr_nic_group_missing(group, &missing, 1), 1);
        assert_int_equal(missing.node, 1);
    }
    (void)myr_nic_group_arrive(&world->member[1].group[0]);
    for (uint32_t n = 0; n < 2; ++n) {
        group = &world->member[n].group[0];
        while (1 != *group->done) {
            (void)verbs_fake_step();
            (void)group->ops->poll(group);
        }
    }
    leave(world, 0);
    world_free(world);
}

/* Each allocation fails once. Then no member has the group. The next attempt succeeds, except if
 * a queue pair could not be connected. */
TEST(test_lack_of_resources)
{
    const struct nicbarr_choice choice = {NICBARR_PAIRWISE, 0, 1};
    bool refused = true;
    uint32_t worked = 0;
    for (uint32_t call = 1; refused; ++call) {
        struct world *world = world_new(3, 2, crew_seed());
        verbs_fake_refuse(call);
        refused = !join(world, 0, choice);
        if (!refused) {
            verbs_fake_refuse(0);
            leave(world, 0);
        } else if (join(world, 0, choice)) {
            play_barriers(world, 3);
            leave(world, 0);
            ++worked;
        }
        world_free(world);
    }
    /* For each node: a region, a queue pair for each peer, and its initial resources. */
    assert_in_range(worked, 3 + 2 * 4, 3 * 5);
}

/* ---- devices ---- */

static const struct verbs_fake_device machine[] = {
    {.name = "down", .port = {{.ethernet = true, .mtu = IBV_MTU_1024, .gids = {"v2"}}}},
    {.name = "shut", .refuses = true, .port = {{.active = true, .mtu = IBV_MTU_1024}}},
    {.name = "old", .port = {{ROCE, .mtu = IBV_MTU_1024, .gids = {"v1"}}}},
    {.name = "roce",
     .port = {{ROCE, .mtu = IBV_MTU_4096, .gids = {"v1", "v2", "v1", "v2 10.0.0.7"}},
              {ROCE, .mtu = IBV_MTU_1024, .gids = {"v1", "v2"}}}},
    {.name = "ib", .port = {{.active = true, .lid = 5, .mtu = IBV_MTU_2048, .gids = {"ib"}}}},
    {.name = "many",
     .port = {{ROCE, .mtu = IBV_MTU_1024, .unusable_gids = UINT8_MAX,
               .gids = {"v2 10.0.0.8", "v2 10.0.0.9"}},
              {ROCE, .mtu = IBV_MTU_1024, .unusable_gids = UINT8_MAX + 1,
               .gids = {"v2 10.0.0.10"}}}},
    {.name = NULL},
};

static bool no_memory_for_schedules(const void *context, uint32_t node,
                                    struct myr_schedule *schedule)
{
    (void)context;
    (void)node;
    (void)schedule;
    return false;
}

static void count_group_record(struct myr_record *record, void *count)
{
    *(uint32_t *)count += 1000 == record->key[0];
}

/* A process fails before it joins the group's record, before or after the other one has joined it:
 * the record is freed nevertheless. */
TEST(test_lack_of_memory)
{
    for (uint32_t first = 0; first < 2; ++first) {
        struct world *world = world_new(2, 2, crew_seed());
        const struct group_context context = {world->choice[0], 2};
        struct myr_verbs_blob blob;
        uint32_t records = 0;
        for (uint32_t i = 0; i < 2; ++i) {
            const uint32_t local = first ^ i;
            struct member *member = &world->member[local];
            const struct myr_nic_members members = members_of(world, 0, member);
            const enum myr_status status = myr_verbs_prepare(
                member->nic, NULL, &members, 0 == local ? no_memory_for_schedules : schedule_of,
                &context, &member->group[0], &blob, NULL);
            assert_int_equal(status, 0 == i && 1 == local ? MYR_OK : MYR_ERR_OUT_OF_MEMORY);
        }
        if (1 == first) {
            myr_nic_group_leave(&world->member[1].group[0]);
        }
        myr_records_each(world->segment[0], count_group_record, &records);
        assert_int_equal(records, 0);
        world_free(world);
    }
}

/* Returns which device is opened on a machine, as "NAME:PORT:GID", or the error message. */
static const char *opened_device(const struct myr_verbs_calls *calls, const char *wanted,
                                 enum myr_status expected)
{
    static char text[300];
    struct myr_verbs_device device;
    struct myr_error error = {.text = ""};
    assert_int_equal(myr_verbs_device_open(calls, wanted, 0, &device, &error), expected);
    snprintf(text, sizeof(text), "%s", error.text);
    if (MYR_OK == expected) {
        snprintf(text, sizeof(text), "%s:%u:%u", device.name, device.port, device.gid_index);
        myr_verbs_device_close(&device);
    }
    assert_int_equal(verbs_fake_held(), 0);
    return text;
}

TEST(test_devices)
{
    static const struct {
        const char *wanted, *opened; /* what is opened, or a part of the error message */
        enum myr_status status;
    } cases[] = {
        {NULL, "roce:1:3", MYR_OK},
        {"", "roce:1:3", MYR_OK},
        {"all", "roce:1:3", MYR_OK},
        {"roce", "roce:1:3", MYR_OK},
        {"roce:2", "roce:2:1", MYR_OK},
        {"ib", "ib:1:0", MYR_OK},
        {"ib,roce", "ib:1:0", MYR_OK},
        {"roce,ib", "roce:1:3", MYR_OK},
        {"ib:2,roce:2", "roce:2:1", MYR_OK},
        {"down,ib:1,roce", "ib:1:0", MYR_OK},
        {"roce:2,roce:1", "roce:2:1", MYR_OK},
        {", ib:2, ib:1", "ib:1:0", MYR_OK},
        {"many", "many:1:255", MYR_OK},
        {"many:2,ib", "ib:1:0", MYR_OK}, /* no address handle has room for its address's index */
        {"down", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"old", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"no such,roc,roce:3", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"shut", "cannot be opened", MYR_ERR_SYSTEM},
    };
    const struct myr_verbs_calls *calls = verbs_fake(machine, 1);
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        const char *text = opened_device(calls, cases[c].wanted, cases[c].status);
        if (MYR_OK == cases[c].status) {
            assert_string_equal(text, cases[c].opened);
        } else {
            assert_non_null(strstr(text, cases[c].opened));
        }
    }
    calls = verbs_fake(&machine[sizeof(machine) / sizeof(machine[0]) - 1], 1);
    (void)opened_device(calls, NULL, MYR_ERR_NOT_THERE);
    for (uint32_t call = 2; call <= 4; ++call) { /* after the device was examined */
        calls = verbs_fake(one_card, 1);
        verbs_fake_refuse(call);
        assert_non_null(strstr(opened_device(calls, NULL, MYR_ERR_SYSTEM),
                               2 == call ? "cannot be opened" : "ulimit -l"));
    }
}

TEST(test_invalid_lists)
{
    static const struct {
        const char *wanted;
        bool wrong;
    } cases[] = {{NULL, false},  {"", false}, {"all", false}, {",roce,", false},
                 {" ib", false}, {",", true}, {",,", true},   {" ", true}};
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        char why[160] = "";
        assert_int_equal(myr_verbs_devices_wrong(cases[c].wanted, why, sizeof(why)),
                         cases[c].wrong);
        assert_int_equal('\0' != *why, cases[c].wrong);
    }
}

/* Without a name, the fastest device is used. */
TEST(test_fastest_device)
{
    static const struct {
        uint8_t speed, width;
    } from_slow_to_fast[] = {{1, 1}, {32, 1}, {8, 2}, {16, 2}, {32, 2}, {64, 2}, {128, 2}};
    enum { COUNT = sizeof(from_slow_to_fast) / sizeof(from_slow_to_fast[0]) };
    for (int first = 0; first < COUNT; ++first) {
        for (int second = 0; second < COUNT; ++second) {
            struct verbs_fake_device devices[] = {{.name = "a"}, {.name = "b"}, {.name = NULL}};
            for (int d = 0; d < 2; ++d) {
                const int is = 0 == d ? first : second;
                devices[d].port[0] = (struct verbs_fake_port){.active = true,
                                                              .mtu = IBV_MTU_4096,
                                                              .gids = {"ib"},
                                                              .speed = from_slow_to_fast[is].speed,
                                                              .width = from_slow_to_fast[is].width};
            }
            const struct myr_verbs_calls *calls = verbs_fake(devices, 1);
            assert_string_equal(opened_device(calls, NULL, MYR_OK),
                                first >= second ? "a:1:0" : "b:1:0");
            assert_string_equal(opened_device(calls, "b,a", MYR_OK), "b:1:0");
        }
    }
}

/* ---- several ports ---- */

/* Check which ports the processes 0, 1, 2, ... of a node use. */
static void expect_ports(const struct verbs_fake_device *devices, const char *wanted,
                         const char *ports)
{
    const struct myr_verbs_calls *calls = verbs_fake(devices, 1);
    char words[256] = "";
    for (uint32_t process = 0; process < 4; ++process) {
        struct myr_verbs_device device;
        assert_int_equal(myr_verbs_device_open(calls, wanted, process, &device, NULL), MYR_OK);
        const size_t length = strlen(words);
        snprintf(words + length, sizeof(words) - length, "%s%s:%u", 0 == process ? "" : " ",
                 device.name, device.port);
        myr_verbs_device_close(&device);
    }
    assert_string_equal(words, ports);
    assert_int_equal(verbs_fake_held(), 0);
}

TEST(test_ports_are_distributed)
{
    static const struct verbs_fake_device roce[] = {
        {.name = "a", .port = {{FAST("v2 10.1.0.1/24")}, {FAST("v2 10.1.0.2/24")}}},
        {.name = "b", .port = {{FAST("v2 10.1.1.1/24")}, {FAST("v2 10.1.0.9")}}},
        {.name = "c", .port = {{SLOW("v2 10.1.0.3/24")}}},
        {.name = "d", .port = {{FAST("v2 10.1.0.4/24")}, {FAST("v2 10.1.0.5/16")}}},
        {.name = "e", .port = {{FAST("v2")}, {FAST("v2")}}},
        {.name = NULL},
    };
    static const struct verbs_fake_device usual[] = {
        {.name = "a", .port = {{IB(1, "ib")}, {IB(2, "ib")}}},
        {.name = NULL},
    };
    static const struct verbs_fake_device subnets[] = {
        {.name = "a", .port = {{IB(1, "ib 7")}, {IB(2, "ib 8")}}},
        {.name = "b", .port = {{IB(3, "ib 7")}}},
        {.name = NULL},
    };
    expect_ports(roce, NULL, "a:1 a:2 d:1 a:1");
    expect_ports(roce, "c,a:2", "c:1 a:2 c:1 a:2");
    expect_ports(roce, "b,a", "b:1 b:1 b:1 b:1");
    expect_ports(roce, "d,c,a", "d:1 c:1 a:1 a:2");
    expect_ports(roce, "e", "e:1 e:1 e:1 e:1");
    expect_ports(usual, NULL, "a:1 a:1 a:1 a:1");
    expect_ports(usual, "a", "a:1 a:2 a:1 a:2");
    expect_ports(subnets, "all", "a:1 b:1 a:1 b:1");
    expect_ports(subnets, "a,b", "a:1 b:1 a:1 b:1");
}

/* Create a device's directory in sysfs, with its local CPUs. */
static const char *device_dir(const char *processors)
{
    static char dirs[4][64];
    static uint32_t count;
    char path[128];
    char *dir = dirs[count++ % 4];
    snprintf(dir, sizeof(dirs[0]), "/tmp/verbs_test.XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/device", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/device/local_cpulist", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(processors, file);
    assert_int_equal(fclose(file), 0);
    return dir;
}

static void remove_dir(const char *dir)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

TEST(test_near_ports_are_preferred)
{
    const long most = CPU_SETSIZE - 1;
    struct verbs_fake_device devices[] = {
        {.name = "a", .port = {{FAST("v2 10.1.0.1/24")}}},
        {.name = "b", .port = {{FAST("v2 10.1.0.2/24")}, {FAST("v2 10.1.0.3/24")}}},
        {.name = "c", .port = {{FAST("v2 10.2.0.1/24")}, {SLOW("v2 10.1.0.4/24")}}},
        {.name = NULL},
    };
    cpu_set_t set, saved;
    char words[128];
    int own = 0;
    /* The process is bound to one CPU. Devices are local to all CPUs, to this one, or to all
     * others. */
    assert_int_equal(sched_getaffinity(0, sizeof(saved), &saved), 0);
    while (!CPU_ISSET(own, &saved)) {
        ++own;
    }
    CPU_ZERO(&set);
    CPU_SET(own, &set);
    assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
    snprintf(words, sizeof(words), "%d-%ld\n", own + 1, most);
    const char *others = device_dir(words);
    snprintf(words, sizeof(words), "%d,%ld\n", own, most);
    const char *alone = device_dir(words);
    snprintf(words, sizeof(words), "0-%ld\n", most);
    const char *every = device_dir(words);
    devices[0].dir = others;
    expect_ports(devices, NULL, "a:1 b:1 b:2 a:1"); /* no device is known to be local */
    devices[2].dir = every;
    expect_ports(devices, NULL, "a:1 b:1 b:2 a:1"); /* one device is known to be local, but it is in
                                                       another network, or slow */
    devices[1].dir = alone;
    expect_ports(devices, NULL, "b:1 b:2 b:1 b:2");
    expect_ports(devices, "a,b:2", "a:1 b:2 a:1 b:2");
    devices[0].dir = every;
    expect_ports(devices, NULL, "a:1 b:1 b:2 a:1");
    assert_int_equal(sched_setaffinity(0, sizeof(saved), &saved), 0);
    if (CPU_COUNT(&saved) > 1) { /* it may run on other CPUs, too */
        expect_ports(devices, NULL, "a:1 a:1 a:1 a:1");
    }
    remove_dir(others);
    remove_dir(alone);
    remove_dir(every);
}

/* ---- routes ---- */

static const struct verbs_fake_device fabric[] = {
    {.name = "left", .port = {{IB(10, "ib 1 1")}, {IB(20, "ib 1 2")}}},
    {.name = "right", .port = {{IB(30, "ib 2 3")}}},
    {.name = "roce", .port = {{FAST("v2 10.9.0.1")}, {ROCE, .mtu = IBV_MTU_1024, .gids = {"v2"}}}},
    {.name = NULL},
};

/* Returns the route of the first of two nodes to the second one, on these ports, after some
 * barriers. */
static struct verbs_fake_way route_between(const char *first, const char *second, uint32_t routed)
{
    const char *const wanted[] = {first, second};
    struct world *world = world_on(fabric, 2, 1, crew_seed(), routed, wanted);
    verbs_fake_network((struct verbs_fake_network){.mtu = IBV_MTU_512});
    assert_true(join(world, 0, dissemination(1)));
    const struct myr_verbs *nic = world->member[0].nic;
    const struct verbs_fake_way way = *verbs_fake_way(nic->link[0]->qp->qp_num);
    assert_int_equal(nic->shown->routed, 3 == routed && 0 != strcmp(second, "roce:2"));
    play_barriers(world, 3);
    leave(world, 0);
    world_free(world);
    return way;
}

TEST(test_routes_by_exchange)
{
    for (uint32_t routed = 0; routed < 3;
         ++routed) { /* none of them, or one of them, has librdmacm */
        struct verbs_fake_way way = route_between("left:1", "left:2", routed);
        assert_false(way.to.is_global);
        assert_int_equal(way.to.dlid, 20);
        assert_int_equal(way.mtu, IBV_MTU_4096);
        way = route_between("left:1", "right", routed);
        assert_true(way.to.is_global);
        assert_int_equal(way.to.grh.dgid.raw[7], 2);
        assert_int_equal(way.to.grh.hop_limit, 64);
        way = route_between("roce:1", "roce:2", routed);
        assert_true(way.to.is_global);
        assert_int_equal(way.to.grh.dgid.raw[0], 0xfe);
        assert_int_equal(way.mtu, IBV_MTU_1024);
    }
}

TEST(test_routes_by_librdmacm)
{
    if (NULL == LIBRDMACM) {
        skip();
    }
    struct verbs_fake_way way = route_between("left:1", "left:2", 3);
    assert_false(way.to.is_global);
    assert_int_equal(way.to.dlid, 20);
    assert_int_equal(way.to.src_path_bits, 1);
    assert_int_equal(way.to.sl, 3);
    assert_int_equal(way.to.static_rate, 7);
    assert_int_equal(way.to.port_num, 1);
    assert_int_equal(way.mtu, IBV_MTU_512);
    way = route_between("left:2", "right", 3);
    assert_true(way.to.is_global);
    assert_int_equal(way.to.port_num, 2);
    assert_int_equal(way.to.grh.dgid.raw[7], 2);
    assert_int_equal(way.to.grh.hop_limit, 63);
    assert_int_equal(way.to.grh.flow_label, 0x8a065);
    way = route_between("roce:1", "roce:1", 3);
    assert_true(way.to.is_global);
    assert_int_equal(way.to.grh.sgid_index, 1);
    assert_int_equal(way.to.grh.dgid.raw[12], 10);
    assert_int_equal(way.to.grh.traffic_class, 106);
    assert_int_equal(way.to.dlid, 0);
    assert_int_equal(way.to.src_path_bits, 0);
    assert_int_equal(way.mtu, IBV_MTU_512);
    way = route_between("roce:1", "roce:2", 3); /* without an IP address */
    assert_int_equal(way.to.grh.hop_limit, 64);
    assert_int_equal(way.mtu, IBV_MTU_1024);
}

/* Without a route, no member has the group, and an error message reports the reason. */
TEST(test_no_route)
{
    struct myr_error error = {0};
    if (NULL == LIBRDMACM) {
        skip();
    }
    struct world *world = world_on(one_card, 2, 1, crew_seed(), 3, NULL);
    struct myr_verbs_address address;
    struct myr_verbs *nic = world->member[0].nic;
    myr_verbs_device_address(&nic->device, &address);
    verbs_fake_network((struct verbs_fake_network){.unreachable = true});
    assert_false(join(world, 0, dissemination(1)));
    struct myr_verbs_link *link = myr_verbs_link(nic, 1, 2, &error);
    assert_non_null(link);
    assert_int_equal(myr_verbs_connect(nic, link, &address, 77, &error), MYR_ERR_NOT_THERE);
    assert_non_null(strstr(error.text, "has no route to another node's device"));
    world_free(world);
}
