/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the list of candidates that are measured for a collective. A failure means that the fastest
 * barrier, reduction or broadcast is not among them, so that jobs run slower than they could.
 *
 * Invariants for each shape:
 *
 * - Open MPI's own implementation is the first candidate.
 * - There are no duplicates, and each candidate's parameter makes a difference.
 * - Each candidate can be executed, and a cache file can name it.
 * - The list is never truncated.
 * - Candidates for broadcasts have a plan of their trees (spread.c).
 *
 * Some lists are compared literally.
 */
#include "coll_nicbarr/choice/candidates.h"
#include "coll_nicbarr/nics.h"
#include "libmyr/groups/group_ops.h"
#include "libmyr/groups/spread.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

/* A NIC whose groups are cheap, one whose groups are expensive, and one that carries no data. */
static const struct myr_nic_kind cheap = {.name = "soft", .caps.buffer = UINT32_MAX};
static const struct myr_nic_kind expensive = {
    .name = "kernel", .caps = {.flags = MYR_DEAR_GROUPS, .buffer = UINT32_MAX}};
static const struct myr_nic_kind bare = {.name = "bare"};
const struct myr_nic_kind *const nicbarr_kinds[] = {&cheap, &expensive, &bare, NULL};

enum { NODE = 1 << 0, SOFT = 1 << 1, KERNEL = 1 << 2, BARE = 1 << 3, NICS_END = 1 << 3 };

static struct nicbarr_shape on_one_node(uint32_t processes, uint32_t homes)
{
    return (struct nicbarr_shape){
        .nodes = 1, .processes = processes, .homes = homes, .processors = 8, .nics = NODE};
}

static struct nicbarr_shape across(uint32_t nodes, uint32_t per_node, uint32_t nics)
{
    return (struct nicbarr_shape){
        .nodes = nodes, .processes = nodes * per_node, .homes = 1, .processors = 8, .nics = nics};
}

enum what { BARRIERS, REDUCTIONS, LONG_REDUCTIONS, BROADCASTS, WHATS };

static int list_candidates(enum what what, const struct nicbarr_shape *shape,
                           struct nicbarr_choice *choices)
{
    static const uint32_t combined[WHATS] = {[REDUCTIONS] = 40, [LONG_REDUCTIONS] = 520};
    return BARRIERS == what
               ? nicbarr_candidates(shape, choices)
               : nicbarr_data_candidates(shape, BROADCASTS == what, combined[what], choices);
}

static void expect_of(enum what what, struct nicbarr_shape shape, const char *names)
{
    struct nicbarr_choice choices[NICBARR_CANDIDATES];
    char list[1000] = "", name[NICBARR_CHOICE_TEXT];
    const int count = list_candidates(what, &shape, choices);
    for (int c = 0; c < count; ++c) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", c > 0 ? " " : "",
                 nicbarr_choice_name(choices[c], name));
    }
    assert_string_equal(list, names);
}

static void expect(struct nicbarr_shape shape, const char *names)
{
    expect_of(BARRIERS, shape, names);
}

TEST(expected_lists)
{
    expect(on_one_node(2, 1), "openmpi counter:1 flags:4 flags:64 flags:128 pairwise "
                              "dissemination:1");
    expect(on_one_node(4, 2), "openmpi counter:1 counter:2 flags:4 flags:64 flags:128 pairwise "
                              "dissemination:1 dissemination:3 tree:2");
    expect(on_one_node(4, 4), /* no leaves, because each process has its own home */
           "openmpi counter:1 flags:4 flags:64 flags:128 pairwise "
           "dissemination:1 dissemination:3 tree:2");
    expect(on_one_node(128, 1),
           "openmpi counter:1 flags:4 flags:64 flags:128 pairwise dissemination:1 "
           "dissemination:2 dissemination:3 dissemination:5 tree:2 tree:4 tree:8 tree:16");
    expect(on_one_node(129, 1), /* too many flags */
           "openmpi counter:1 pairwise dissemination:1 dissemination:2 dissemination:3 "
           "dissemination:5 tree:2 tree:4 tree:8 tree:16");
    /* Across nodes, only the number of nodes matters. */
    expect(across(2, 4, SOFT), "openmpi pairwise@soft dissemination:1@soft");
    expect(
        across(4, 16, SOFT),
        "openmpi pairwise@soft dissemination:1@soft dissemination:3@soft tree:2@soft tree:3@soft");
    expect(across(8, 1, SOFT),
           "openmpi pairwise@soft dissemination:1@soft dissemination:2@soft dissemination:7@soft "
           "tree:2@soft tree:4@soft tree:7@soft");
    expect(across(64, 1, SOFT),
           "openmpi pairwise@soft dissemination:1@soft dissemination:2@soft dissemination:3@soft "
           "dissemination:7@soft tree:2@soft tree:4@soft tree:8@soft tree:16@soft tree:63@soft");
    expect(across(65, 1, SOFT),
           "openmpi pairwise@soft dissemination:1@soft dissemination:2@soft dissemination:4@soft "
           "tree:2@soft tree:4@soft tree:8@soft tree:16@soft");
    expect(across(4, 1, KERNEL),
           "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel tree:3@kernel");
    expect(across(16, 1, KERNEL),
           "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel "
           "tree:4@kernel tree:15@kernel");
    expect(across(17, 1, KERNEL),
           "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel tree:4@kernel");
    expect(across(2, 1, SOFT | KERNEL),
           "openmpi pairwise@soft dissemination:1@soft pairwise@kernel dissemination:1@kernel");
    expect(across(4, 1, 0), "openmpi");
}

