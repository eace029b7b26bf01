/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests contests, the tuning runs that measure all candidates (coll_nicbarr/choice/contest.c), the
 * batches into which they are divided (batches.c), and A/B comparisons of two candidates
 * (comparison.c). A failure means that they choose a slow algorithm, exceed their budget, make
 * ranks diverge and hang, or that a slow machine never gets a choice.
 *
 * The ranks are simulated one after the other. For each of them, all ranks' measurements and clocks
 * are computed again from the same seeds, so that it agrees on the same values as the others if it
 * executes the same iterations. No result depends on the machine.
 *
 * Invariants:
 *
 * - All ranks execute the same iterations and get the same result, whatever they measure.
 * - The best candidate is chosen if the costs are conclusive. (tuning_sim_test.c has costs with
 *   noise.)
 * - The budget determines the number of rounds, as contest.h defines.
 * - An error ends the tuning run on all ranks.
 */
#include <math.h>

#include "coll_nicbarr/choice/batches.h"
#include "coll_nicbarr/choice/comparison.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    MOST_RANKS = 8,
    ROUNDS = NICBARR_CONTEST_ROUNDS,
};

/* Returns the duration of one repetition of a candidate on a rank, in the current iteration. */
typedef double (*cost_fn)(uint32_t rank, int candidate);

static struct {
    uint32_t ranks;
    int count;
    double budget_us, since_us;
    int in_a_row;
    cost_fn cost;
    double costs[NICBARR_CONTESTANTS], agreement_us;
    uint64_t seed;
    int fails_at, errors[MOST_RANKS]; /* the iteration that fails, from 1; 0: none */
    int agree_fails_at;               /* the number of the agree() that fails, from 1; 0: none */
} world;

/* A tuning run, as one of the ranks experiences it. */
static struct run {
    uint32_t rank;
    uint64_t random[MOST_RANKS];
    double us[MOST_RANKS], clock_us[MOST_RANKS]; /* of the last iteration; the clocks */
    uint64_t history;                            /* a hash of the iterations and their order */
    int samples, of[NICBARR_CONTESTANTS];        /* number of iterations, also for each candidate */
    int round, repetitions;                      /* of the current iteration */
    int agrees;
} now;

static struct nicbarr_contest result; /* of all ranks */

/* ---- callbacks of the tuning run ---- */

static int sample(void *context, int candidate, int repetitions, double *us)
{
    (void)context;
    assert_in_range(candidate, 0, world.count - 1);
    assert_in_range(repetitions, 1, 2000);
    now.round = now.of[candidate]++;
    assert_true(now.round <= ROUNDS);
    now.repetitions = repetitions;
    now.history = (now.history * 31 + (uint64_t)candidate) * 4099 + (uint64_t)repetitions;
    for (uint32_t r = 0; r < world.ranks; ++r) {
        now.us[r] = world.cost(r, candidate);
        now.clock_us[r] += now.us[r] * repetitions;
    }
    *us = now.us[now.rank];
    return ++now.samples == world.fails_at ? world.errors[now.rank] : 0;
}

static double now_us(void *context)
{
    (void)context;
    return now.clock_us[now.rank];
}

static int agree(void *context, double *values, int count)
{
    (void)context;
    if (++now.agrees == world.agree_fails_at) {
        return -7;
    }
    assert_int_equal(count, NICBARR_CONTEST_VALUES);
    double agreed[NICBARR_CONTEST_VALUES];
    for (uint32_t r = 0; r < world.ranks; ++r) {
        const int error = now.samples == world.fails_at ? world.errors[r] : 0;
        const double of_rank[] = {now.us[r], now.clock_us[r] - world.since_us, error, -error};
        for (int v = 0; v < count; ++v) {
            agreed[v] = 0 == r ? of_rank[v] : fmax(agreed[v], of_rank[v]);
            assert_true(r != now.rank || values[v] == of_rank[v]);
        }
    }
    for (uint32_t r = 0; r < world.ranks; ++r) {
        now.clock_us[r] += world.agreement_us;
    }
    memcpy(values, agreed, sizeof(agreed));
    return 0;
}

static const struct nicbarr_contest_user user = {sample, agree, now_us, NULL};

/* ---- a tuning run of all ranks ---- */

static double fixed_cost(uint32_t rank, int candidate)
{
    (void)rank;
    return world.costs[candidate];
}

