/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA NIC, over a double of libibverbs. Invariants. Nobody is released before all have
 * arrived, in whatever order the network carries writes out and reports them; and everybody is, in
 * the end. Groups share queue pairs. When a card is gone, all nodes' groups say so and name a node.
 * What cannot be had is refused with a line, and nothing of it stays. Of several ports the wanted
 * one is taken, by its best address.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/group_player.h"
#include "libmyr/segment.h"
#include "libmyr/verbs/verbs.h"
#include "tests/unit/crew.h"
#include "tests/unit/verbs_double.h"

enum { MOST_NODES = 9, MOST_LOCALS = 3, GROUPS = 3, EPOCHS = 20, AHEAD = 3, SEGMENT = 16 << 20 };

static const struct verbs_double_device one_card[] = {
    {.name = "card",
     .port = {{.active = true,
               .ethernet = true,
               .mtu = IBV_MTU_1024,
               .gids = {"v1", "v2", "v2 10.9.0.1"}}}},
    {.name = NULL},
};

/* ---- nodes ---- */

struct member {
    struct myr_verbs nic;
    struct myr_nic_group group[GROUPS];
    uint32_t arrived[GROUPS];
};

struct world {
    uint32_t nodes, locals, groups;
    struct nicbarr_choice choice[GROUPS];
    struct myr_segment *segment[MOST_NODES];
    struct myr_nic_name name[MOST_NODES];
    const struct myr_nic_name *names[MOST_NODES];
    uint32_t firsts[MOST_NODES];
    struct member member[MOST_NODES][MOST_LOCALS];
    const struct myr_verbs_calls *calls;
    uint64_t random;
};

static struct world *world_new(uint32_t nodes, uint32_t locals, uint64_t seed)
{
    struct world *world = calloc(1, sizeof(*world));
    *world = (struct world){.nodes = nodes, .locals = locals, .random = seed};
    world->calls = verbs_double(one_card, seed);
    for (uint32_t n = 0; n < nodes; ++n) {
        assert_int_equal(myr_segment_join(NULL, SEGMENT, &world->segment[n], NULL), MYR_OK);
        world->name[n].key = myr_segment_identity(world->segment[n]);
        world->names[n] = &world->name[n];
        for (uint32_t l = 0; l < locals; ++l) {
            struct myr_verbs *nic = &world->member[n][l].nic;
            nic->segment = world->segment[n];
            pthread_mutex_init(&nic->mutex, NULL);
            assert_int_equal(myr_verbs_device_open(world->calls, NULL, &nic->device, NULL), MYR_OK);
        }
    }
    return world;
}

static void world_free(struct world *world)
{
    for (uint32_t n = 0; n < world->nodes; ++n) {
        for (uint32_t l = 0; l < world->locals; ++l) {
            struct myr_verbs *nic = &world->member[n][l].nic;
            myr_verbs_hang_up(nic);
            myr_verbs_clear(nic);
            myr_verbs_device_close(&nic->device);
            pthread_mutex_destroy(&nic->mutex);
        }
        myr_segment_leave(world->segment[n]);
    }
    free(world);
}

/* Where it is about one group of one world. */
struct piece {
    struct nicbarr_choice choice;
    uint32_t nodes;
};

static bool schedule_of(const void *context, uint32_t node, struct myr_schedule *schedule)
{
    const struct piece *piece = context;
    return nicbarr_schedule_create(piece->choice, piece->nodes, node, schedule);
}

static struct myr_nic_members members_of(const struct world *world, uint32_t group, uint32_t node,
                                         uint32_t local)
{
    return (struct myr_nic_members){
        .key = 1000 + group,
        .nodes = world->nodes,
        .node = node,
        .locals = world->locals,
        .local = local,
        .names = world->names,
        .firsts = world->firsts,
    };
}

