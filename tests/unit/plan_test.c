/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans over memory really are barriers, in any order in which the processes may run. Invariants.
 * Nobody leaves a barrier before all have entered it, and everybody leaves it in the end. A word of
 * slots has one writer. All words lie on multiples of 4 within the bytes announced. Plans that may
 * follow each other in the same memory do. Epochs wrap around.
 *
 * Orders are drawn from a seed that is printed: NICBARR_SEED=... plays them again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/node/plan.h"
#include "tests/unit/crew.h"
#include "tests/unit/stepper.h"

enum {
    GUARD = 2 * MYR_LINE, /* bytes on both sides of the slots that must stay as they are */
    GUARD_BYTE = 0x5a,
};

/* A way to lay out a barrier. */
enum how {
    PACKED,   /* myr_plan_flags; the choice's parameter is the stride */
    MESSAGES, /* myr_plan_messages of the choice's schedule, */
    RELEASE,  /* and with a release word */
    COUNTERS  /* myr_plan_counter; the choice's parameter is the number of leaves */
};

struct layout {
    enum how how;
    struct nicbarr_choice choice;
};

static const struct layout layouts[] = {
    {PACKED, {NICBARR_FLAGS, 4, 0}},           {PACKED, {NICBARR_FLAGS, 8, 0}},
    {PACKED, {NICBARR_FLAGS, 64, 0}},          {PACKED, {NICBARR_FLAGS, 128, 0}},
    {MESSAGES, {NICBARR_FLAGS, 4, 0}},         {MESSAGES, {NICBARR_COUNTER, 1, 0}},
    {MESSAGES, {NICBARR_PAIRWISE, 0, 0}},      {MESSAGES, {NICBARR_DISSEMINATION, 1, 0}},
    {MESSAGES, {NICBARR_DISSEMINATION, 2, 0}}, {MESSAGES, {NICBARR_DISSEMINATION, 3, 0}},
    {MESSAGES, {NICBARR_DISSEMINATION, 7, 0}}, {MESSAGES, {NICBARR_DISSEMINATION, 4096, 0}},
    {MESSAGES, {NICBARR_TREE, 1, 0}},          {MESSAGES, {NICBARR_TREE, 2, 0}},
    {MESSAGES, {NICBARR_TREE, 5, 0}},          {MESSAGES, {NICBARR_TREE, 4096, 0}},
    {RELEASE, {NICBARR_COUNTER, 1, 0}},        {RELEASE, {NICBARR_TREE, 1, 0}},
    {RELEASE, {NICBARR_TREE, 2, 0}},           {RELEASE, {NICBARR_TREE, 3, 0}},
    {RELEASE, {NICBARR_TREE, 4, 0}},           {RELEASE, {NICBARR_TREE, 8, 0}},
    {RELEASE, {NICBARR_TREE, 4096, 0}},        {COUNTERS, {NICBARR_COUNTER, 1, 0}},
    {COUNTERS, {NICBARR_COUNTER, 2, 0}},       {COUNTERS, {NICBARR_COUNTER, 3, 0}},
    {COUNTERS, {NICBARR_COUNTER, 8, 0}},
};

enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

static uint32_t most_waits(const struct nicbarr_among *team)
{
    uint32_t most = 0;
    for (uint32_t r = 0; r < team->size; ++r) {
        struct myr_schedule schedule;
        assert_true(nicbarr_schedule_of(team, r, &schedule));
        uint32_t waits = 0;
        for (uint32_t s = 0; s < schedule.nsteps; ++s) {
            waits += schedule.steps[s].waits;
        }
        most = waits > most ? waits : most;
        nicbarr_schedule_destroy(&schedule);
    }
    return most;
}

static size_t layout_bytes(const struct layout *layout, uint32_t size)
{
    const struct nicbarr_among team = {layout->choice, size};
    switch (layout->how) {
    case PACKED:
        return myr_plan_flags_bytes(size, layout->choice.parameter);
    case COUNTERS:
        return myr_plan_counter_bytes(layout->choice.parameter);
    default:
        return myr_plan_messages_bytes(size, most_waits(&team));
    }
}