/* Prepare a tuning run in which all candidates take 10 us, before the test changes anything. */
static void prepare(uint32_t number, int count, double budget_us, uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    world.ranks = number;
    world.count = count;
    world.budget_us = budget_us;
    world.seed = seed;
    world.cost = fixed_cost;
    for (int c = 0; c < count; ++c) {
        world.costs[c] = 10;
    }
}

/* Execute the tuning run on all ranks, which must return the same status and result. */
static int run(void)
{
    struct run first;
    int returned = 0;
    for (uint32_t rank = 0; rank < world.ranks; ++rank) {
        struct nicbarr_contest contest;
        memset(&now, 0, sizeof(now));
        now.rank = rank;
        for (uint32_t r = 0; r < world.ranks; ++r) {
            now.random[r] = world.seed + r;
        }
        memset(&contest, 0xa5, sizeof(contest)); /* uninitialized memory */
        nicbarr_contest_begin(&contest, world.count);
        contest.in_a_row = world.in_a_row;
        const int rc = nicbarr_contest_run_batch(&contest, &user, world.since_us, world.budget_us);
        if (0 == rank) {
            memcpy(&result, &contest, sizeof(result));
            first = now;
            returned = rc;
        }
        assert_int_equal(rc, returned);
        assert_int_equal(now.history, first.history);
        assert_int_equal(now.agrees, first.agrees);
        assert_memory_equal(&contest, &result, sizeof(result));
    }
    return returned;
}

static void measure(int count, const double *costs, double budget_us)
{
    prepare(2, count, budget_us, 1);
    memcpy(world.costs, costs, (size_t)count * sizeof(*costs));
    assert_int_equal(run(), 0);
}

static double between(uint64_t *random, double least, double most)
{
    return least + (most - least) * crew_below(random, 1 << 20) / (1 << 20);
}

/* Prepare a tuning run with any number of ranks and candidates. */
static void prepare_any(uint64_t *random, uint32_t least_candidates, double budget_us)
{
    const uint32_t more = crew_below(random, NICBARR_CONTESTANTS + 1 - least_candidates);
    const uint32_t number = 1 + crew_below(random, MOST_RANKS);
    prepare(number, (int)(least_candidates + more), budget_us, crew_random(random));
}

/* ---- the choice ---- */

/* The costs of rounds differ far more than those of candidates. */
static double with_much_noise(uint32_t rank, int candidate)
{
    return world.costs[candidate] * between(&now.random[rank], 0.5, 2);
}