/* Both phases. False where a member has no memory for its part; then nobody has the group. */
static bool join(struct world *world, uint32_t g, struct nicbarr_choice choice)
{
    const struct piece piece = {choice, world->nodes};
    struct myr_verbs_blob blobs[MOST_NODES];
    struct myr_error error = {0};
    bool failed[MOST_NODES][MOST_LOCALS], good = true;
    world->choice[g] = choice;
    for (uint32_t n = 0; n < world->nodes; ++n) {
        for (uint32_t l = 0; l < world->locals; ++l) {
            struct member *member = &world->member[n][l];
            struct myr_verbs_blob blob;
            const struct myr_nic_members members = members_of(world, g, n, l);
            failed[n][l] = MYR_OK != myr_verbs_prepare(&member->nic, NULL, &members, schedule_of,
                                                       &piece, &member->group[g], &blob, &error);
            good = good && !failed[n][l];
            member->arrived[g] = 0;
            if (0 == l) {
                blobs[n] = blob;
            }
        }
    }
    const bool prepared = good;
    for (uint32_t n = 0; n < world->nodes; ++n) {
        for (uint32_t l = 0; prepared && l < world->locals; ++l) {
            struct member *member = &world->member[n][l];
            const struct myr_nic_members members = members_of(world, g, n, l);
            failed[n][l] = MYR_OK != myr_verbs_join(&member->nic, &members, schedule_of, &piece,
                                                    blobs, &member->group[g], &error);
            good = good && !failed[n][l];
        }
    }
    for (uint32_t n = 0; !good && n < world->nodes; ++n) {
        for (uint32_t l = 0; l < world->locals; ++l) {
            if (!failed[n][l]) {
                myr_nic_group_leave(&world->member[n][l].group[g]);
            }
        }
    }
    assert_true(good || '\0' != error.text[0]);
    return good;
}

static void leave(struct world *world, uint32_t g)
{
    for (uint32_t n = 0; n < world->nodes; ++n) {
        for (uint32_t l = 0; l < world->locals; ++l) {
            myr_nic_group_leave(&world->member[n][l].group[g]);
        }
    }
}

/* ---- games ---- */

/* The last epoch that all have arrived in. */
static uint32_t all_arrived(const struct world *world, uint32_t g)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t n = 0; n < world->nodes; ++n) {
        for (uint32_t l = 0; l < world->locals; ++l) {
            const uint32_t arrived = world->member[n][l].arrived[g];
            least = arrived < least ? arrived : least;
        }
    }
    return least;
}

/* One process does something. */
static void move(struct world *world, uint32_t epochs)
{
    struct member *member = &world->member[crew_below(&world->random, world->nodes)]
                                          [crew_below(&world->random, world->locals)];
    const uint32_t g = crew_below(&world->random, world->groups);
    struct myr_nic_group *group = &member->group[g];
    const uint32_t done = *group->done;
    assert_in_range(done, 0, all_arrived(world, g));
    switch (crew_below(&world->random, 4)) {
    case 0:
        if (member->arrived[g] < epochs && member->arrived[g] < done + AHEAD) {
            ++member->arrived[g]; /* before the others can know */
            assert_int_equal(myr_nic_group_arrive(group), member->arrived[g]);
        }
        break;
    case 1:
        (void)group->player->poll(group);
        break;
    case 2:
        myr_verbs_poll(&member->nic);
        break;
    default:
        (void)verbs_double_step();
        break;
    }
}