static void make_plans(const struct layout *layout, uint32_t size, void *slots,
                       const uint32_t *leaf_of, struct myr_plan *plans)
{
    const struct nicbarr_among team = {layout->choice, size};
    const uint32_t parameter = layout->choice.parameter;
    const uint32_t waits =
        MESSAGES == layout->how || RELEASE == layout->how ? most_waits(&team) : 0;
    for (uint32_t r = 0; r < size; ++r) {
        switch (layout->how) {
        case PACKED:
            assert_true(myr_plan_flags(&plans[r], slots, size, r, parameter));
            break;
        case COUNTERS:
            assert_true(myr_plan_counter(&plans[r], slots, size, r, parameter, leaf_of));
            break;
        case MESSAGES:
        case RELEASE:
            assert_true(myr_plan_messages(&plans[r], slots, r, waits, RELEASE == layout->how,
                                          nicbarr_schedule_of, &team));
            break;
        }
    }
}

static void destroy_plans(struct myr_plan *plans, uint32_t size)
{
    for (uint32_t r = 0; r < size; ++r) {
        myr_plan_destroy(&plans[r]);
    }
    free(plans);
}

static void expect_none(const char *wrong, const struct layout *layout, uint32_t size)
{
    if (NULL != wrong) {
        static const char *const hows[] = {"packed", "messages", "release", "counters"};
        char name[NICBARR_CHOICE_TEXT];
        fail_msg("%s of %s, P %u: %s", hows[layout->how], nicbarr_choice_name(layout->choice, name),
                 size, wrong);
    }
}

/* ---- memory between two guards ---- */

struct memory {
    uint8_t *whole;
    size_t bytes;
    void *slots;
};

static struct memory memory_make(size_t bytes)
{
    assert_int_equal(bytes % MYR_LINE, 0);
    struct memory memory = {aligned_alloc(MYR_LINE, bytes + 2 * GUARD), bytes, NULL};
    assert_non_null(memory.whole);
    memset(memory.whole, GUARD_BYTE, bytes + 2 * GUARD);
    memory.slots = memory.whole + GUARD;
    memset(memory.slots, 0, bytes);
    return memory;
}

static void memory_end(struct memory *memory)
{
    for (size_t i = 0; i < GUARD; ++i) {
        assert_int_equal(memory->whole[i], GUARD_BYTE);
        assert_int_equal(memory->whole[GUARD + memory->bytes + i], GUARD_BYTE);
    }
    free(memory->whole);
}

/* ---- every layout by itself ---- */

/* An epoch to begin with: 0 as in life, else just before it wraps around or changes its sign. */
static uint32_t first_epoch(uint64_t *random)
{
    static const uint32_t turns[] = {0, UINT32_MAX, INT32_MAX};
    const uint32_t turn = turns[crew_below(random, 3)];
    return 0 == turn ? 0 : turn - crew_below(random, 5);
}

static void play(const struct layout *layout, uint32_t size, uint32_t barriers, uint64_t *random)
{
    struct memory memory = memory_make(layout_bytes(layout, size));
    struct myr_plan *plans = calloc(size, sizeof(*plans));
    uint32_t *leaf_of = calloc(size, sizeof(*leaf_of));
    for (uint32_t r = 0; r < size; ++r) { /* leaves of any size, and empty ones */
        leaf_of[r] = COUNTERS == layout->how ? crew_below(random, layout->choice.parameter) : 0;
    }
    make_plans(layout, size, memory.slots, leaf_of, plans);
    expect_none(stepper_inspect(plans, size, memory.slots, memory.bytes), layout, size);
    uint32_t epoch = first_epoch(random);
    if (0 != epoch) {
        stepper_preset(plans, size, epoch);
    }
    expect_none(stepper_play(plans, size, &epoch, barriers, random), layout, size);
    expect_none(stepper_play(plans, size, &epoch, barriers, random), layout, size);
    destroy_plans(plans, size);
    free(leaf_of);
    memory_end(&memory);
}

