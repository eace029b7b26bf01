/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests contests, the tuning runs that measure all candidates (coll_nicbarr/choice/contest.c). A
 * failure means that they choose a slow algorithm, exceed their budget, or make ranks diverge and
 * hang. The ranks are simulated: each is a thread with a clock that only its iterations advance, so
 * that no result depends on the machine.
 *
 * Invariants:
 *
 * - All ranks execute the same iterations and get the same result, whatever they measure.
 * - The best candidate is chosen if the costs are conclusive.
 * - The budget determines the number of rounds, as contest.h defines.
 * - An error ends the tuning run on all ranks.
 */
#include <math.h>
#include <pthread.h>

#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/comparison.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    MOST_RANKS = 8,
    ROUNDS = NICBARR_CONTEST_ROUNDS,
    DIVERGED = 12345, /* error of agree() if ranks diverge */
};

struct rank;

/* Returns the duration of one repetition of a candidate on this rank, in its current iteration. */
typedef double (*cost_fn)(struct rank *rank, int candidate);

/* Shared by all ranks. */
struct world {
    uint32_t ranks;
    int count;
    double budget_us, since_us;
    int in_a_row;
    cost_fn cost;
    double costs[NICBARR_CONTESTANTS];
    double speed[ROUNDS + 1]; /* a factor for each round; round 0 is the first measurement of all
                                 candidates */
    int agree_fails_at;       /* the number of the agree() that fails, from 1; 0: none */

    /* The state of agree(). */
    pthread_mutex_t lock;
    pthread_cond_t agreement;
    uint32_t waiting, gone, agreements;
    int values_count;
    double values[NICBARR_CONTEST_VALUES]; /* merged from the ranks that have arrived */
    double agreed[NICBARR_CONTEST_VALUES]; /* result of the last agreement */
    uint64_t history;                      /* of the rank that arrived first */
    bool diverged;                         /* the ranks have diverged */
};

struct rank {
    struct world *world;
    pthread_t thread;
    uint32_t number;
    uint64_t random;
    double clock_us;
    uint64_t history;                     /* a hash of the rank's iterations and their order */
    int samples, of[NICBARR_CONTESTANTS]; /* number of iterations, also for each candidate */
    int round, repetitions;               /* of the current iteration */
    int fails_at, error;                  /* the iteration that fails, from 1; 0: none */
    int agrees;
    int returned;
    struct nicbarr_contest *contest; /* an allocation of its own, checked by sanitizers */
};

static struct world world;
static struct rank ranks[MOST_RANKS];

/* ---- callbacks of the tuning run ---- */

static int sample(void *context, int candidate, int repetitions, double *us)
{
    struct rank *rank = context;
    const struct world *all = rank->world;
    CREW_CHECK(candidate >= 0 && candidate < all->count, "candidate %d", candidate);
    CREW_CHECK(repetitions >= 1 && repetitions <= 2000, "%d repetitions", repetitions);
    rank->round = rank->of[candidate]++;
    CREW_CHECK(rank->round <= ROUNDS, "%d rounds", rank->round);
    rank->repetitions = repetitions;
    rank->history = (rank->history * 31 + (uint64_t)candidate) * 4099 + (uint64_t)repetitions;
    ++rank->samples;
    *us = all->cost(rank, candidate) * all->speed[rank->round];
    rank->clock_us += *us * repetitions;
    return rank->samples == rank->fails_at ? rank->error : 0;
}

static double now_us(void *context)
{
    return ((struct rank *)context)->clock_us;
}

/* Merge `values` into those of the ranks that arrived earlier. The caller holds the lock. */
static void merge(struct rank *rank, const double *values, int count)
{
    struct world *all = rank->world;
    if (0 == all->waiting) {
        memcpy(all->values, values, (size_t)count * sizeof(*values));
        all->values_count = count;
        all->history = rank->history;
    }
    all->diverged = all->diverged || all->gone > 0 || all->values_count != count ||
                    all->history != rank->history;
    for (int v = 0; !all->diverged && v < count; ++v) {
        all->values[v] = values[v] > all->values[v] ? values[v] : all->values[v];
    }
    ++all->waiting;
}