TEST(expected_lists_of_data)
{
    expect_of(REDUCTIONS, across(4, 2, SOFT),
              "openmpi pairwise@soft dissemination:1@soft dissemination:3@soft tree:3@soft");
    expect_of(REDUCTIONS, across(17, 1, KERNEL),
              "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel "
              "tree:4@kernel");
    expect_of(LONG_REDUCTIONS, across(2, 1, SOFT), "openmpi pairwise@soft dissemination:1@soft");
    expect_of(LONG_REDUCTIONS, across(3, 2, SOFT),
              "openmpi pairwise@soft dissemination:1@soft tree:2@soft rooted:2@soft "
              "dissemination:2@soft");
    expect_of(LONG_REDUCTIONS, across(16, 1, KERNEL),
              "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel "
              "tree:4@kernel tree:15@kernel rooted:15@kernel dissemination:15@kernel");
    expect_of(LONG_REDUCTIONS, across(17, 1, KERNEL),
              "openmpi pairwise@kernel dissemination:1@kernel dissemination:3@kernel "
              "tree:4@kernel");
    expect_of(BROADCASTS, across(2, 4, SOFT), "openmpi dissemination:1@soft");
    expect_of(BROADCASTS, across(3, 1, SOFT), "openmpi dissemination:1@soft dissemination:2@soft");
    expect_of(BROADCASTS, across(16, 1, SOFT),
              "openmpi dissemination:1@soft dissemination:2@soft dissemination:3@soft "
              "dissemination:15@soft");
    expect_of(BROADCASTS, across(17, 1, SOFT),
              "openmpi dissemination:1@soft dissemination:2@soft dissemination:3@soft");
    expect_of(BROADCASTS, across(8, 1, SOFT | KERNEL),
              "openmpi dissemination:1@soft dissemination:2@soft dissemination:3@soft "
              "dissemination:7@soft dissemination:1@kernel dissemination:3@kernel "
              "dissemination:7@kernel");
    expect_of(BROADCASTS, across(4, 1, BARE), "openmpi");
    expect_of(REDUCTIONS, across(4, 1, BARE), "openmpi");
}

/* Check on some of the nodes that the schedule has a plan of broadcast trees. */
static void check_spread(struct nicbarr_choice choice, uint32_t nodes)
{
    for (uint32_t node = 0; node < nodes; node += 1 + nodes / 3) {
        struct myr_schedule schedule;
        struct myr_spread spread;
        assert_true(nicbarr_schedule_create(choice, nodes, node, &schedule));
        assert_true(myr_spread_plan(&schedule, nodes, node, &spread));
        myr_spread_free(&spread);
        nicbarr_schedule_destroy(&schedule);
    }
}

