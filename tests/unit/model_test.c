/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the cost model that excludes slow candidates from measurement, by comparing its predictions
 * with hand-computed ones. A failure means that it excludes fast algorithms.
 *
 * Invariants:
 *
 * - With a core for each process, a barrier takes its longest chain of dependent cache-line
 *   transfers.
 * - With oversubscribed cores, it takes the time slices that the processes need.
 * - Across nodes, it takes the longest chain of messages, each with half the round trip of a
 *   ping-pong with that many concurrent peers.
 */
#include "coll_nicbarr/choice/model.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

static void expect(const char *name, uint32_t size, uint32_t processors, double us)
{
    /* Powers of two make all sums exact, and they are so far apart that neither can mask the
     * other. */
    const struct nicbarr_machine machine = {0.25, 1024, processors};
    struct nicbarr_choice choice;
    assert_true(nicbarr_choice_parse(name, &choice));
    const double is = nicbarr_model_us(choice, size, &machine);
    if (is != us) {
        fail_msg("%s with %u processes on %u processors: %g us instead of %g us", name, size,
                 processors, is, us);
    }
}

TEST(one_processor_per_process)
{
    const double line = 0.25;
    /* Both processes notify each other concurrently. */
    expect("flags", 2, 2, line);
    expect("dissemination:1", 2, 2, line);
    expect("pairwise", 2, 2, line);
    /* Each process reads the lines of all others, one after the other. */
    expect("flags", 4, 4, 3 * line);
    expect("flags:128", 16, 16, 15 * line);
    expect("dissemination:3", 4, 4, 3 * line);
    /* Each round transfers one cache line. */
    expect("dissemination:1", 4, 4, 2 * line);
    expect("dissemination:1", 5, 5, 3 * line);
    expect("dissemination:1", 8, 64, 3 * line);
    expect("dissemination:3", 16, 16, 6 * line); /* three lines in each of two rounds */
    expect("dissemination:2", 5, 5, 3 * line);   /* distances 1, 2; then 3 */
    expect("pairwise", 8, 8, 3 * line);
    /* Process 2 notifies 0, which exchanges with 1, and then notifies 2. */
    expect("pairwise", 3, 3, 3 * line);
    /* The root reads the lines of all others, and then all read the root's line. */
    expect("counter", 2, 2, 2 * line);
    expect("counter", 5, 5, 5 * line);
    expect("tree:2", 3, 3, 3 * line);
    /* A chain of four: three messages up, three down. */
    expect("tree:1", 4, 4, 6 * line);
}

/*
 * One core runs processes 0, 1, 2, ... round-robin. In a star, 0 has to wait in its first time
 * slice. After that, each slice of 0 completes one barrier for it, and each slice of another
 * process completes one for that process. Therefore 8 barriers take 9 rounds of slices.
 */
TEST(shared_processors)
{
    const double slice = 1024;
    expect("counter", 4, 1, 9 * 4 * slice / 8);
    expect("counter", 2, 1, 9 * 2 * slice / 8);
    /*
     * Two processes notify each other. The first one waits in its first time slice. From then
     * on, each slice completes the barrier in which the other process waits, completes the next
     * one, for which the other's message has arrived, and waits in the one after that. After t
     * slices the running process has therefore completed t - 1 barriers, and both have completed
     * 8 after 10 slices.
     */
    expect("flags", 2, 1, 10 * slice / 8);
    /* Two cores run processes 0, 2 and 1, 3. In slice 1, 0 waits, and 1 has notified it. In
     * slice 2, 2 and 3 have notified it. From then on, every second slice 0 completes a barrier,
     * and so does 1, which runs after 0; one slice later, 2 and 3 do. */
    expect("counter", 4, 2, 9 * 2 * slice / 8);
}

TEST(no_prediction)
{
    expect("openmpi", 4, 4, 0);
    expect("flags", 1, 4, 0);
    expect("tree:2", 513, 1024, 0);
    expect("tree:2", 4, 0, 0);
    const struct nicbarr_machine machine = {1, 1, 1};
    assert_true(nicbarr_model_us((struct nicbarr_choice){NICBARR_TREE, 2, 0}, 512, &machine) > 0);
}

/* The prediction is proportional to the latency that applies, and independent of the other one. */
TEST(proportional)
{
    static const enum nicbarr_algorithm algorithms[] = {
        NICBARR_COUNTER, NICBARR_FLAGS, NICBARR_TREE, NICBARR_DISSEMINATION, NICBARR_PAIRWISE};
    for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
        for (uint32_t size = 2; size < 40; ++size) {
            const struct nicbarr_choice choice = {algorithms[a], 4, 0};
            struct nicbarr_machine own = {0.5, 3, 64}, shared = {0.5, 3, 1};
            const double own_us = nicbarr_model_us(choice, size, &own);
            const double shared_us = nicbarr_model_us(choice, size, &shared);
            assert_true(own_us > 0 && shared_us > 0);
            own = (struct nicbarr_machine){1, 7, 64};
            shared = (struct nicbarr_machine){7, 6, 1};
            assert_true(2 * own_us == nicbarr_model_us(choice, size, &own));
            assert_true(2 * shared_us == nicbarr_model_us(choice, size, &shared));
        }
    }
}