static int agree(void *context, double *values, int count)
{
    struct rank *rank = context;
    struct world *all = rank->world;
    CREW_CHECK(count > 0 && count <= NICBARR_CONTEST_VALUES, "%d values", count);
    if (++rank->agrees == all->agree_fails_at) {
        return -7;
    }
    pthread_mutex_lock(&all->lock);
    merge(rank, values, count);
    const uint32_t meeting = all->agreements;
    if (all->waiting == all->ranks || all->diverged) {
        memcpy(all->agreed, all->values, sizeof(all->agreed));
        all->waiting = 0;
        ++all->agreements;
        pthread_cond_broadcast(&all->agreement);
    }
    while (meeting == all->agreements && !all->diverged) {
        pthread_cond_wait(&all->agreement, &all->lock);
    }
    /* The values remain valid, because the next agreement needs this rank, too. */
    memcpy(values, all->agreed, (size_t)count * sizeof(*values));
    const bool diverged = all->diverged;
    pthread_mutex_unlock(&all->lock);
    return diverged ? DIVERGED : 0;
}

static void leave(struct world *all)
{
    pthread_mutex_lock(&all->lock);
    ++all->gone;
    all->diverged = all->diverged || all->waiting > 0; /* the others would wait for ever */
    pthread_cond_broadcast(&all->agreement);
    pthread_mutex_unlock(&all->lock);
}

static void *compete(void *opaque)
{
    struct rank *rank = opaque;
    struct world *all = rank->world;
    const struct nicbarr_contest_user user = {sample, agree, now_us, rank};
    nicbarr_contest_begin(rank->contest, all->count);
    rank->contest->in_a_row = all->in_a_row;
    rank->returned = nicbarr_contest_run_batch(rank->contest, &user, all->since_us, all->budget_us);
    leave(all);
    return NULL;
}

/* ---- a tuning run of all ranks ---- */

static double fixed_cost(struct rank *rank, int candidate)
{
    return rank->world->costs[candidate];
}

/* Prepare a tuning run in which all candidates take 10 us, before the test changes anything. */
static void prepare(uint32_t number, int count, double budget_us, uint64_t *random)
{
    memset(&world, 0, sizeof(world));
    memset(ranks, 0, sizeof(ranks));
    world.ranks = number;
    world.count = count;
    world.budget_us = budget_us;
    world.cost = fixed_cost;
    pthread_mutex_init(&world.lock, NULL);
    pthread_cond_init(&world.agreement, NULL);
    for (int c = 0; c < count; ++c) {
        world.costs[c] = 10;
    }
    for (int r = 0; r <= ROUNDS; ++r) {
        world.speed[r] = 1;
    }
    for (uint32_t r = 0; r < number; ++r) {
        ranks[r].world = &world;
        ranks[r].number = r;
        ranks[r].random = NULL == random ? 1 + r : crew_random(random);
        ranks[r].contest = malloc(sizeof(*ranks[r].contest));
        assert_non_null(ranks[r].contest);
        memset(ranks[r].contest, 0xa5, sizeof(*ranks[r].contest)); /* uninitialized memory */
    }
}

/* Execute the tuning run. All ranks must return the same status and result, which is in
 * ranks[0]. */
static int run(void)
{
    for (uint32_t r = 0; r < world.ranks; ++r) {
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, compete, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < world.ranks; ++r) {
        pthread_join(ranks[r].thread, NULL);
    }
    assert_false(world.diverged);
    for (uint32_t r = 1; r < world.ranks; ++r) {
        const struct nicbarr_contest *one = ranks[0].contest, *other = ranks[r].contest;
        assert_int_equal(ranks[r].returned, ranks[0].returned);
        assert_int_equal(ranks[r].samples, ranks[0].samples);
        assert_int_equal(ranks[r].agrees, ranks[0].agrees);
        assert_int_equal(other->chosen, one->chosen);
        assert_true(other->confidence == one->confidence);
        assert_int_equal(other->provisional, one->provisional);
        assert_true(other->spent_us == one->spent_us);
        assert_memory_equal(other->of, one->of, sizeof(one->of));
    }
    return ranks[0].returned;
}

