/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a choice to a plan as the component does it (coll_nicbarr/layout.c). Invariants: all words
 * lie within the bytes announced for the choice; counters and slots never share memory; so the
 * candidates of tuning may take turns in one record in any order, and each is a barrier.
 *
 * layout.c knows of Open MPI only by the header of the component's inside. What it needs of that
 * stands here instead, so that this test can play all ranks in one process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "coll_nicbarr/schedule.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/node/group.h"
#include "libmyr/node/segment.h"
#include "tests/unit/crew.h"
#include "tests/unit/stepper.h"

#define COLL_NICBARR_H /* in place of coll_nicbarr/coll_nicbarr.h: */

typedef struct mca_coll_nicbarr_module {
    struct myr_group group;
    uint32_t *homes;
    struct nicbarr_shape shape;
    size_t counter_bytes;
} mca_coll_nicbarr_module_t;

#include "coll_nicbarr/layout.c"

static const struct nicbarr_choice choices[] = {
    {NICBARR_COUNTER, 1, 0},
    {NICBARR_COUNTER, 2, 0},
    {NICBARR_COUNTER, 3, 0},
    {NICBARR_COUNTER, 8, 0},
    {NICBARR_COUNTER, 4096, 0},
    {NICBARR_FLAGS, 4, 0},
    {NICBARR_FLAGS, 16, 0},
    {NICBARR_FLAGS, 64, 0},
    {NICBARR_FLAGS, 128, 0},
    {NICBARR_PAIRWISE, 0, 0},
    {NICBARR_DISSEMINATION, 1, 0},
    {NICBARR_DISSEMINATION, 2, 0},
    {NICBARR_DISSEMINATION, 3, 0},
    {NICBARR_DISSEMINATION, 4, 0},
    {NICBARR_DISSEMINATION, 7, 0},
    {NICBARR_DISSEMINATION, 8, 0},
    {NICBARR_DISSEMINATION, 4096, 0},
    {NICBARR_TREE, 1, 0},
    {NICBARR_TREE, 2, 0},
    {NICBARR_TREE, 3, 0},
    {NICBARR_TREE, 4, 0},
    {NICBARR_TREE, 8, 0},
    {NICBARR_TREE, 16, 0},
    {NICBARR_TREE, 4096, 0},
};

enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

/* A communicator: all its processes' modules over one record. */
struct team {
    uint32_t size;
    struct myr_segment *segment;
    struct myr_record *record;
    struct myr_waiter waiter;
    mca_coll_nicbarr_module_t *modules;
    uint32_t *homes;
    size_t bytes; /* of the record's slots that were asked for, from where the plans begin */
};

static void no_progress(void) {}

/* The record has room for the most that any of `count` choices needs, as setup.c has it. */
static void team_begin(struct team *team, uint32_t size, uint32_t homes,
                       const struct nicbarr_choice *of, size_t count)
{
    static const struct myr_patience patience = {0, -1, 1000};
    const struct nicbarr_shape shape = {.processes = size, .homes = homes, .processors = 2};
    struct nicbarr_bytes most = {0, 0};
    for (size_t c = 0; c < count; ++c) {
        const struct nicbarr_bytes bytes = nicbarr_layout_bytes(&shape, of[c]);
        most.counters = bytes.counters > most.counters ? bytes.counters : most.counters;
        most.others = bytes.others > most.others ? bytes.others : most.others;
    }
    *team = (struct team){.size = size, .bytes = most.counters + most.others};
    struct myr_error error;
    assert_int_equal(myr_segment_join(NULL, 64 << 20, &team->segment, &error), MYR_OK);
    const struct myr_key key = {1, 2, 3, 4};
    team->record = myr_record_join(team->segment, &key, 1,
                                   myr_group_arrival_bytes(size) + team->bytes, 0, &error);
    assert_non_null(team->record);
    myr_waiter_init(&team->waiter, team->segment, no_progress, &patience);
    team->homes = calloc(size, sizeof(*team->homes));
    team->modules = calloc(size, sizeof(*team->modules));
    for (uint32_t r = 0; r < size; ++r) {
        team->homes[r] = r < homes ? r : r * 7 % homes;
        mca_coll_nicbarr_module_t *module = &team->modules[r];
        module->homes = team->homes;
        module->shape = shape;
        module->counter_bytes = most.counters;
        myr_group_init(&module->group, team->record, &team->waiter, size, r);
    }
}

static void team_end(struct team *team)
{
    free(team->modules);
    free(team->homes);
    myr_record_leave(team->segment, team->record);
    myr_segment_leave(team->segment);
}

