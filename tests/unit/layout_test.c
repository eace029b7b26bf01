/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests barriers within a node: their plans (libmyr/node/plan.c), and how the component turns a
 * choice into a plan (coll_nicbarr/layout.c). A failure means that a barrier releases a process
 * before all have entered it, or never, or is slow because of false sharing.
 *
 * Invariants:
 *
 * - No process leaves a barrier before all have entered it, and all leave it in the end. (Words of
 *   slots only grow and have one writer each, and counters only count. What processes can do while
 *   one is late does therefore not depend on the order in which they run.)
 * - Each word of slots has one writer.
 * - All words are aligned to 4 bytes, and lie within the memory announced for the choice.
 * - Counters and slots never share memory, so that candidates can alternate in one record in any
 *   order.
 * - Epochs wrap around.
 *
 * layout.c depends on Open MPI only through the component's internal header, of which this file
 * replaces the necessary part. Therefore the test can simulate all ranks in one process. (The tests
 * in tests/fibres/ execute such plans with ranks that are preempted at any point.)
 */
#include "coll_nicbarr/schedule.h"
#include "coll_nicbarr/shape.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

#define COLL_NICBARR_H /* replaces coll_nicbarr/coll_nicbarr.h: */

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

/* A communicator: the modules of all its processes over one record. */
struct team {
    uint32_t size;
    struct myr_segment *segment;
    struct myr_record *record;
    struct myr_waiter waiter;
    mca_coll_nicbarr_module_t *modules;
    uint32_t *homes;
    size_t bytes; /* requested for the record's slots, from the first plan */
};

static void no_progress(void) {}