static void check_shape(enum what what, const struct nicbarr_shape *shape)
{
    /* One element more than the maximum, to detect writes beyond it. */
    struct nicbarr_choice choices[NICBARR_CANDIDATES + 1], again;
    char name[NICBARR_CHOICE_TEXT];
    memset(choices, 0xa5, sizeof(choices));
    const struct nicbarr_choice untouched = choices[NICBARR_CANDIDATES];
    const int count = list_candidates(what, shape, choices);
    const uint32_t size = shape->nodes > 1 ? shape->nodes : shape->processes;
    assert_in_range(count, 1, NICBARR_CANDIDATES - 1); /* the list was not truncated */
    assert_true(nicbarr_choice_equal(choices[NICBARR_CANDIDATES], untouched));
    assert_int_equal(choices[0].algorithm, NICBARR_OPENMPI);
    for (int c = 0; c < count; ++c) {
        const struct nicbarr_choice choice = choices[c];
        assert_true(nicbarr_runnable(shape, choice));
        assert_true(choice.parameter <= nicbarr_parameter_max(choice.algorithm, size));
        assert_true(nicbarr_choice_parse_data(nicbarr_choice_name(choice, name), &again));
        assert_true(LONG_REDUCTIONS == what || nicbarr_algorithm_barrier(choice.algorithm));
        assert_true(nicbarr_choice_equal(choice, again));
        if (BROADCASTS == what && c > 0 && shape->nodes <= MYR_SPREAD_NODES) {
            check_spread(choice, shape->nodes);
        }
        for (int other = 0; other < c; ++other) {
            assert_false(nicbarr_choice_equal(choice, choices[other]));
        }
    }
}

TEST(every_shape)
{
    for (uint32_t size = 1; size <= 300; ++size) {
        for (uint32_t homes = 1; homes <= size; ++homes) {
            const struct nicbarr_shape shape = on_one_node(size, homes);
            check_shape(BARRIERS, &shape);
        }
        for (uint32_t nics = 0; size > 1 && nics < NICS_END; nics += SOFT) {
            const struct nicbarr_shape shape = across(size, 1 + size % 5, nics);
            for (int what = 0; what < WHATS; ++what) {
                check_shape((enum what)what, &shape);
            }
        }
    }
    for (uint32_t size = 512; size <= 1U << 20; size *= 2) {
        const struct nicbarr_shape one = on_one_node(size, 64),
                                   some = across(size, 2, SOFT | KERNEL);
        check_shape(BARRIERS, &one);
        for (int what = 0; what < WHATS; ++what) {
            check_shape((enum what)what, &some);
        }
    }
}

static uint32_t messages_of(uint32_t n, uint32_t nodes, uint32_t *rounds)
{
    struct myr_schedule schedule;
    const struct nicbarr_choice choice = {NICBARR_DISSEMINATION, n, 0};
    assert_true(nicbarr_schedule_create(choice, nodes, 0, &schedule));
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    *rounds = lengths.steps;
    nicbarr_schedule_destroy(&schedule);
    return lengths.sends;
}

/* For n-way dissemination with any n up to 7, there is a candidate that needs no more rounds and no
 * more messages. */
TEST(no_better_dissemination)
{
    for (uint32_t nodes = 2; nodes <= 300; ++nodes) {
        struct nicbarr_choice choices[NICBARR_CANDIDATES];
        const struct nicbarr_shape shape = across(nodes, 1, SOFT);
        const int count = nicbarr_candidates(&shape, choices);
        for (uint32_t n = 1; n <= 7 && n < nodes; ++n) {
            uint32_t rounds, own_rounds;
            const uint32_t messages = messages_of(n, nodes, &rounds);
            bool matched = false;
            for (int c = 0; c < count; ++c) {
                matched =
                    matched || (NICBARR_DISSEMINATION == choices[c].algorithm &&
                                messages_of(choices[c].parameter, nodes, &own_rounds) <= messages &&
                                own_rounds <= rounds);
            }
            assert_true(matched);
        }
    }
}

/* The initial choice is also a candidate, so that the record has memory for it. */
TEST(initial_choice)
{
    for (uint32_t size = 2; size <= 300; ++size) {
        for (int oversubscribed = 0; oversubscribed <= 1; ++oversubscribed) {
            struct nicbarr_choice choices[NICBARR_CANDIDATES];
            struct nicbarr_shape shape = on_one_node(size, 1);
            bool found = false;
            shape.oversubscribed = 1 == oversubscribed;
            const struct nicbarr_choice first = nicbarr_default_choice(&shape);
            const int count = nicbarr_candidates(&shape, choices);
            for (int c = 0; c < count; ++c) {
                found = found || nicbarr_choice_equal(choices[c], first);
            }
            assert_true(found);
            assert_int_equal(first.algorithm,
                             shape.oversubscribed || size > 16 ? NICBARR_COUNTER : NICBARR_FLAGS);
        }
        const struct nicbarr_shape shape = across(size, 1, SOFT);
        assert_int_equal(nicbarr_default_choice(&shape).algorithm, NICBARR_OPENMPI);
    }
}

int main(void)
{
    nicbarr_choice_nics(nicbarr_nic_names());
    crew_watchdog();
    return test_run(NULL);
}