static void every_layout(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (uint32_t size = 2; size <= 20; ++size) {
        for (size_t l = 0; l < LAYOUTS; ++l) {
            for (int i = 0; i < 40; ++i) {
                play(&layouts[l], size, 5, &random);
            }
        }
    }
}

/* Alone one has nobody to wait for; this must not be taken for a plan that counts. */
static void alone(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (size_t l = 0; l < LAYOUTS; ++l) {
        play(&layouts[l], 1, 3, &random);
    }
}

static void large(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {31, 32, 33, 63, 64, 65, 100};
    uint64_t random = crew_seed();
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
        for (size_t l = 0; l < LAYOUTS; ++l) {
            play(&layouts[l], sizes[s], 3, &random);
        }
    }
}

/* ---- one after the other in the same memory ---- */

static void take_turns(uint32_t size, bool counters, uint64_t *random)
{
    size_t most = 0;
    for (size_t l = 0; l < LAYOUTS; ++l) {
        const size_t bytes = layout_bytes(&layouts[l], size);
        most = bytes > most ? bytes : most;
    }
    struct memory memory = memory_make(most);
    uint32_t *leaf_of = calloc(size, sizeof(*leaf_of));
    uint32_t epoch = 0;
    for (int turn = 0; turn < 40; ++turn) {
        const struct layout *layout;
        do {
            layout = &layouts[crew_below(random, LAYOUTS)];
        } while (counters != (COUNTERS == layout->how));
        for (uint32_t r = 0; r < size; ++r) {
            leaf_of[r] = counters ? crew_below(random, layout->choice.parameter) : 0;
        }
        struct myr_plan *plans = calloc(size, sizeof(*plans));
        make_plans(layout, size, memory.slots, leaf_of, plans);
        expect_none(stepper_play(plans, size, &epoch, crew_below(random, 4), random), layout, size);
        destroy_plans(plans, size);
    }
    free(leaf_of);
    memory_end(&memory);
}

static void slots_after_slots(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (uint32_t size = 2; size <= 20; ++size) {
        take_turns(size, false, &random);
    }
}

static void counters_after_counters(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (uint32_t size = 2; size <= 20; ++size) {
        take_turns(size, true, &random);
    }
}

/* ---- where words lie ---- */

static void flags_lie_apart(void **state)
{
    (void)state;
    _Alignas(MYR_LINE) static uint8_t slots[5 * MYR_LINE];
    for (uint32_t stride = 4; stride <= 128; stride *= 2) {
        assert_int_equal(myr_plan_flags_bytes(5, stride),
                         (5 * stride + MYR_LINE - 1) / MYR_LINE * MYR_LINE);
        for (uint32_t rank = 0; rank < 5; ++rank) {
            struct myr_plan plan;
            assert_true(myr_plan_flags(&plan, slots, 5, rank, stride));
            assert_int_equal(plan.nsteps, 1);
            assert_int_equal(plan.steps[0].sends, 1);
            assert_int_equal(plan.steps[0].waits, 4);
            for (uint32_t i = 0; i < 5; ++i) { /* one's own, then those above, in turn */
                assert_ptr_equal(plan.words[i], slots + (rank + i) % 5 * stride);
            }
            myr_plan_destroy(&plan);
        }
    }
}

/* Words that two different processes write for two different readers share no line; the root and
 * the leaves of counters have a line each. */