/* Create a communicator whose record has memory for each of `count` choices, as in setup.c. */
static void team_begin(struct team *team, uint32_t size, uint32_t homes,
                       const struct nicbarr_choice *of, size_t count)
{
    static const struct myr_wait_policy policy = {0, -1, 1000};
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
    myr_waiter_init(&team->waiter, team->segment, no_progress, &policy);
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

/* ---- a barrier of all processes ---- */

struct player {
    const struct myr_plan *plan;
    uint32_t step;
    myr_word **word; /* the first word of the step */
    bool begun;      /* it has written the words of the step, or counted itself */
    bool left;
};

static bool all_have_reached(myr_word *const *words, uint32_t count, uint32_t epoch)
{
    bool reached = true;
    for (uint32_t i = 0; i < count; ++i) {
        reached = reached && myr_epoch_reached(myr_load_acquire(words[i]), epoch);
    }
    return reached;
}

/* Execute a plan as far as possible, as node_group.h does. Returns true if there was any
 * progress. */
static bool proceed(struct player *player, uint32_t epoch)
{
    const struct myr_plan *plan = player->plan;
    bool moved = false;
    if (NULL != plan->leaf && !player->begun) {
        player->begun = moved = true;
        if (myr_counter_complete(plan->leaf, plan->leaf_members) &&
            (1 == plan->leaves || myr_counter_complete(plan->root, plan->leaves))) {
            myr_store_release(plan->release, epoch);
        }
    }
    for (; player->step < plan->nsteps; ++player->step, player->begun = false) {
        const struct mcp_step *step = &plan->steps[player->step];
        for (uint32_t i = 0; !player->begun && i < step->sends; ++i) {
            myr_store_release(player->word[i], epoch);
        }
        moved = moved || !player->begun;
        player->begun = true;
        if (!all_have_reached(player->word + step->sends, step->waits, epoch)) {
            return moved;
        }
        player->word += step->sends + step->waits;
        moved = true;
    }
    player->left = NULL == plan->leaf || all_have_reached(&plan->release, 1, epoch);
    return moved;
}

/* Play a barrier with one late process. */
static void play_barrier(const struct myr_plan *plans, uint32_t size, uint32_t epoch, uint32_t late,
                         struct nicbarr_choice choice)
{
    struct player *players = crew_require(calloc(size, sizeof(*players)));
    for (uint32_t r = 0; r < size; ++r) {
        players[r] = (struct player){.plan = &plans[r], .word = plans[r].words};
    }
    for (int here = 0; here < 2; ++here) {
        for (bool moved = true; moved;) {
            moved = false;
            for (uint32_t r = 0; r < size; ++r) {
                moved = ((0 != here || r != late) && proceed(&players[r], epoch)) || moved;
            }
        }
        for (uint32_t r = 0; r < size; ++r) {
            if (players[r].left != here) {
                char name[NICBARR_CHOICE_TEXT];
                fail_msg("%s, P %u, epoch %u: rank %u %s when rank %u %s entered",
                         nicbarr_choice_name(choice, name), size, epoch, r,
                         players[r].left ? "has left" : "waits", late, here ? "has" : "has not");
            }
        }
    }
    free(players);
}

/* ---- the words of all plans ---- */

static void expect_inside(const myr_word *word, const uint8_t *slots, size_t bytes)
{
    const uintptr_t at = (uintptr_t)word - (uintptr_t)slots;
    assert_true(0 == at % sizeof(*word) && at < bytes);
}

/* Check that each word lies within these slots, and that no word has two writers. */
static void check_words(const struct myr_plan *plans, uint32_t size, const uint8_t *slots,
                        size_t bytes)
{
    bool *written = crew_require(calloc(bytes / sizeof(myr_word) + 1, sizeof(*written)));
    for (uint32_t r = 0; r < size; ++r) {
        const struct myr_plan *plan = &plans[r];
        myr_word **word = plan->words;
        for (uint32_t s = 0; s < plan->nsteps; ++s) {
            for (uint32_t i = 0; i < plan->steps[s].sends + plan->steps[s].waits; ++i, ++word) {
                expect_inside(*word, slots, bytes);
                bool *of_word = &written[*word - (const myr_word *)slots];
                assert_false(i < plan->steps[s].sends && *of_word);
                *of_word = *of_word || i < plan->steps[s].sends;
            }
        }
        if (NULL != plan->leaf) {
            expect_inside(plan->leaf, slots, bytes);
            expect_inside(plan->root, slots, bytes);
            expect_inside(plan->release, slots, bytes);
            assert_true(plan->leaf != plan->root && plan->leaf != plan->release &&
                        plan->root != plan->release);
        }
    }
    free(written);
}

/* ---- the tests of choices ---- */

/* Returns the initial epoch: usually 0, otherwise just before it wraps around or changes its
 * sign. */
static uint32_t first_epoch(uint64_t *random)
{
    static const uint32_t limits[] = {0, UINT32_MAX, INT32_MAX};
    const uint32_t limit = limits[crew_below(random, 3)];
    return 0 == limit ? 0 : limit - crew_below(random, 5);
}

/* Play barriers with this choice, in each of which another process is late. */
static void play_choice(const struct team *team, struct nicbarr_choice choice, uint32_t *epoch,
                        uint32_t barriers, uint64_t *random)
{
    struct myr_plan *plans = crew_require(calloc(team->size, sizeof(*plans)));
    const mca_coll_nicbarr_module_t *module = &team->modules[0];
    const bool counts = NICBARR_COUNTER == choice.algorithm;
    const uint8_t *slots = myr_group_slots(&module->group);
    const uint32_t first = crew_below(random, team->size);
    for (uint32_t r = 0; r < team->size; ++r) {
        assert_true(nicbarr_layout_plan(&team->modules[r], choice, &plans[r]));
    }
    check_words(plans, team->size, counts ? slots : slots + module->counter_bytes,
                counts ? module->counter_bytes : team->bytes - module->counter_bytes);
    for (uint32_t b = 0; b < barriers; ++b) {
        play_barrier(plans, team->size, ++*epoch, (first + b) % team->size, choice);
    }
    for (uint32_t r = 0; r < team->size; ++r) {
        myr_plan_destroy(&plans[r]);
    }
    free(plans);
}

/* Set the words to the state after this epoch. The first counter is the release. */
static void preset(const struct team *team, uint32_t epoch)
{
    myr_word *word = myr_group_slots(&team->modules[0].group);
    const size_t counters = team->modules[0].counter_bytes / sizeof(*word);
    for (size_t i = 0; i < team->bytes / sizeof(*word); ++i) {
        myr_store_release(&word[i], i >= counters || 0 == i ? epoch : 0);
    }
}

/* Each choice runs in a record of exactly the size that it requests. */
TEST(each_choice_alone)
{
    enum { RUNS = 5, SMALL = 20 };
    static const uint32_t sizes[] = {33, 64, 65, 100};
    uint64_t random = crew_seed();
    for (uint32_t i = 2; i < SMALL + 1 + sizeof(sizes) / sizeof(sizes[0]); ++i) {
        const uint32_t size = i <= SMALL ? i : sizes[i - SMALL - 1];
        for (size_t c = 0; c < (i <= SMALL ? RUNS : 1) * CHOICES; ++c) {
            const struct nicbarr_choice *choice = &choices[c % CHOICES];
            struct team team;
            uint32_t epoch = first_epoch(&random);
            team_begin(&team, size, 1 + crew_below(&random, size), choice, 1);
            preset(&team, epoch);
            play_choice(&team, *choice, &epoch, size, &random);
            team_end(&team);
        }
    }
}

/* All choices alternate in one record, as during tuning. (A communicator of one process executes
 * barriers too, such as in MPI_Win_fence().) */
TEST(alternating_choices)
{
    uint64_t random = crew_seed();
    for (uint32_t size = 1; size <= 20; ++size) {
        struct team team;
        uint32_t epoch = 0;
        team_begin(&team, size, 1 + crew_below(&random, size), choices, CHOICES);
        for (int round = 0; round < 150; ++round) {
            play_choice(&team, choices[crew_below(&random, CHOICES)], &epoch, 1, &random);
        }
        team_end(&team);
    }
}

/* Processes that are bound share a counter with their neighbours; others are distributed. */
TEST(neighbours_share_a_counter)
{
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

/* Open MPI's own barrier needs no memory, and has no plan. */
TEST(open_mpis_own)
{
    const struct nicbarr_choice openmpi = {NICBARR_OPENMPI, 0, 0};
    struct team team;
    struct myr_plan plan = {.nsteps = 0};
    team_begin(&team, 4, 1, &openmpi, 1);
    assert_int_equal(team.bytes, 0);
    assert_false(nicbarr_layout_plan(&team.modules[0], openmpi, &plan));
    team_end(&team);
}

/* A record has room for the choices that were known when it was created. */
TEST(room_for_known_choices)
{
    const struct nicbarr_choice known[] = {{NICBARR_COUNTER, 2, 0}, {NICBARR_TREE, 4, 0}};
    const struct nicbarr_choice fit[] = {{NICBARR_OPENMPI, 0, 0},
                                         {NICBARR_COUNTER, 1, 0},
                                         {NICBARR_COUNTER, 2, 0},
                                         {NICBARR_FLAGS, 64, 0},
                                         {NICBARR_TREE, 2, 0}};
    const struct nicbarr_choice larger[] = {
        {NICBARR_COUNTER, 3, 0}, {NICBARR_TREE, 4096, 0}, {NICBARR_DISSEMINATION, 4096, 0}};
    struct team team;
    team_begin(&team, 100, 1, known, 2);
    for (size_t c = 0; c < sizeof(fit) / sizeof(fit[0]); ++c) {
        assert_true(nicbarr_layout_fits(&team.modules[c], fit[c]));
    }
    for (size_t c = 0; c < sizeof(larger) / sizeof(larger[0]); ++c) {
        assert_false(nicbarr_layout_fits(&team.modules[c], larger[c]));
    }
    team_end(&team);
}

/* ---- placement of words ---- */

TEST(stride_of_flags)
{
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
            for (uint32_t i = 0; i < 5; ++i) { /* its own, then the next ranks, cyclically */
                assert_ptr_equal(plan.words[i], slots + (rank + i) % 5 * stride);
            }
            myr_plan_destroy(&plan);
        }
    }
}