static void finish(void)
{
    for (uint32_t r = 0; r < world.ranks; ++r) {
        free(ranks[r].contest);
    }
    pthread_cond_destroy(&world.agreement);
    pthread_mutex_destroy(&world.lock);
}

static uint32_t some_ranks(uint64_t *random)
{
    return 1 + crew_below(random, MOST_RANKS);
}

static int some_candidates(uint64_t *random, int least)
{
    return least + (int)crew_below(random, (uint32_t)(NICBARR_CONTESTANTS + 1 - least));
}

static double between(uint64_t *random, double least, double most)
{
    return least + (most - least) * crew_below(random, 1 << 20) / (1 << 20);
}

/* ---- the choice ---- */

static double with_noise(struct rank *rank, int candidate)
{
    return rank->world->costs[candidate] * between(&rank->random, 0.9, 1.1);
}

/* In addition, a rank is delayed by a time slice in one round of each stage, and some in the first
 * measurement. */
static double with_interruptions(struct rank *rank, int candidate)
{
    const uint32_t victim = (uint32_t)(rank->round / 3) % rank->world->ranks;
    const bool held_up =
        rank->number == victim && (rank->round + candidate) % NICBARR_CONTEST_STAGE == 0;
    return with_noise(rank, candidate) + (held_up ? 4000.0 / rank->repetitions : 0);
}

/* Check that the best candidate is chosen. It takes 10 us, all others at least 13: even with 10
 * % of noise, it is the best by more than a tie. */
static void choose_best(cost_fn cost, bool changing, double budget_us)
{
    uint64_t random = crew_seed();
    for (int contest = 0; contest < 150; ++contest) {
        prepare(some_ranks(&random), some_candidates(&random, 2),
                budget_us * between(&random, 1, 3), &random);
        const int best = (int)crew_below(&random, (uint32_t)world.count);
        for (int c = 0; c < world.count; ++c) {
            world.costs[c] = c == best ? 10 : between(&random, 13, 40);
        }
        for (int r = 0; changing && r <= ROUNDS; ++r) {
            world.speed[r] = between(&random, 0.2, 5);
        }
        world.cost = cost;
        assert_int_equal(run(), 0);
        assert_int_equal(ranks[0].contest->chosen, best);
        finish();
    }
}

TEST(interruptions)
{
    choose_best(with_interruptions, false, 2e6);
}

/* The machine's speed differs between rounds. */
TEST(changing_machine)
{
    choose_best(fixed_cost, true, 2e5);
}

/* The costs of rounds differ far more than those of candidates. */
static double with_much_noise(struct rank *rank, int candidate)
{
    return rank->world->costs[candidate] * between(&rank->random, 0.5, 2);
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
        prepare(2, 4, 50000, NULL);
        memcpy(world.costs, cases[i].costs, sizeof(cases[i].costs));
        assert_int_equal(run(), 0);
        if (ranks[0].contest->chosen != cases[i].chosen) {
            fail_msg("case %zu: candidate %d was chosen", i, ranks[0].contest->chosen);
        }
        finish();
    }
}

/* The choice is certain if enough rounds agree, and uncertain if rounds differ more than
 * candidates. The probability that nine rounds have the same sign by chance is 1 to 512. */