static void expect_none(const char *wrong, struct nicbarr_choice choice, uint32_t size)
{
    char name[NICBARR_CHOICE_TEXT];
    if (NULL != wrong) {
        fail_msg("%s, P %u: %s", nicbarr_choice_name(choice, name), size, wrong);
    }
}

static void take_turn(const struct team *team, struct nicbarr_choice choice, uint32_t *epoch,
                      uint64_t *random)
{
    struct myr_plan *plans = calloc(team->size, sizeof(*plans));
    for (uint32_t r = 0; r < team->size; ++r) {
        assert_true(nicbarr_layout_plan(&team->modules[r], choice, &plans[r]));
    }
    const mca_coll_nicbarr_module_t *module = &team->modules[0];
    uint8_t *slots = myr_group_slots(&module->group);
    const bool counts = NICBARR_COUNTER == choice.algorithm;
    const size_t bytes = counts ? module->counter_bytes : team->bytes - module->counter_bytes;
    expect_none(
        stepper_inspect(plans, team->size, counts ? slots : slots + module->counter_bytes, bytes),
        choice, team->size);
    expect_none(stepper_play(plans, team->size, epoch, 1 + crew_below(random, 4), random), choice,
                team->size);
    for (uint32_t r = 0; r < team->size; ++r) {
        myr_plan_destroy(&plans[r]);
    }
    free(plans);
}

/* Each choice in a record of just the size it asked for. */
static void by_itself(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    static const uint32_t more[] = {33, 64, 65, 100};
    for (uint32_t i = 0; i < 19 + sizeof(more) / sizeof(more[0]); ++i) {
        const uint32_t size = i < 19 ? i + 2 : more[i - 19];
        for (size_t c = 0; c < CHOICES; ++c) {
            struct team team;
            uint32_t epoch = 0;
            team_begin(&team, size, 1 + crew_below(&random, size), &choices[c], 1);
            take_turn(&team, choices[c], &epoch, &random);
            team_end(&team);
        }
    }
}

/* All of them in turn, in one record, as tuning does. */
static void in_turn(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (uint32_t size = 2; size <= 20; ++size) {
        struct team team;
        uint32_t epoch = 0;
        team_begin(&team, size, 1 + crew_below(&random, size), choices, CHOICES);
        for (int turn = 0; turn < 150; ++turn) {
            take_turn(&team, choices[crew_below(&random, CHOICES)], &epoch, &random);
        }
        team_end(&team);
    }
}

/* A communicator of one process has barriers too: MPI_Win_fence() calls them. */
static void alone(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    struct team team;
    uint32_t epoch = 0;
    team_begin(&team, 1, 1, choices, CHOICES);
    for (size_t c = 0; c < CHOICES; ++c) {
        take_turn(&team, choices[c], &epoch, &random);
    }
    team_end(&team);
}

/* Bound processes count where their neighbours do, others in turn. */
static void neighbours_count_together(void **state)
{
    (void)state;
    const struct nicbarr_choice two = {NICBARR_COUNTER, 2, 0};
    struct team team;
    struct myr_plan plans[4];
    for (uint32_t homes = 1; homes <= 2; ++homes) {
        team_begin(&team, 4, homes, &two, 1);
        team.homes[0] = team.homes[1] = 0;
        team.homes[2] = team.homes[3] = homes - 1;
        for (uint32_t r = 0; r < 4; ++r) {
            assert_true(nicbarr_layout_plan(&team.modules[r], two, &plans[r]));
            assert_int_equal(plans[r].leaves, 2);
            assert_int_equal(plans[r].leaf_members, 2);
        }
        assert_true((plans[0].leaf == plans[1].leaf) == (2 == homes));
        assert_true((plans[2].leaf == plans[3].leaf) == (2 == homes));
        assert_ptr_equal(plans[0].root, plans[3].root);
        assert_ptr_equal(plans[0].release, plans[3].release);
        for (uint32_t r = 0; r < 4; ++r) {
            myr_plan_destroy(&plans[r]);
        }
        team_end(&team);
    }
}

/* Open MPI's own takes no memory and has no plan. */
static void none(void **state)
{
    (void)state;
    const struct nicbarr_choice openmpi = {NICBARR_OPENMPI, 0, 0};
    struct team team;
    struct myr_plan plan = {.nsteps = 0};
    team_begin(&team, 4, 1, &openmpi, 1);
    assert_int_equal(team.bytes, 0);
    assert_false(nicbarr_layout_plan(&team.modules[0], openmpi, &plan));
    team_end(&team);
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_itself), cmocka_unit_test(in_turn),
        cmocka_unit_test(alone),     cmocka_unit_test(neighbours_count_together),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