/* Words for different readers share no cache line, and the root and each leaf of counters have a
 * line of their own. */
TEST(separate_lines)
{
    enum { SIZE = 40, WAITS = 9 };
    _Alignas(MYR_LINE) static uint8_t slots[1 << 16];
    static uint32_t reader[sizeof(slots) / MYR_LINE];
    const struct nicbarr_among among = {{NICBARR_DISSEMINATION, 3, 0}, SIZE};
    struct myr_plan plan;
    assert_true(myr_plan_messages_bytes(SIZE, WAITS) <= sizeof(slots));
    for (uint32_t r = 0; r < SIZE; ++r) {
        assert_true(myr_plan_messages(&plan, slots, r, WAITS, false, nicbarr_schedule_of, &among));
        myr_word **word = plan.words;
        for (uint32_t s = 0; s < plan.nsteps; ++s) {
            word += plan.steps[s].sends;
            for (uint32_t i = plan.steps[s].waits; i > 0; --i, ++word) {
                uint32_t *of_line = &reader[((uint8_t *)*word - slots) / MYR_LINE];
                assert_true(0 == *of_line || r + 1 == *of_line);
                *of_line = r + 1;
            }
        }
        myr_plan_destroy(&plan);
    }
    const uint32_t leaf_of[] = {0, 1};
    assert_true(myr_plan_counter(&plan, slots, 2, 1, 2, leaf_of));
    assert_int_equal(plan.nsteps, 0);
    assert_int_equal(plan.leaf_members, 1);
    assert_int_equal(plan.leaves, 2);
    assert_true(labs((uint8_t *)plan.leaf - (uint8_t *)plan.root) >= MYR_LINE);
    assert_true(labs((uint8_t *)plan.leaf - (uint8_t *)plan.release) >= MYR_LINE);
    assert_true(labs((uint8_t *)plan.root - (uint8_t *)plan.release) >= MYR_LINE);
    myr_plan_destroy(&plan);
}