/* ---- across nodes ---- */

static void expect_across(const char *name, uint32_t nodes, double us)
{
    /* Half the round trips with 1, 2, 3, 4 and 5 peers are 2, 3, 5.5, 8 and 10.5. */
    static const struct nicbarr_round_trips trips = {3, {{1, 4, 99}, {2, 6, 99}, {4, 16, 99}}};
    struct nicbarr_choice choice;
    assert_true(nicbarr_choice_parse(name, &choice));
    const double is = nicbarr_model_across_us(choice, nodes, &trips);
    if (is != us) {
        fail_msg("%s across %u nodes: %g us instead of %g us", name, nodes, is, us);
    }
}

TEST(across_nodes)
{
    /* All nodes have the same role: each round takes half a round trip with as many peers. */
    expect_across("dissemination:1", 2, 2);
    expect_across("dissemination:1", 5, 3 * 2);
    expect_across("dissemination:1@kernel", 8, 3 * 2);
    expect_across("dissemination:2", 9, 2 * 3);
    expect_across("dissemination:2", 5, 3 + 2); /* distances 1, 2; then 3 */
    expect_across("dissemination:3", 4, 5.5);
    expect_across("dissemination:4", 25, 2 * 8);
    expect_across("dissemination:5", 6, 10.5); /* extrapolated */
    expect_across("pairwise", 8, 3 * 2);
    /* Nodes 1 and 2 notify node 0 concurrently, and it notifies both. */
    expect_across("pairwise", 3, 2 * 2);
    /* A parent waits for all its children at once, and notifies them at once. */
    expect_across("tree:4", 2, 2 * 2);
    expect_across("tree:2", 3, 2 * 3);
    expect_across("tree:2", 7, 4 * 3);
    expect_across("tree:4", 5, 2 * 8);
    expect_across("tree:2", 4, 2 + 3 + 3 + 2);
    expect_across("tree:1", 4, 6 * 2);
}

TEST(no_prediction_across)
{
    expect_across("openmpi", 4, 0);
    expect_across("tree:2", 1, 0);
    expect_across("tree:2", 513, 0);
    const struct nicbarr_choice tree = {NICBARR_TREE, 2, 0};
    const struct nicbarr_round_trips none = {.count = 0}, one = {1, {{1, 4, 4}}};
    assert_true(0 == nicbarr_model_across_us(tree, 4, &none));
    assert_true(nicbarr_model_across_us(tree, 512, &one) > 0);
    assert_true(4 == nicbarr_model_across_us(tree, 2, &one));
    assert_true(4 == nicbarr_model_across_us(tree, 3, &one)); /* the only measured value */
}

/* The measured numbers of peers cover all that schedules use. */
TEST(peers)
{
    static const struct {
        uint32_t nodes, most, count, peers[NICBARR_ROUND_TRIPS];
    } cases[] = {
        {2, 64, 1, {1}},
        {3, 64, 2, {1, 2}},
        {4, 64, 3, {1, 2, 3}},
        {5, 64, 3, {1, 2, 4}},
        {6, 64, 4, {1, 2, 4, 5}},
        {16, 64, 4, {1, 2, 4, 15}},
        {65, 64, 4, {1, 2, 4, 64}},
        {4000, 64, 4, {1, 2, 4, 64}},
        {9, 1, 1, {1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct nicbarr_round_trips trips;
        nicbarr_model_peers(cases[i].nodes, cases[i].most, &trips);
        assert_int_equal(trips.count, cases[i].count);
        for (uint32_t p = 0; p < trips.count; ++p) {
            assert_int_equal(trips.of[p].peers, cases[i].peers[p]);
        }
    }
}

/* Increasing any round trip never makes a barrier faster, and doubling all doubles its time. */
TEST(slower_network)
{
    uint64_t random = crew_seed();
    for (uint32_t nodes = 2; nodes < 40; ++nodes) {
        struct nicbarr_round_trips trips, twice;
        nicbarr_model_peers(nodes, 64, &trips);
        for (uint32_t i = 0; i < trips.count; ++i) {
            trips.of[i].least_us = 1 + crew_below(&random, 100);
        }
        twice = trips;
        for (uint32_t i = 0; i < trips.count; ++i) {
            twice.of[i].least_us *= 2;
        }
        for (uint32_t parameter = 1; parameter < nodes; ++parameter) {
            static const enum nicbarr_algorithm algorithms[] = {NICBARR_TREE, NICBARR_DISSEMINATION,
                                                                NICBARR_PAIRWISE};
            const struct nicbarr_choice choice = {algorithms[crew_below(&random, 3)], parameter, 0};
            const double us = nicbarr_model_across_us(choice, nodes, &trips);
            assert_true(us > 0);
            assert_true(2 * us == nicbarr_model_across_us(choice, nodes, &twice));
            struct nicbarr_round_trips slower = trips;
            slower.of[crew_below(&random, trips.count)].least_us += 1 + crew_below(&random, 50);
            assert_true(nicbarr_model_across_us(choice, nodes, &slower) >= us);
        }
    }
}

int main(void)
{
    nicbarr_choice_nics((const char *const[]){"soft", "kernel", NULL});
    crew_watchdog();
    return test_run(NULL);
}
