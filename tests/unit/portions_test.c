/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a contest is continued (coll_nicbarr/choice/portions.c): after how many calls, with which
 * budget, and whether that leads anywhere. The contest is the real one, of one rank whose clock
 * nothing moves but what it does. So machines may be as slow as the test likes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "coll_nicbarr/choice/portions.h"

/* What things take (microseconds), and the time. */
struct machine {
    double cost_us[2], agreement_us, now_us;
};

static int turn(void *context, int candidate, int repetitions, double *us)
{
    struct machine *machine = context;
    *us = machine->cost_us[candidate];
    machine->now_us += (repetitions + 1) * *us; /* and one by which all set off */
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

static void play(struct machine *machine, struct nicbarr_portions *portions,
                 struct nicbarr_contest *contest)
{
    const struct nicbarr_contest_user user = {turn, agree, now_us, machine};
    assert_true(nicbarr_portions_left(portions, contest));
    assert_int_equal(
        nicbarr_contest_go_on(contest, &user, machine->now_us, nicbarr_portions_next_us(portions)),
        0);
    nicbarr_portions_note(portions, contest);
}

/* All portions that there are; returns how many. */
static int play_all(struct machine *machine, double budget_us, struct nicbarr_contest *contest)
{
    struct nicbarr_portions portions;
    nicbarr_contest_begin(contest, 2);
    nicbarr_portions_begin(&portions, budget_us, 20, false);
    do {
        play(machine, &portions, contest);
    } while (nicbarr_portions_left(&portions, contest));
    return portions.played;
}

static int calls_until_due(struct nicbarr_portions *portions)
{
    int calls = 0;
    while (!nicbarr_portions_due(portions)) {
        ++calls;
    }
    return calls;
}

static void pauses(void **state)
{
    (void)state;
    static const int tune_after[] = {0, 20, 101};
    static const int calls[][5] = {
        {10, 15, 22, 33, 49}, {10, 15, 22, 33, 49}, {50, 75, 112, 168, 252}};
    for (size_t a = 0; a < sizeof(tune_after) / sizeof(*tune_after); ++a) {
        struct nicbarr_portions portions;
        nicbarr_portions_begin(&portions, 1000, tune_after[a], false);
        for (size_t i = 0; i < sizeof(calls[a]) / sizeof(*calls[a]); ++i) {
            nicbarr_portions_pause(&portions);
            assert_int_equal(calls_until_due(&portions), calls[a][i]);
        }
    }
}

/* Each has to be affordable. After a refusal the pause is twice as long, up to 20,000 calls; after
 * a portion it is the least again. */
static void pauses_of_limited_ones(void **state)
{
    (void)state;
    static const int calls[] = {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000};
    struct nicbarr_portions portions;
    nicbarr_portions_begin(&portions, 1000, 101, true);
    for (int portion = 0; portion < 3; ++portion) {
        nicbarr_portions_pause(&portions);
        assert_int_equal(calls_until_due(&portions), calls[0]);
        for (size_t i = 1; i < sizeof(calls) / sizeof(*calls); ++i) {
            nicbarr_portions_put_off(&portions);
            assert_int_equal(calls_until_due(&portions), calls[i]);
        }
    }
}

/* ... and there are as many as it takes: until it is sure, or all rounds have been. */
static void as_many_as_it_takes(void **state)
{
    (void)state;
    for (int equal = 0; equal < 2; ++equal) {
        struct machine machine = {.cost_us = {500, equal ? 500 : 400}, .agreement_us = 100};
        struct nicbarr_contest contest;
        struct nicbarr_portions portions;
        nicbarr_contest_begin(&contest, 2);
        nicbarr_portions_begin(&portions, 500, 20, true);
        while (nicbarr_portions_left(&portions, &contest)) {
            play(&machine, &portions, &contest);
        }
        assert_true(portions.played > 2 * NICBARR_CONTEST_TOTAL);
        assert_true(!contest.provisional || !nicbarr_contest_open(&contest));
    }
}

/* A machine that is fast enough: one portion will do, and the next one would be half as long. */
static void fast(void **state)
{
    (void)state;
    struct machine machine = {.cost_us = {10, 5}, .agreement_us = 10};
    struct nicbarr_contest contest;
    struct nicbarr_portions portions;
    nicbarr_contest_begin(&contest, 2);
    nicbarr_portions_begin(&portions, 8000, 20, false);
    assert_true(8000 == nicbarr_portions_next_us(&portions));
    play(&machine, &portions, &contest);
    assert_true(4000 == nicbarr_portions_next_us(&portions));
    assert_false(nicbarr_portions_left(&portions, &contest));
    assert_int_equal(contest.chosen, 1);
}

/* To agree takes longer than a portion: it gets longer, until something is played, and no longer
 * than that. */
static void nothing_fits(void **state)
{
    (void)state;
    struct machine machine = {.cost_us = {5000, 3000}, .agreement_us = 9000};
    struct nicbarr_contest contest;
    struct nicbarr_portions portions;
    nicbarr_contest_begin(&contest, 2);
    nicbarr_portions_begin(&portions, 8000, 20, false);
    play(&machine, &portions, &contest);
    assert_true(8000 == nicbarr_portions_next_us(&portions));
    play(&machine, &portions, &contest);
    assert_true(16000 == nicbarr_portions_next_us(&portions));
    assert_false(contest.looked || contest.next > 0);
    play(&machine, &portions, &contest);
    assert_true(contest.looked || contest.next > 0);
    assert_true(16000 == nicbarr_portions_next_us(&portions));
}

/* However slow the machine, and however small the budget: in the end there are rounds, and the
 * right one is chosen. */
static void slow(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses),
        cmocka_unit_test(pauses_of_limited_ones),
        cmocka_unit_test(as_many_as_it_takes),
        cmocka_unit_test(fast),
        cmocka_unit_test(nothing_fits),
        cmocka_unit_test(slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