/* Only rank 0 writes the release word, for which all others wait last, and no message is sent
 * down the tree. */
TEST(one_release)
{
    enum { SIZE = 13, WAITS = 4 };
    _Alignas(MYR_LINE) static uint8_t slots[1 << 14];
    const struct nicbarr_among among = {{NICBARR_TREE, 3, 0}, SIZE};
    assert_true(myr_plan_messages_bytes(SIZE, WAITS) <= sizeof(slots));
    for (uint32_t r = 0; r < SIZE; ++r) {
        struct myr_plan plan;
        uint32_t sends = 0, waits = 0;
        assert_true(myr_plan_messages(&plan, slots, r, WAITS, true, nicbarr_schedule_of, &among));
        for (uint32_t s = 0; s < plan.nsteps; ++s) {
            sends += plan.steps[s].sends;
            waits += plan.steps[s].waits;
        }
        const uint32_t children = 3 * r + 3 < SIZE ? 3 : 0; /* a tree of 13 is complete */
        assert_int_equal(sends, 1);
        assert_int_equal(waits, children + (0 != r));
        assert_ptr_equal(plan.words[sends + waits - 1], slots);
        myr_plan_destroy(&plan);
    }
}

/* ---- lack of memory ---- */

struct short_of_memory {
    struct nicbarr_among team;
    uint32_t granted; /* schedules that can still be allocated */
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

/* If any schedule cannot be allocated, there is no plan, and (as a sanitizer checks) no leak. */
TEST(out_of_memory)
{
    _Alignas(MYR_LINE) static uint8_t slots[1 << 14];
    struct short_of_memory is = {{{NICBARR_DISSEMINATION, 1, 0}, 8}, 0};
    struct short_of_memory *const context = &is;
    assert_true(myr_plan_messages_bytes(8, 3) <= sizeof(slots));
    /* its own schedule and those of three receivers */
    for (uint32_t granted = 0; granted <= 4; ++granted) {
        struct myr_plan plan;
        is.granted = granted;
        assert_int_equal(
            myr_plan_messages(&plan, slots, 1, 3, false, schedule_while_memory_lasts, &context),
            4 == granted);
        if (4 == granted) {
            myr_plan_destroy(&plan);
        }
    }
}