static bool is_over(const struct world *world, uint32_t epochs)
{
    bool over = true;
    for (uint32_t n = 0; over && n < world->nodes; ++n) {
        for (uint32_t g = 0; over && g < world->groups; ++g) {
            over = epochs == *world->member[n][0].group[g].done;
        }
    }
    return over;
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

static void test_games(void **state)
{
    uint64_t random = crew_seed();
    (void)state;
    for (uint32_t game = 0; game < 150; ++game) {
        const uint32_t nodes = 2 + crew_below(&random, MOST_NODES - 1);
        const uint32_t locals = 1 + crew_below(&random, MOST_LOCALS);
        struct world *world = world_new(nodes, locals, crew_random(&random));
        world->groups = 1 + crew_below(&random, GROUPS);
        for (uint32_t g = 0; g < world->groups; ++g) {
            assert_true(join(world, g, any_choice(&random, nodes)));
        }
        while (!is_over(world, EPOCHS)) {
            move(world, EPOCHS);
        }
        for (uint32_t g = 0; g < world->groups; ++g) {
            leave(world, g);
        }
        /* What others had to say has come: all memory is given back. */
        assert_int_equal(verbs_double_held(), verbs_double_pairs() + 3 * nodes * locals);
        world_free(world);
        assert_int_equal(verbs_double_held(), 0);
    }
}

/* A thousand groups, one after the other, have the queue pairs of the first. */
static void test_pairs_are_shared(void **state)
{
    struct world *world = world_new(4, 2, crew_seed());
    const struct nicbarr_choice choice = {NICBARR_DISSEMINATION, 3, 1};
    (void)state;
    world->groups = 1;
    for (uint32_t round = 0; round < 1000; ++round) {
        assert_true(join(world, 0, choice));
        while (!is_over(world, 1)) {
            move(world, 1);
        }
        leave(world, 0);
        assert_int_equal(verbs_double_pairs(), 4 * 3);
    }
    world_free(world);
}

/* ---- what fails ---- */

static void test_card_is_gone(void **state)
{
    uint64_t random = crew_seed() + 1;
    (void)state;
    for (uint32_t game = 0; game < 100; ++game) {
        const uint32_t nodes = 2 + crew_below(&random, MOST_NODES - 1);
        struct world *world = world_new(nodes, 1, crew_random(&random));
        const uint32_t dead = crew_below(&random, nodes);
        uint64_t now_us = 1000000;
        bool all_know = false;
        world->groups = 1;
        assert_true(join(world, 0, any_choice(&random, nodes)));
        while (world->member[dead][0].arrived[0] < 5) {
            move(world, EPOCHS);
        }
        verbs_double_remove(world->member[dead][0].nic.device.context);
        while (!all_know) {
            all_know = true;
            for (uint32_t n = 0; n < nodes; ++n) {
                struct myr_nic_group *group = &world->member[n][0].group[0];
                uint32_t node;
                if (world->member[n][0].arrived[0] == *group->done) {
                    ++world->member[n][0].arrived[0];
                    (void)myr_nic_group_arrive(group);
                }
                (void)group->player->poll(group);
                group->player->remind(group, now_us);
                all_know = all_know && myr_nic_group_failed(group, &node);
                assert_true(!myr_nic_group_failed(group, &node) || node < nodes);
                (void)verbs_double_step();
            }
            now_us += 300000;
        }
        leave(world, 0);
        world_free(world);
        assert_int_equal(verbs_double_held(), 0);
    }
}

/* A process that has done its last barrier leaves at once. What it wrote comes all the same. */
static void test_last_words(void **state)
{
    uint64_t random = crew_seed() + 2;
    (void)state;
    for (uint32_t game = 0; game < 100; ++game) {
        struct world *world = world_new(2, 1, crew_random(&random));
        struct member *first = &world->member[0][0], *second = &world->member[1][0];
        assert_true(join(world, 0, (struct nicbarr_choice){NICBARR_DISSEMINATION, 1, 1}));
        (void)myr_nic_group_arrive(&second->group[0]);
        while (verbs_double_step()) {
        }
        (void)myr_nic_group_arrive(&first->group[0]);
        (void)first->group[0].player->poll(&first->group[0]);
        assert_int_equal(*first->group[0].done, 1);
        myr_nic_group_leave(&first->group[0]);
        myr_verbs_hang_up(&first->nic); /* its word is under way */
        (void)second->group[0].player->poll(&second->group[0]);
        assert_int_equal(*second->group[0].done, 1);
        myr_nic_group_leave(&second->group[0]);
        world_free(world);
    }
}

/* Who lives, and is late, is heard of; so nobody takes it for dead. */
static void test_late_ones_are_heard_of(void **state)
{
    struct world *world = world_new(2, 1, crew_seed());
    struct myr_nic_group *group = &world->member[0][0].group[0];
    struct mcp_missing missing = {0};
    uint64_t now_us = 1000000;
    (void)state;
    assert_true(join(world, 0, (struct nicbarr_choice){NICBARR_DISSEMINATION, 1, 1}));
    (void)myr_nic_group_arrive(group);
    assert_int_equal(myr_nic_group_missing(group, &missing, 1), 1);
    assert_int_equal(missing.heard_ms, 0);
    while (0 == missing.heard_ms) {
        group->player->remind(group, now_us += 300000);
        (void)verbs_double_step();
        assert_int_equal(myr_nic_group_missing(group, &missing, 1), 1);
        assert_int_equal(missing.node, 1);
    }
    (void)myr_nic_group_arrive(&world->member[1][0].group[0]);
    while (1 != *group->done) {
        (void)verbs_double_step();
        (void)group->player->poll(group);
    }
    while (1 != *world->member[1][0].group[0].done) {
        (void)verbs_double_step();
        (void)world->member[1][0].group[0].player->poll(&world->member[1][0].group[0]);
    }
    leave(world, 0);
    world_free(world);
}

/* Each resource in turn is refused; then nobody has the group. The next one works, but where a
 * queue pair could not be connected. */
static void test_refusals(void **state)
{
    const struct nicbarr_choice choice = {NICBARR_PAIRWISE, 0, 1};
    (void)state;
    bool refused = true;
    uint32_t worked = 0;
    for (uint32_t call = 1; refused; ++call) {
        struct world *world = world_new(3, 2, crew_seed());
        world->groups = 1;
        verbs_double_refuse(call);
        refused = !join(world, 0, choice);
        if (!refused) {
            verbs_double_refuse(0);
            leave(world, 0);
        } else if (join(world, 0, choice)) {
            while (!is_over(world, 3)) {
                move(world, 3);
            }
            leave(world, 0);
            ++worked;
        }
        world_free(world);
        assert_int_equal(verbs_double_held(), 0);
    }
    /* Of each node: a region, and a pair for each peer, and what that takes to begin with. */
    assert_in_range(worked, 3 + 2 * 4, 3 * 5);
}

/* ---- devices ---- */

static const struct verbs_double_device machine[] = {
    {.name = "down", .port = {{.ethernet = true, .mtu = IBV_MTU_1024, .gids = {"v2"}}}},
    {.name = "shut", .refuses = true, .port = {{.active = true, .mtu = IBV_MTU_1024}}},
    {.name = "old",
     .port = {{.active = true, .ethernet = true, .mtu = IBV_MTU_1024, .gids = {"v1"}}}},
    {.name = "roce",
     .port = {{.active = true,
               .ethernet = true,
               .mtu = IBV_MTU_4096,
               .gids = {"v1", "v2", "v1", "v2 10.0.0.7"}},
              {.active = true, .ethernet = true, .mtu = IBV_MTU_1024, .gids = {"v1", "v2"}}}},
    {.name = "ib", .port = {{.active = true, .lid = 5, .mtu = IBV_MTU_2048, .gids = {"ib"}}}},
    {.name = NULL},
};

static void test_devices(void **state)
{
    static const struct {
        const char *wanted, *name;
        uint8_t port, gid;
    } cases[] = {
        {NULL, "roce", 1, 3},
        {"", "roce", 1, 3},
        {"all", "roce", 1, 3},
        {"roce", "roce", 1, 3},
        {"roce:2", "roce", 2, 1},
        {"ib", "ib", 1, 0},
        {"ib,roce", "ib", 1, 0},
        {"roce,ib", "roce", 1, 3},
        {"ib:2,roce:2", "roce", 2, 1},
        {"down,ib:1,roce", "ib", 1, 0},
        {"roce:2,roce:1", "roce", 2, 1},
    };
    (void)state;
    const struct myr_verbs_calls *calls = verbs_double(machine, 1);
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        struct myr_verbs_device device;
        assert_int_equal(myr_verbs_device_open(calls, cases[c].wanted, &device, NULL), MYR_OK);
        assert_string_equal(device.name, cases[c].name);
        assert_int_equal(device.port, cases[c].port);
        assert_int_equal(device.gid_index, cases[c].gid);
        myr_verbs_device_close(&device);
        assert_int_equal(verbs_double_held(), 0);
    }
}

