/*
 * The model's predictions against hand-computed ones. Invariant: with a processor each, a barrier
 * costs its longest chain of cache lines heard of one after the other; with shared processors, the
 * turns that these take.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "coll_nicbarr/model.h"
#include "tests/unit/crew.h"

static void expect(const char *name, uint32_t size, uint32_t processors, double us)
{
    /* Powers of two, so that all sums are exact; each far from a multiple of the other. */
    const struct nicbarr_machine machine = {0.25, 1024, processors};
    struct nicbarr_choice choice;
    assert_true(nicbarr_choice_parse(name, &choice));
    const double is = nicbarr_model_us(choice, size, &machine);
    if (is != us) {
        fail_msg("%s with %u processes on %u processors: %g us instead of %g us", name, size,
                 processors, is, us);
    }
}

static void a_processor_each(void **state)
{
    (void)state;
    const double line = 0.25;
    /* Two processes that tell each other hear of one another at once. */
    expect("flags", 2, 2, line);
    expect("dissemination:1", 2, 2, line);
    expect("pairwise", 2, 2, line);
    /* Everybody reads everybody's line, one after the other. */
    expect("flags", 4, 4, 3 * line);
    expect("flags:128", 16, 16, 15 * line);
    expect("dissemination:3", 4, 4, 3 * line);
    /* One line a round. */
    expect("dissemination:1", 4, 4, 2 * line);
    expect("dissemination:1", 5, 5, 3 * line);
    expect("dissemination:1", 8, 64, 3 * line);
    expect("dissemination:3", 16, 16, 6 * line); /* three in each of two rounds */
    expect("dissemination:2", 5, 5, 3 * line);   /* distances 1, 2; then 3 */
    expect("pairwise", 8, 8, 3 * line);
    /* The third tells the first, the first exchanges with the second, and tells the third. */
    expect("pairwise", 3, 3, 3 * line);
    /* The root hears of all the others, these hear of the root. */
    expect("counter", 2, 2, 2 * line);
    expect("counter", 5, 5, 5 * line);
    expect("tree:2", 3, 3, 3 * line);
    /* A chain of four: three messages up, three down. */
    expect("tree:1", 4, 4, 6 * line);
}

/*
 * One processor, processes 0, 1, 2, ... in turn. Of a star, 0 must wait in its first turn; later
 * each turn of 0 completes one barrier for it and each of the others' turns one for them, so 8
 * barriers take 9 rounds of turns.
 */
static void shared_processors(void **state)
{
    (void)state;
    const double turn = 1024;
    expect("counter", 4, 1, 9 * 4 * turn / 8);
    expect("counter", 2, 1, 9 * 2 * turn / 8);
    /* Two that tell each other: the first waits in the first turn; from then on whoever runs ends
     * the barrier that the other one waits in, begins and ends the next (the other's message was
     * there), and waits in the one after. So after turn t it has done t - 1; both have 8 after 10.
     */
    expect("flags", 2, 1, 10 * turn / 8);
    /* Two processors with processes 0, 2 and 1, 3. Turn 1 has 0 (waits) and 1 (told); turn 2 has
     * 2 (told) and 3 (told); then, every second turn, 0 completes and 1 with it, as it runs after
     * 0; one turn later 2 and 3. */
    expect("counter", 4, 2, 9 * 2 * turn / 8);
}

static void no_prediction(void **state)
{
    (void)state;
    expect("openmpi", 4, 4, 0);
    expect("flags", 1, 4, 0);
    expect("tree:2", 513, 1024, 0);
    expect("tree:2", 4, 0, 0);
    const struct nicbarr_machine machine = {1, 1, 1};
    assert_true(nicbarr_model_us((struct nicbarr_choice){NICBARR_TREE, 2, NICBARR_SOFT}, 512,
                                 &machine) > 0);
}

/* Twice the latency, twice the time; the other number does not count. */
static void proportional(void **state)
{
    (void)state;
    static const enum nicbarr_algorithm algorithms[] = {
        NICBARR_COUNTER, NICBARR_FLAGS, NICBARR_TREE, NICBARR_DISSEMINATION, NICBARR_PAIRWISE};
    for (size_t a = 0; a < sizeof(algorithms) / sizeof(algorithms[0]); ++a) {
        for (uint32_t size = 2; size < 40; ++size) {
            const struct nicbarr_choice choice = {algorithms[a], 4, NICBARR_SOFT};
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

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_processor_each),
        cmocka_unit_test(shared_processors),
        cmocka_unit_test(no_prediction),
        cmocka_unit_test(proportional),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