static void lines_of_their_own(void **state)
{
    (void)state;
    enum { SIZE = 40 };
    static const struct layout layout = {MESSAGES, {NICBARR_DISSEMINATION, 3, 0}};
    struct memory memory = memory_make(layout_bytes(&layout, SIZE));
    struct myr_plan *plans = calloc(SIZE, sizeof(*plans));
    uint32_t *reader = calloc(memory.bytes / MYR_LINE, sizeof(*reader));
    make_plans(&layout, SIZE, memory.slots, NULL, plans);
    for (uint32_t r = 0; r < SIZE; ++r) {
        myr_word **word = plans[r].words;
        for (uint32_t s = 0; s < plans[r].nsteps; ++s) {
            word += plans[r].steps[s].sends;
            for (uint32_t i = plans[r].steps[s].waits; i > 0; --i, ++word) {
                uint32_t *of_line =
                    &reader[((uint8_t *)*word - (uint8_t *)memory.slots) / MYR_LINE];
                assert_true(0 == *of_line || r + 1 == *of_line);
                *of_line = r + 1;
            }
        }
    }
    free(reader);
    destroy_plans(plans, SIZE);

    struct myr_plan plan;
    const uint32_t leaf_of[] = {0, 1};
    assert_true(myr_plan_counter(&plan, memory.slots, 2, 1, 2, leaf_of));
    assert_int_equal(plan.nsteps, 0);
    assert_int_equal(plan.leaf_members, 1);
    assert_int_equal(plan.leaves, 2);
    assert_true(labs((uint8_t *)plan.leaf - (uint8_t *)plan.root) >= MYR_LINE);
    assert_true(labs((uint8_t *)plan.leaf - (uint8_t *)plan.release) >= MYR_LINE);
    assert_true(labs((uint8_t *)plan.root - (uint8_t *)plan.release) >= MYR_LINE);
    myr_plan_destroy(&plan);
    memory_end(&memory);
}

/* Only rank 0 writes the release word, everybody else waits for it last, and nobody sends down. */
static void one_release(void **state)
{
    (void)state;
    enum { SIZE = 13 };
    static const struct layout layout = {RELEASE, {NICBARR_TREE, 3, 0}};
    struct memory memory = memory_make(layout_bytes(&layout, SIZE));
    struct myr_plan *plans = calloc(SIZE, sizeof(*plans));
    make_plans(&layout, SIZE, memory.slots, NULL, plans);
    for (uint32_t r = 0; r < SIZE; ++r) {
        uint32_t sends = 0, waits = 0;
        for (uint32_t s = 0; s < plans[r].nsteps; ++s) {
            sends += plans[r].steps[s].sends;
            waits += plans[r].steps[s].waits;
        }
        const uint32_t children = 3 * r + 3 < SIZE ? 3 : 0; /* 13 is a whole tree */
        assert_int_equal(sends, 1);
        assert_int_equal(waits, children + (0 != r));
        assert_ptr_equal(plans[r].words[sends + waits - 1], memory.slots);
    }
    destroy_plans(plans, SIZE);
    memory_end(&memory);
}

/* ---- failing ---- */

struct short_of_memory {
    struct nicbarr_among team;
    uint32_t granted; /* schedules that are still to be had */
};

static bool schedule_while_memory_lasts(const void *context, uint32_t rank,
                                        struct myr_schedule *schedule)
{
    struct short_of_memory *memory = *(struct short_of_memory *const *)context;
    if (0 == memory->granted) {
        return false;
    }
    --memory->granted;
    return nicbarr_schedule_of(&memory->team, rank, schedule);
}

/* Whichever schedule is refused, the plan is none, and (under a sanitizer) nothing is lost. */
static void out_of_memory(void **state)
{
    (void)state;
    struct memory memory = memory_make(myr_plan_messages_bytes(8, 3));
    struct short_of_memory is = {{{NICBARR_DISSEMINATION, 1, 0}, 8}, 0};
    struct short_of_memory *const context = &is;
    for (uint32_t granted = 0; granted <= 4; ++granted) { /* its own and three receivers' */
        struct myr_plan plan;
        is.granted = granted;
        assert_int_equal(myr_plan_messages(&plan, memory.slots, 1, 3, false,
                                           schedule_while_memory_lasts, &context),
                         4 == granted);
        if (4 == granted) {
            myr_plan_destroy(&plan);
        }
    }
    memory_end(&memory);
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout),
        cmocka_unit_test(alone),
        cmocka_unit_test(large),
        cmocka_unit_test(slots_after_slots),
        cmocka_unit_test(counters_after_counters),
        cmocka_unit_test(flags_lie_apart),
        cmocka_unit_test(lines_of_their_own),
        cmocka_unit_test(one_release),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
