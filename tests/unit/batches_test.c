/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the batches into which a tuning run is divided
 * (coll_nicbarr/choice/batches.c): after how many calls the run continues, and with which budget.
 * A failure means that measurements take too much of a program's time, or that a slow machine never
 * gets a choice.
 *
 * The tuning run is the real one (contest.h), with one rank and a simulated clock, so that machines
 * of any speed are tested.
 */
#include "coll_nicbarr/choice/batches.h"
#include "tests/unit/test.h"

/* The costs of operations, and the simulated time. */
struct machine {
    double cost_us[2], agreement_us, now_us;
};

static int sample(void *context, int candidate, int repetitions, double *us)
{
    struct machine *machine = context;
    *us = machine->cost_us[candidate];
    machine->now_us += (repetitions + 1) * *us; /* and an operation that synchronizes the ranks */
    return 0;
}

static int agree(void *context, double *values, int count)
{
    struct machine *machine = context;
    (void)values;
    (void)count;
    machine->now_us += machine->agreement_us;
    return 0;
}

static double now_us(void *context)
{
    return ((struct machine *)context)->now_us;
}

static void play(struct machine *machine, struct nicbarr_batches *batches,
                 struct nicbarr_contest *contest)
{
    const struct nicbarr_contest_user user = {sample, agree, now_us, machine};
    assert_true(nicbarr_batches_left(batches, contest));
    assert_int_equal(nicbarr_contest_run_batch(contest, &user, machine->now_us,
                                               nicbarr_batches_next_us(batches)),
                     0);
    nicbarr_batches_record(batches, contest);
}

/* Run all batches of a tuning run. Returns their number. */
static int play_all(struct machine *machine, double budget_us, struct nicbarr_contest *contest)
{
    struct nicbarr_batches batches;
    nicbarr_contest_begin(contest, 2);
    nicbarr_batches_begin(&batches, budget_us, 20, false);
    do {
        play(machine, &batches, contest);
    } while (nicbarr_batches_left(&batches, contest));
    return batches.finished;
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

/* If the time for measurements is limited, batches continue until the choice is certain, or all
 * rounds are complete. */
TEST(limited_batches_continue)
{
    for (int equal = 0; equal < 2; ++equal) {
        struct machine machine = {.cost_us = {500, equal ? 500 : 400}, .agreement_us = 100};
        struct nicbarr_contest contest;
        struct nicbarr_batches batches;
        nicbarr_contest_begin(&contest, 2);
        nicbarr_batches_begin(&batches, 500, 20, true);
        while (nicbarr_batches_left(&batches, &contest)) {
            play(&machine, &batches, &contest);
        }
        assert_true(batches.finished > 2 * NICBARR_CONTEST_TOTAL);
        assert_true(!contest.provisional || !nicbarr_contest_has_samples(&contest));
    }
}

/* On a fast machine, one batch suffices, and the next one would be half as long. */
TEST(fast)
{
    struct machine machine = {.cost_us = {10, 5}, .agreement_us = 10};
    struct nicbarr_contest contest;
    struct nicbarr_batches batches;
    nicbarr_contest_begin(&contest, 2);
    nicbarr_batches_begin(&batches, 8000, 20, false);
    assert_true(8000 == nicbarr_batches_next_us(&batches));
    play(&machine, &batches, &contest);
    assert_true(4000 == nicbarr_batches_next_us(&batches));
    assert_false(nicbarr_batches_left(&batches, &contest));
    assert_int_equal(contest.chosen, 1);
}

/* If an agreement takes longer than a batch, batches grow until they contain an iteration, and
 * not further. */
TEST(nothing_fits)
{
    struct machine machine = {.cost_us = {5000, 3000}, .agreement_us = 9000};
    struct nicbarr_contest contest;
    struct nicbarr_batches batches;
    nicbarr_contest_begin(&contest, 2);
    nicbarr_batches_begin(&batches, 8000, 20, false);
    play(&machine, &batches, &contest);
    assert_true(8000 == nicbarr_batches_next_us(&batches));
    play(&machine, &batches, &contest);
    assert_true(16000 == nicbarr_batches_next_us(&batches));
    assert_false(contest.preliminary_done || contest.next > 0);
    play(&machine, &batches, &contest);
    assert_true(contest.preliminary_done || contest.next > 0);
    assert_true(16000 == nicbarr_batches_next_us(&batches));
}

/* However slow the machine, and however small the budget, there are rounds, and the best candidate
 * is chosen. */
TEST(slow)
{
    static const double budgets_us[] = {8000, 1000, 160};
    for (size_t i = 0; i < sizeof(budgets_us) / sizeof(*budgets_us); ++i) {
        for (int best = 0; best < 2; ++best) {
            struct machine machine = {.cost_us = {5000, 5000}, .agreement_us = 5000};
            struct nicbarr_contest contest;
            machine.cost_us[best] = 3000;
            const int played = play_all(&machine, budgets_us[i], &contest);
            assert_int_equal(played, 2 * NICBARR_CONTEST_TOTAL - 1);
            assert_in_range(contest.rounds, 1, NICBARR_CONTEST_ROUNDS);
            assert_int_equal(contest.chosen, best);
        }
    }
}