TEST(confidence)
{
    prepare(2, 3, 50000, NULL);
    static const double apart[] = {10.2, 10, 10.1};
    memcpy(world.costs, apart, sizeof(apart));
    assert_int_equal(run(), 0);
    const int rounds = ranks[0].contest->of[0].rounds;
    assert_true(ranks[0].contest->confidence == pow(1 - ldexp(1, -rounds), 2));
    assert_false(ranks[0].contest->provisional);
    finish();

    prepare(1, 2, 220, NULL); /* a first measurement, and three rounds of four repetitions */
    world.costs[0] = 12;
    assert_int_equal(run(), 0);
    assert_int_equal(ranks[0].contest->rounds, 3);
    assert_true(ranks[0].contest->confidence == 1 - 1 / 8.0);
    assert_true(ranks[0].contest->provisional);
    finish();

    prepare(1, 2, 50000, NULL);
    world.cost = with_much_noise; /* with a fixed seed */
    assert_int_equal(run(), 0);
    assert_true(ranks[0].contest->confidence > 0.1);
    assert_true(ranks[0].contest->provisional);
    finish();
}

/* ---- dropping ---- */

TEST(slow_candidates_are_dropped)
{
    prepare(3, 7, 50000, NULL);
    /* Candidates are dropped: never (the first one); after one round; after one stage; after two
     * stages, when more is known; when a tie is excluded; not at all. */
    static const double costs[] = {100, 100, 21, 13, 10.4, 10.2, 10};
    memcpy(world.costs, costs, sizeof(costs));
    assert_int_equal(run(), 0);
    const struct nicbarr_contestant *of = ranks[0].contest->of;
    assert_false(of[0].dropped);
    assert_true(of[1].dropped && 1 == of[1].rounds && 100 == of[1].us.median);
    assert_true(of[2].dropped && 3 == of[2].rounds);
    assert_true(of[3].dropped && 6 == of[3].rounds);
    assert_true(of[4].dropped && 12 == of[4].rounds);
    assert_true(!of[5].dropped && of[5].rounds == of[0].rounds);
    assert_true(!of[6].dropped && of[6].rounds == of[0].rounds && of[0].rounds > 12);
    assert_int_equal(ranks[0].contest->chosen, 5);
    finish();
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
        prepare(2, cases[i].count, cases[i].budget_us, NULL);
        world.since_us = cases[i].since_us;
        world.in_a_row = cases[i].in_a_row;
        for (int c = 0; c < world.count; ++c) {
            world.costs[c] = cases[i].cost_us;
        }
        assert_int_equal(run(), 0);
        const struct nicbarr_contest *contest = ranks[0].contest;
        if (contest->rounds != cases[i].rounds ||
            fabs(contest->spent_us - cases[i].spent_us) > 1e-3) {
            fail_msg("case %zu: %d rounds in %g us", i, contest->rounds, contest->spent_us);
        }
        for (int c = 0; c < world.count; ++c) {
            assert_int_equal(contest->of[c].rounds, cases[i].rounds);
            assert_int_equal(contest->of[c].repetitions, cases[i].repetitions);
        }
        assert_int_equal(contest->chosen, 0);
        assert_true(contest->provisional == (cases[i].rounds < 9 || 0 == cases[i].cost_us));
        finish();
    }
}

/* Iterations of candidates with different costs have a similar length. */
TEST(samples_have_similar_lengths)
{
    prepare(1, 4, 96000, NULL);
    static const double costs[] = {10, 15, 0.1, 1e6};
    memcpy(world.costs, costs, sizeof(costs));
    assert_int_equal(run(), 0);
    static const int repetitions[] = {100, 66, 2000, 1};
    for (int c = 0; c < 4; ++c) {
        assert_int_equal(ranks[0].contest->of[c].repetitions, repetitions[c]);
    }
    finish();
}

/* Candidate 1 takes five times as long alone as in a series of calls, because it does not
 * synchronize all ranks. Each iteration after the first measurement has at least in_a_row
 * repetitions. */
static double loosely_synchronous(struct rank *rank, int candidate)
{
    const struct world *all = rank->world;
    CREW_CHECK(0 == rank->round ? 1 == rank->repetitions : rank->repetitions >= all->in_a_row,
               "%d repetitions in round %d", rank->repetitions, rank->round);
    return 1 == candidate && rank->repetitions < 10 ? 40 : 1 == candidate ? 8 : 10;
}