static void test_no_device(void **state)
{
    static const struct {
        const char *wanted, *says;
        enum myr_status status;
    } cases[] = {
        {"down", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"old", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"no such,roc,roce:3", "no RDMA device that", MYR_ERR_NOT_THERE},
        {"shut", "cannot be opened", MYR_ERR_SYSTEM},
    };
    struct myr_verbs_device device;
    struct myr_error error;
    (void)state;
    const struct myr_verbs_calls *calls = verbs_double(machine, 1);
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
        assert_int_equal(myr_verbs_device_open(calls, cases[c].wanted, &device, &error),
                         cases[c].status);
        assert_non_null(strstr(error.text, cases[c].says));
        assert_int_equal(verbs_double_held(), 0);
    }
    calls = verbs_double(&machine[5], 1);
    assert_int_equal(myr_verbs_device_open(calls, NULL, &device, &error), MYR_ERR_NOT_THERE);
    for (uint32_t call = 2; call <= 3; ++call) { /* after it was opened */
        calls = verbs_double(one_card, 1);
        verbs_double_refuse(call);
        assert_int_equal(myr_verbs_device_open(calls, NULL, &device, &error), MYR_ERR_SYSTEM);
        assert_non_null(strstr(error.text, "ulimit -l"));
        assert_int_equal(verbs_double_held(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_games),
        cmocka_unit_test(test_pairs_are_shared),
        cmocka_unit_test(test_card_is_gone),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test(test_late_ones_are_heard_of),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_no_device),
    };
    crew_watchdog();
    return cmocka_run_group_tests_name("verbs", tests, NULL, NULL);
}