TEST(ties)
{
    static const struct {
        double costs[4];
        int chosen;
    } cases[] = {
        {{10, 10, 10, 10}, 0},     {{10.29, 10, 10, 10}, 0}, {{10.31, 10, 10, 10}, 1},
        {{12, 10.29, 10, 10}, 1},  {{12, 10.31, 10, 10}, 2}, {{12, 12, 10.31, 10}, 3},
        {{10, 9.8, 9.6, 9.75}, 1}, {{10, 20, 30, 40}, 0},    {{100, 20, 10.1, 10}, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        measure(4, cases[i].costs, 50000);
        if (result.chosen != cases[i].chosen) {
            fail_msg("case %zu: candidate %d was chosen", i, result.chosen);
        }
    }
}

/* The choice is certain if enough rounds agree, and uncertain if rounds differ more than
 * candidates. The probability that nine rounds have the same sign by chance is 1 to 512. */
TEST(confidence)
{
    measure(3, (const double[]){10.2, 10, 10.1}, 50000);
    assert_true(result.confidence == pow(1 - ldexp(1, -result.of[0].rounds), 2));
    assert_false(result.provisional);

    measure(2, (const double[]){12, 10}, 220); /* three rounds of four repetitions */
    assert_int_equal(result.rounds, 3);
    assert_true(result.confidence == 1 - 1 / 8.0);
    assert_true(result.provisional);

    prepare(1, 2, 50000, 1);
    world.cost = with_much_noise; /* with a fixed seed */
    assert_int_equal(run(), 0);
    assert_true(result.confidence > 0.1);
    assert_true(result.provisional);
}

/* ---- dropping ---- */

TEST(slow_candidates_are_dropped)
{
    /* Candidates are dropped: never (the first one); after one round; after one stage; after two
     * stages, when more is known; when a tie is excluded; not at all. */
    measure(7, (const double[]){100, 100, 21, 13, 10.4, 10.2, 10}, 50000);
    const struct nicbarr_contestant *of = result.of;
    assert_false(of[0].dropped);
    assert_true(of[1].dropped && 1 == of[1].rounds && 100 == of[1].us.median);
    assert_true(of[2].dropped && 3 == of[2].rounds);
    assert_true(of[3].dropped && 6 == of[3].rounds);
    assert_true(of[4].dropped && 12 == of[4].rounds);
    assert_true(!of[5].dropped && of[5].rounds == of[0].rounds);
    assert_true(!of[6].dropped && of[6].rounds == of[0].rounds && of[0].rounds > 12);
    assert_int_equal(result.chosen, 5);
}

/* ---- the budget ---- */

/* All candidates take the same time and none is dropped, so that the number of rounds is known.
 * With 4 candidates of 10 us, the first measurement takes 40 us. An iteration gets a 96th of the
 * budget, 520 us, which is 52 repetitions. 24 such rounds fit into 50 ms. An iteration begins
 * only if two more repetitions fit. */
TEST(budget)
{
    static const struct {
        int count;
        double cost_us, since_us, budget_us;
        int repetitions, rounds;
        double spent_us;
        int in_a_row;
    } cases[] = {
        {4, 10, 0, 50000, 52, 24, 40 + 24 * 2080.0, 0},
        /* The time spent before counts: 14 rounds and an iteration. */
        {4, 10, -20000, 50000, 52, 14, 20040 + 14 * 2080 + 520.0, 0},
        {4, 10, -50000, 50000, 1, 0, 50000, 0},
        /* Few rounds fit. */
        {8, 300, 0, 50000, 2, 9, 8 * 300 + 9 * 4800 + 6 * 600.0, 0},
        {8, 640, 0, 50000, 2, 4, 8 * 640 + 4 * 10240 + 2 * 1280.0, 0},
        {8, 5000, 0, 50000, 2, 0, 8 * 5000.0, 0},
        {8, 20000, 0, 50000, 1, 0, 3 * 20000.0, 0},
        /* Longer iterations are fewer: one begins if 12 repetitions fit, and has 10. */
        {8, 640, 0, 50000, 10, 0, 8 * 640 + 6 * 6400.0, 10},
        /* The limits apply if neither budget nor clock ends the tuning run. */
        {4, 10, 0, 0, 1, 0, 0, 0},
        {2, 1, 0, 1e12, 2000, 60, 2 + 60 * 4000.0, 0},
        {NICBARR_CONTESTANTS, 0, 0, 1, 2, 60, 0, 0},
        {NICBARR_CONTESTANTS, 0, 0, 1e12, 2000, 60, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        prepare(2, cases[i].count, cases[i].budget_us, 1);
        world.since_us = cases[i].since_us;
        world.in_a_row = cases[i].in_a_row;
        for (int c = 0; c < world.count; ++c) {
            world.costs[c] = cases[i].cost_us;
        }
        assert_int_equal(run(), 0);
        if (result.rounds != cases[i].rounds || fabs(result.spent_us - cases[i].spent_us) > 1e-3) {
            fail_msg("case %zu: %d rounds in %g us", i, result.rounds, result.spent_us);
        }
        for (int c = 0; c < world.count; ++c) {
            assert_int_equal(result.of[c].rounds, cases[i].rounds);
            assert_int_equal(result.of[c].repetitions, cases[i].repetitions);
        }
        assert_int_equal(result.chosen, 0);
        assert_true(result.provisional == (cases[i].rounds < 9 || 0 == cases[i].cost_us));
    }
}

/* ---- batches ---- */

/* A tuning run has as many batches as the total allows, while the result is provisional. */
TEST(number_of_batches)
{
    struct nicbarr_contest contest = {.count = 2, .provisional = true};
    double sum = 0;
    int batch = 0;
    for (; nicbarr_contest_wants_batch(&contest, batch); ++batch) {
        sum += nicbarr_contest_batch_us(batch, 1000);
    }
    assert_true(NICBARR_CONTEST_TOTAL * 1000 == sum);
    contest.provisional = false;
    assert_true(nicbarr_contest_wants_batch(&contest, 0));
    assert_false(nicbarr_contest_wants_batch(&contest, 1));
    contest.provisional = true;
    contest.rounds = ROUNDS;
    assert_false(nicbarr_contest_wants_batch(&contest, 1));
}

/* Begin a tuning run in batches, of one rank and two candidates. */
static struct nicbarr_batches begin_batches(double one_us, double other_us, double agreement_us,
                                            double budget_us)
{
    struct nicbarr_batches batches;
    prepare(1, 2, 0, 1);
    world.costs[0] = one_us;
    world.costs[1] = other_us;
    world.agreement_us = agreement_us;
    memset(&now, 0, sizeof(now));
    nicbarr_contest_begin(&result, 2);
    nicbarr_batches_begin(&batches, budget_us, 20, false);
    return batches;
}

static void play_batch(struct nicbarr_batches *batches)
{
    assert_true(nicbarr_batches_left(batches, &result));
    world.since_us = now.clock_us[0];
    now.us[0] = 0;
    assert_int_equal(
        nicbarr_contest_run_batch(&result, &user, world.since_us, nicbarr_batches_next_us(batches)),
        0);
    nicbarr_batches_record(batches, &result);
}

static int calls_until_due(struct nicbarr_batches *batches)
{
    int calls = 0;
    while (!nicbarr_batches_due(batches)) {
        ++calls;
    }
    return calls;
}

TEST(pauses)
{
    static const int tune_after[] = {0, 20, 101};
    static const int calls[][5] = {
        {10, 15, 22, 33, 49}, {10, 15, 22, 33, 49}, {50, 75, 112, 168, 252}};
    for (size_t a = 0; a < sizeof(tune_after) / sizeof(*tune_after); ++a) {
        struct nicbarr_batches batches;
        nicbarr_batches_begin(&batches, 1000, tune_after[a], false);
        for (size_t i = 0; i < sizeof(calls[a]) / sizeof(*calls[a]); ++i) {
            nicbarr_batches_pause(&batches);
            assert_int_equal(calls_until_due(&batches), calls[a][i]);
        }
    }
}

/* If the time for measurements is limited, each batch must be affordable. Each time that one is
 * not, the pause doubles, up to 20,000 calls; a batch resets it. */
TEST(pauses_with_a_limit)
{
    static const int calls[] = {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000};
    struct nicbarr_batches batches;
    nicbarr_batches_begin(&batches, 1000, 101, true);
    for (int batch = 0; batch < 3; ++batch) {
        nicbarr_batches_pause(&batches);
        assert_int_equal(calls_until_due(&batches), calls[0]);
        for (size_t i = 1; i < sizeof(calls) / sizeof(*calls); ++i) {
            nicbarr_batches_postpone(&batches);
            assert_int_equal(calls_until_due(&batches), calls[i]);
        }
    }
}

/* If an agreement takes longer than a batch, batches grow until they contain an iteration, and
 * not further. */
TEST(nothing_fits)
{
    struct nicbarr_batches batches = begin_batches(5000, 3000, 9000, 8000);
    play_batch(&batches);
    assert_true(8000 == nicbarr_batches_next_us(&batches));
    play_batch(&batches);
    assert_true(16000 == nicbarr_batches_next_us(&batches));
    assert_false(result.preliminary_done || result.next > 0);
    play_batch(&batches);
    assert_true(result.preliminary_done || result.next > 0);
    assert_true(16000 == nicbarr_batches_next_us(&batches));
}

/* However slow the machine, and however small the budget, there are rounds, and the best candidate
 * is chosen. */
TEST(slow_machines)
{
    static const double budgets_us[] = {8000, 1000, 160};
    for (int i = 0; i < 6; ++i) {
        const int best = i % 2;
        struct nicbarr_batches batches = begin_batches(
            0 == best ? 3000 : 5000, 0 == best ? 5000 : 3000, 5000, budgets_us[i / 2]);
        while (nicbarr_batches_left(&batches, &result)) {
            play_batch(&batches);
        }
        assert_int_equal(batches.finished, 2 * NICBARR_CONTEST_TOTAL - 1);
        assert_in_range(result.rounds, 1, NICBARR_CONTEST_ROUNDS);
        assert_int_equal(result.chosen, best);
    }
}

/* ---- errors, and random results ---- */

/* Some ranks fail in an iteration. It is the last one on all ranks, which all return the same
 * one of these errors. */
TEST(errors)
{
    uint64_t random = crew_seed();
    for (int contest = 0; contest < 150; ++contest) {
        prepare_any(&random, 2, 50000);
        world.fails_at = 1 + (int)crew_below(&random, (uint32_t)(world.count * 7));
        const int sign = contest % 3;
        const uint32_t failing = 1 + crew_below(&random, world.ranks);
        for (uint32_t r = 0; r < failing; ++r) {
            world.errors[r] = (1 + (int)r) * (0 == sign || (2 == sign && r % 2) ? -1 : 1);
        }
        const int error = run();
        assert_in_range(abs(error), 1, failing);
        assert_int_equal(error, world.errors[abs(error) - 1]);
        assert_int_equal(now.samples, world.fails_at);
    }
    for (int at = 1; at <= 3; ++at) {
        prepare(2, 4, 50000, 1);
        world.agree_fails_at = at;
        assert_int_equal(run(), -7);
        assert_int_equal(now.agrees, at);
    }
}

/* Random costs of any magnitude, on each rank and in each iteration. */
static double random_cost(uint32_t rank, int candidate)
{
    static const double scales[] = {0, 1e-9, 0.1, 1, 10, 100, 1e4, 1e9};
    (void)candidate;
    return scales[crew_below(&now.random[rank], 8)] * between(&now.random[rank], 0.5, 2);
}

/* Properties that every result must have. (run() compares the ranks.) */
TEST(random_results)
{
    uint64_t random = crew_seed();
    for (int contest = 0; contest < 300; ++contest) {
        prepare_any(&random, 1, between(&random, 0, 1e6));
        world.cost = random_cost;
        assert_int_equal(run(), 0);
        const struct nicbarr_contestant *chosen = &result.of[result.chosen];
        assert_in_range(result.chosen, 0, world.count - 1);
        assert_false(chosen->dropped);
        assert_false(result.of[0].dropped);
        assert_true(result.confidence >= 0 && result.confidence <= 1);
        assert_true(world.count > 1 || 0 == now.samples + now.agrees);
        for (int c = 0; c < world.count; ++c) {
            const struct nicbarr_contestant *one = &result.of[c];
            double sorted[ROUNDS];
            assert_in_range(one->rounds, 0, ROUNDS);
            memcpy(sorted, one->round_us, sizeof(sorted));
            assert_true(0 == one->rounds ||
                        nicbarr_quartiles(sorted, (size_t)one->rounds).median == one->us.median);
            assert_true(one->dropped ? one->rounds <= chosen->rounds
                                     : one->rounds == chosen->rounds);
            if (result.rounds >= 9 && !one->dropped) {
                assert_true(chosen->us.median <= 1.03 * one->us.median);
                assert_true(c >= result.chosen || one->us.median > chosen->us.median);
            }
        }
    }
}

/* ---- a comparison ---- */

/* Simulate an A/B comparison of two candidates, on two ranks without a shared clock. In
 * the barrier of candidate d one rank takes us[d][0], which is the maximum, and the other one
 * us[d][1]. Returns the winner. */
static int comparison_of_two(const double us[2][2])
{
    struct nicbarr_comparison comparisons[2];
    nicbarr_comparison_begin(&comparisons[0], 2, false);
    nicbarr_comparison_begin(&comparisons[1], 2, false);
    while (!comparisons[0].over) {
        const int next = nicbarr_comparison_next(&comparisons[0]);
        const int d = NICBARR_COMPARISON_APART == next ? 0 : next;
        const bool ends = nicbarr_comparison_record(&comparisons[0], 0, us[d][0]);
        assert_true(ends == nicbarr_comparison_record(&comparisons[1], 5, 5 + us[d][1]));
        if (ends) {
            double agreed[NICBARR_COMPARISON_VALUES], other[NICBARR_COMPARISON_VALUES];
            const int count = nicbarr_comparison_values(&comparisons[0], agreed);
            assert_int_equal(nicbarr_comparison_values(&comparisons[1], other), count);
            for (int v = 0; v < count; ++v) {
                agreed[v] = fmax(agreed[v], other[v]);
            }
            nicbarr_comparison_agreed(&comparisons[0], agreed);
            nicbarr_comparison_agreed(&comparisons[1], agreed);
        }
    }
    assert_int_equal(comparisons[0].winner, comparisons[1].winner);
    return comparisons[0].winner;
}

TEST(winner_is_worse_in_neither_figure)
{
    static const double factors[] = {0.6, 0.9, 0.96, 0.98, 1, 1.02, 1.1, 1.7};
    enum { FACTORS = sizeof(factors) / sizeof(factors[0]) };
    for (int i = 0; i < FACTORS * FACTORS; ++i) {
        const double one = factors[i / FACTORS], other = factors[i % FACTORS];
        const bool better = fmin(one, other) < 1 / 1.03 && fmax(one, other) <= 1;
        if (better !=
            comparison_of_two((const double[2][2]){{400, 100}, {400 * one, 100 * other}})) {
            fail_msg("%g and %g times the figures of the present choice", one, other);
        }
    }
}