TEST(many_in_a_row)
{
    static const struct {
        int in_a_row;
        double budget_us;
        int chosen, repetitions[2];
    } cases[] = {
        /* only as many as fit into an iteration; 40 us each, so that it is dropped */
        {0, 2000, 0, {8, 2}},
        {10, 2000, 1, {10, 10}},  /* more than fit */
        {10, 1e5, 1, {208, 260}}, /* more fit */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        prepare(3, 2, cases[i].budget_us, NULL);
        world.in_a_row = cases[i].in_a_row;
        world.cost = loosely_synchronous;
        assert_int_equal(run(), 0);
        const struct nicbarr_contest *contest = ranks[0].contest;
        assert_int_equal(contest->chosen, cases[i].chosen);
        assert_false(contest->provisional);
        assert_true(contest->spent_us <= cases[i].budget_us);
        for (int c = 0; c < 2; ++c) {
            assert_int_equal(contest->of[c].repetitions, cases[i].repetitions[c]);
        }
        finish();
    }
}

/* A tuning run has as many batches as the total allows, while the result is provisional. */
TEST(batches)
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

/* ---- errors, and random results ---- */

/* Some ranks fail in an iteration. It is the last one on all ranks, which all return the same
 * one of these errors. */
TEST(errors)
{
    uint64_t random = crew_seed();
    for (int contest = 0; contest < 150; ++contest) {
        prepare(some_ranks(&random), some_candidates(&random, 2), 50000, &random);
        const int failing_sample = 1 + (int)crew_below(&random, (uint32_t)(world.count * 7));
        const int sign = contest % 3;
        const uint32_t failing = 1 + crew_below(&random, world.ranks);
        for (uint32_t r = 0; r < failing; ++r) {
            ranks[r].fails_at = failing_sample;
            ranks[r].error = (1 + (int)r) * (0 == sign || (2 == sign && r % 2) ? -1 : 1);
        }
        const int error = run();
        assert_in_range(abs(error), 1, failing);
        assert_int_equal(error, ranks[abs(error) - 1].error);
        assert_int_equal(ranks[0].samples, failing_sample);
        finish();
    }
}

TEST(agreement_fails)
{
    for (int at = 1; at <= 3; ++at) {
        prepare(1, 4, 50000, NULL);
        world.agree_fails_at = at;
        assert_int_equal(run(), -7);
        assert_int_equal(ranks[0].agrees, at);
        finish();
    }
}

/* Random costs of any magnitude, on each rank and in each iteration. */
static double random_cost(struct rank *rank, int candidate)
{
    static const double scales[] = {0, 1e-9, 0.1, 1, 10, 100, 1e4, 1e9};
    (void)candidate;
    return scales[crew_below(&rank->random, 8)] * between(&rank->random, 0.5, 2);
}

/* Properties that every result must have. (run() compares the ranks.) */
TEST(random_results)
{
    uint64_t random = crew_seed();
    for (int contest = 0; contest < 300; ++contest) {
        prepare(some_ranks(&random), some_candidates(&random, 1), between(&random, 0, 1e6),
                &random);
        world.cost = random_cost;
        assert_int_equal(run(), 0);
        const struct nicbarr_contest *result = ranks[0].contest;
        const struct nicbarr_contestant *chosen = &result->of[result->chosen];
        assert_in_range(result->chosen, 0, world.count - 1);
        assert_false(chosen->dropped);
        assert_false(result->of[0].dropped);
        assert_true(result->confidence >= 0 && result->confidence <= 1);
        assert_true(world.count > 1 || 0 == ranks[0].samples + ranks[0].agrees);
        for (int c = 0; c < world.count; ++c) {
            const struct nicbarr_contestant *one = &result->of[c];
            assert_in_range(one->rounds, 0, ROUNDS);
            assert_true(one->dropped ? one->rounds <= chosen->rounds
                                     : one->rounds == chosen->rounds);
            if (result->rounds >= 9 && !one->dropped) {
                assert_true(chosen->us.median <= 1.03 * one->us.median);
                assert_true(c >= result->chosen || one->us.median > chosen->us.median);
            }
        }
        finish();
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
