/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the complete tuning on simulated machines with noise and other disturbances: all batches of
 * a tuning run (coll_nicbarr/choice/contest.c), and the re-evaluation of a choice
 * (coll_nicbarr/choice/comparison.c; remeasure.c for collectives that carry data). A failure means
 * that tuning chooses slow algorithms, keeps a wrong choice, or exceeds its budget. The result
 * depends only on the seed, and not on the real machine.
 *
 * A simulated machine defines how long an iteration takes each rank: the candidate's real cost,
 * times noise, and disturbances. As all ranks start together, the machine's clock advances by the
 * slowest rank's iteration.
 *
 * Ranks are simulated one after the other. For the first one, the machine computes the measurements
 * of all ranks, and the agreements. The others replay these events with measurements of their own.
 * Invariants:
 *
 * - All ranks execute the same iterations, agree equally often, and get the same result.
 * - The final choice is rarely worse than the best.
 * - Budgets are kept.
 *
 * The seeds are fixed, so that results that depend on chance do not fail by chance. NICBARR_SEEDS
 * is the number of seeds for each machine, NICBARR_FIRST_SEED the first one.
 */
#include <math.h>

#include "coll_nicbarr/choice/remeasure.h"
#include "coll_nicbarr/choice/contest.h"
#include "coll_nicbarr/choice/comparison.h"
#include "coll_nicbarr/choice/batches.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    RANKS = 4,
    MOST_EVENTS = 20000,
    SEEDS = 200,
    DATA_CLASSES = 13 /* size classes of data.h, which share a budget */
};

static const double budget_us = 50000, pause_us = 200000;

/* ---- machines ---- */

/* What disturbs a machine, besides noise and a few spikes. Fields that are 0 have no effect. */
struct disturbance {
    const char *name;
    double spikes_per_us, spike_us; /* spikes of one rank, of unbounded size */
    double speed_period_us; /* in half of each such period, everything takes twice as long */
    double slow_rank;       /* factor by which one rank is slower */
    double load_us;         /* mean duration of a load, and of its absence */
    bool close;             /* the two best candidates differ by less than 2 % */
    double skew_us;         /* mean delay of ranks that enter a program's barrier */
};

static const struct disturbance disturbances[] = {
    {.name = "heavy tails", .spikes_per_us = 2e-4, .spike_us = 50},
    {.name = "half the speed every other second", .speed_period_us = 2e6},
    {.name = "half the speed every other 5 ms", .speed_period_us = 10e3},
    {.name = "one slow rank", .slow_rank = 1.7},
    {.name = "a varying load", .load_us = 30e3},
    {.name = "two within 2 %", .close = true},
    {.name = "late ranks", .skew_us = 50}, /* sometimes by more than a barrier */
};

enum { MACHINES = sizeof(disturbances) / sizeof(disturbances[0]) };

struct machine {
    const struct disturbance *by;
    uint64_t random;
    double clock_us;
    int count;
    double costs[NICBARR_CONTESTANTS];
    bool loaded;
    double load_changes_us;
};

/* Returns a uniformly distributed number above 0 and below 1. */
static double uniform(uint64_t *random)
{
    return (crew_below(random, 1 << 30) + 0.5) / (1 << 30);
}

static double exponential(uint64_t *random, double mean)
{
    return -mean * log(uniform(random));
}

/* Returns a number of the standard normal distribution. */
static double normal(uint64_t *random)
{
    return sqrt(exponential(random, 2)) * cos(2 * M_PI * uniform(random));
}

static int best_of(const struct machine *machine)
{
    int best = 0;
    for (int c = 1; c < machine->count; ++c) {
        best = machine->costs[c] < machine->costs[best] ? c : best;
    }
    return best;
}

/* Make the two best candidates differ by less than 2 %, and all others at least 30 % slower. */
static void close_candidates(struct machine *machine)
{
    const double best_us = machine->costs[best_of(machine)];
    const int one = (int)crew_below(&machine->random, (uint32_t)machine->count);
    const int other = (one + 1) % machine->count;
    for (int c = 0; c < machine->count; ++c) {
        machine->costs[c] = fmax(machine->costs[c], 1.3 * best_us);
    }
    machine->costs[one] = best_us;
    machine->costs[other] = best_us * (1 + 0.02 * uniform(&machine->random));
}

/* Make a machine with at most `most` candidates, whose costs are 1 to 10 times that of the best. */
static struct machine make_machine(uint64_t seed, const struct disturbance *by, int most)
{
    struct machine machine = {.random = seed, .by = by};
    uint64_t *random = &machine.random;
    machine.count = 2 + (int)crew_below(random, 19);
    const double best_us = 2 * pow(100, uniform(random)); /* 2 to 200 us */
    const int best = (int)crew_below(random, (uint32_t)machine.count);
    for (int c = 0; c < machine.count; ++c) {
        machine.costs[c] = c == best ? best_us : best_us * pow(10, uniform(random));
    }
    machine.count = machine.count < most ? machine.count : most;
    if (by->close) {
        close_candidates(&machine);
    }
    return machine;
}

/* Compute the time per repetition of an iteration that begins now, as each rank measures it. */
static void sample_of_all(struct machine *machine, int candidate, int repetitions, double us[RANKS])
{
    const struct disturbance *by = machine->by;
    const double spikes_per_us = by->spikes_per_us > 0 ? by->spikes_per_us : 2e-5;
    const double spike_us = by->spike_us > 0 ? by->spike_us : 20;
    uint64_t *random = &machine->random;
    while (by->load_us > 0 && machine->clock_us > machine->load_changes_us) {
        machine->loaded = !machine->loaded;
        machine->load_changes_us += exponential(random, by->load_us);
    }
    const bool slow = by->speed_period_us > 0 &&
                      fmod(machine->clock_us, by->speed_period_us) > by->speed_period_us / 2;
    const double base_us = machine->costs[candidate] * (slow ? 2 : 1) * (machine->loaded ? 3 : 1);
    const double length_us = base_us * (repetitions + 2);
    double slowest = 0;
    for (int r = 0; r < RANKS; ++r) {
        double sum = base_us * repetitions * (1 + 0.02 * fabs(normal(random)));
        sum *= r == RANKS - 1 && by->slow_rank > 0 ? by->slow_rank : 1;
        for (double at = exponential(random, 1 / spikes_per_us); at < length_us;
             at += exponential(random, 1 / spikes_per_us)) {
            sum += spike_us * fmin(pow(uniform(random), -0.8), 1e3);
        }
        if (machine->loaded) { /* it waits for its core, in time slices of 4 ms */
            for (double at = exponential(random, 5e3); at < length_us;
                 at += exponential(random, 5e3)) {
                sum += 4e3 * uniform(random);
            }
        }
        us[r] = sum / repetitions;
        slowest = fmax(slowest, sum);
    }
    machine->clock_us += slowest + 2 * base_us;
}

static void agreement_of_all(struct machine *machine)
{
    machine->clock_us += 5 + exponential(&machine->random, 3);
}

/* ---- ranks ---- */

/* The events recorded by the first rank, and replayed by the others. */
struct event {
    int candidate, repetitions; /* of an iteration; 0: an agreement */
    double us[RANKS], agreed[NICBARR_CONTEST_VALUES];
    double clock_us; /* the clock after the event */
};

struct rank {
    struct machine *machine; /* the machine, on the first rank; NULL on another rank */
    int number, next;        /* the next event */
    double us;               /* measurement of its last iteration, until the next agreement */
    double clock_us, longest_us;
    bool diverged;
};

static struct event events[MOST_EVENTS];
static int recorded;

static int sample(void *context, int candidate, int repetitions, double *us)
{
    struct rank *rank = context;
    struct event *event = &events[rank->next];
    if (NULL != rank->machine) {
        assert_true(rank->next < MOST_EVENTS);
        const double before_us = rank->machine->clock_us;
        *event = (struct event){.candidate = candidate, .repetitions = repetitions};
        sample_of_all(rank->machine, candidate, repetitions, event->us);
        event->clock_us = rank->machine->clock_us;
        recorded = rank->next + 1;
        rank->longest_us = fmax(rank->longest_us, event->clock_us - before_us);
    }
    rank->diverged = rank->diverged || rank->next >= recorded || event->candidate != candidate ||
                     event->repetitions != repetitions;
    *us = rank->us = event->us[rank->number];
    rank->clock_us = event->clock_us;
    ++rank->next;
    return 0;
}

/* Agree on values, of which the first one is the measurement of the last iteration. */
static int agree(void *context, double *values, int count)
{
    struct rank *rank = context;
    struct event *event = &events[rank->next];
    rank->diverged = rank->diverged || NICBARR_CONTEST_VALUES != count || values[0] != rank->us;
    if (NULL != rank->machine && !rank->diverged) {
        assert_true(rank->next < MOST_EVENTS);
        agreement_of_all(rank->machine);
        *event = (struct event){.clock_us = rank->machine->clock_us};
        memcpy(event->agreed, values, sizeof(event->agreed));
        for (int r = 0; r < RANKS && 0 != rank->us; ++r) {
            event->agreed[0] = fmax(event->agreed[0], event[-1].us[r]);
        }
        recorded = rank->next + 1;
    }
    rank->diverged = rank->diverged || rank->next >= recorded || 0 != event->repetitions;
    memcpy(values, event->agreed, sizeof(event->agreed));
    rank->clock_us = event->clock_us;
    rank->us = 0;
    ++rank->next;
    return rank->diverged ? -1 : 0;
}

static double now_us(void *context)
{
    return ((struct rank *)context)->clock_us;
}

/* ---- tuning ---- */

struct outcome {
    double regret;       /* 0: the best candidate was chosen */
    double first_regret; /* after the first batch */
    double spent_us;     /* in all batches */
    double over_us;      /* maximum excess of a batch over its budget */
    int batches;
    bool provisional; /* at the end */
};

static double regret_of(const struct machine *machine, int chosen)
{
    return machine->costs[chosen] / machine->costs[best_of(machine)] - 1;
}

static void batch(struct machine *machine, struct nicbarr_contest contests[RANKS],
                  double allowed_us, struct outcome *outcome)
{
    const double start_us = machine->clock_us;
    recorded = 0;
    for (int r = 0; r < RANKS; ++r) {
        struct rank rank = {.machine = 0 == r ? machine : NULL, .number = r, .clock_us = start_us};
        const struct nicbarr_contest_user user = {sample, agree, now_us, &rank};
        assert_int_equal(nicbarr_contest_run_batch(&contests[r], &user, start_us, allowed_us), 0);
        assert_false(rank.diverged);
        assert_int_equal(rank.next, recorded);
        assert_memory_equal(&contests[r], &contests[0], sizeof(contests[0]));
        if (0 == r) {
            const double over_us = machine->clock_us - start_us - allowed_us - rank.longest_us;
            outcome->over_us = fmax(outcome->over_us, over_us);
        }
    }
    outcome->spent_us += machine->clock_us - start_us;
}

static void begin_all(const struct machine *machine, struct nicbarr_contest *contests,
                      double first_us, bool limited, struct nicbarr_batches *batches)
{
    for (int r = 0; r < RANKS; ++r) {
        nicbarr_contest_begin(&contests[r], machine->count);
    }
    nicbarr_batches_begin(batches, first_us, 20, limited);
}

static void next_batch(struct machine *machine, struct nicbarr_contest *contests,
                       struct nicbarr_batches *batches, struct outcome *outcome)
{
    batch(machine, contests, nicbarr_batches_next_us(batches), outcome);
    nicbarr_batches_record(batches, &contests[0]);
}

/* Run all batches: either with the whole budget as early as possible, or small batches with
 * pauses of 99 times their duration. Returns the chosen candidate. */
static int tune(struct machine *machine, bool limited, struct outcome *result)
{
    static struct nicbarr_contest contests[RANKS];
    struct outcome outcome = {0};
    struct nicbarr_batches batches;
    begin_all(machine, contests, limited ? budget_us / 10 : budget_us, limited, &batches);
    do {
        const double before_us = outcome.spent_us;
        next_batch(machine, contests, &batches, &outcome);
        machine->clock_us +=
            limited ? (outcome.spent_us - before_us) * (100 / NICBARR_REMEASURE_PERCENT)
                    : pause_us * uniform(&machine->random);
        outcome.first_regret =
            1 == batches.finished ? regret_of(machine, contests[0].chosen) : outcome.first_regret;
    } while (nicbarr_batches_left(&batches, &contests[0]));
    outcome.batches = batches.finished;
    outcome.regret = regret_of(machine, contests[0].chosen);
    outcome.provisional = contests[0].provisional;
    *result = outcome;
    return contests[0].chosen;
}

/* ---- re-evaluation ---- */

/* Simulate a program's barrier: compute when each rank enters and leaves it, by its own clock. */
static void barrier_of_all(struct machine *machine, int candidate, double entered_us[RANKS],
                           double left_us[RANKS], const double clocks_us[RANKS])
{
    double us[RANKS], last_us = 0, end_us = 0;
    for (int r = 0; r < RANKS; ++r) {
        entered_us[r] =
            machine->clock_us +
            (machine->by->skew_us > 0 ? exponential(&machine->random, machine->by->skew_us) : 0);
        last_us = fmax(last_us, entered_us[r]);
    }
    sample_of_all(machine, candidate, 1, us);
    for (int r = 0; r < RANKS; ++r) {
        left_us[r] = last_us + us[r] + clocks_us[r];
        entered_us[r] += clocks_us[r];
        end_us = fmax(end_us, last_us + us[r]);
    }
    machine->clock_us = end_us;
}

/* End a round on all ranks, which agree and must have equal states afterwards. */
static void end_round_of_all(struct machine *machine, struct nicbarr_comparison comparisons[RANKS])
{
    double agreed[NICBARR_COMPARISON_VALUES], values[NICBARR_COMPARISON_VALUES];
    const int count = nicbarr_comparison_values(&comparisons[0], agreed);
    assert_in_range(count, 1, NICBARR_COMPARISON_VALUES);
    for (int r = 1; r < RANKS; ++r) {
        assert_int_equal(nicbarr_comparison_values(&comparisons[r], values), count);
        for (int v = 0; v < count; ++v) {
            agreed[v] = fmax(agreed[v], values[v]);
        }
    }
    for (int r = 0; r < RANKS; ++r) {
        nicbarr_comparison_agreed(&comparisons[r], agreed);
        memset(comparisons[r].sample, 0,
               sizeof(comparisons[r].sample)); /* different on each rank */
        assert_memory_equal(&comparisons[r], &comparisons[0], sizeof(comparisons[0]));
    }
    agreement_of_all(machine);
}

/* Run an A/B comparison of the choice in use with another candidate. Returns the winner.
 * `*barriers` grows by the number of barriers, `*extra_us` by their additional time over the
 * choice in use, without disturbances. */
static int comparison_of_all(struct machine *machine, const int *candidates, int count,
                             bool shared_clock, const double clocks_us[RANKS], long *barriers,
                             double *extra_us)
{
    static struct nicbarr_comparison comparisons[RANKS];
    double entered_us[RANKS], left_us[RANKS];
    for (int r = 0; r < RANKS; ++r) {
        nicbarr_comparison_begin(&comparisons[r], count, shared_clock);
    }
    while (!comparisons[0].over) {
        const int next = nicbarr_comparison_next(&comparisons[0]);
        int ends = 0;
        const int played = NICBARR_COMPARISON_APART == next ? 0 : candidates[next];
        barrier_of_all(machine, played, entered_us, left_us, clocks_us);
        ++*barriers;
        *extra_us += machine->costs[played] - machine->costs[candidates[0]];
        for (int r = 0; r < RANKS; ++r) {
            assert_int_equal(nicbarr_comparison_next(&comparisons[r]), next);
            ends += nicbarr_comparison_record(&comparisons[r], entered_us[r], left_us[r]);
        }
        assert_true(0 == ends || RANKS == ends);
        if (0 != ends) {
            const double start_us = machine->clock_us;
            end_round_of_all(machine, comparisons);
            *extra_us += machine->clock_us - start_us;
        }
    }
    assert_in_range(comparisons[0].winner, 0, count - 1);
    assert_false(comparisons[0].dropped[comparisons[0].winner]);
    return candidates[comparisons[0].winner];
}

struct watch {
    int chosen;
    bool measured;  /* the choice was measured on this communicator */
    uint32_t pause; /* barriers until the next comparison */
    uint32_t next;  /* the next challenger */
    bool shared_clock;
    double clocks_us[RANKS];
    long barriers, comparisons, switches; /* total numbers so far */
    double extra_us;                      /* additional time of comparisons */
};

static struct watch begin_watch(struct machine *machine, int chosen, bool measured)
{
    struct watch watch = {.chosen = chosen, .measured = measured};
    watch.pause = measured ? NICBARR_PAUSE_MEASURED : NICBARR_PAUSE_UNKNOWN;
    watch.shared_clock = crew_below(&machine->random, 2);
    for (int r = 0; r < RANKS && !watch.shared_clock; ++r) {
        watch.clocks_us[r] = 1e9 * uniform(&machine->random);
    }
    return watch;
}

/* Execute barriers until the next comparison, and the comparison, as in
 * coll_nicbarr/choice/watch.c. */
static void play_watch(struct machine *machine, struct watch *watch)
{
    int candidates[NICBARR_COMPARISON_VARIANTS] = {watch->chosen};
    const int count = 1 + nicbarr_comparison_challengers(watch->chosen, machine->count,
                                                         &watch->next, &candidates[1]);
    machine->clock_us += watch->pause * machine->costs[watch->chosen];
    watch->barriers += watch->pause;
    const int winner = comparison_of_all(machine, candidates, count, watch->shared_clock,
                                         watch->clocks_us, &watch->barriers, &watch->extra_us);
    const bool lost = winner != watch->chosen;
    ++watch->comparisons;
    watch->switches += lost;
    watch->chosen = winner;
    watch->pause = lost ? NICBARR_PAUSE_UNKNOWN
                        : nicbarr_comparison_pause(watch->pause, watch->next, machine->count);
    if (lost && !watch->measured) {
        struct outcome outcome;
        watch->chosen = tune(machine, false, &outcome);
        watch->measured = true;
        watch->pause = NICBARR_PAUSE_MEASURED;
    }
}

/* ---- re-evaluation of collectives that carry data ---- */

/* The state of a size class, as in coll_nicbarr/data/data_watch.c and trial.c. */
struct data_watch {
    int chosen;
    uint32_t pause;
    double began_us, spent_us; /* start of the job; time spent measuring again */
    long calls, remeasured, switches;
};

static void make_calls(struct machine *machine, struct data_watch *watch, uint32_t calls)
{
    machine->clock_us += calls * machine->costs[watch->chosen];
    watch->calls += calls;
}

/* Make calls until measurements of this duration are within the budget. */
static void afford(struct machine *machine, struct data_watch *watch, uint32_t *pause, double us)
{
    while (nicbarr_excess_us(us, watch->spent_us, machine->clock_us - watch->began_us,
                             NICBARR_REMEASURE_PERCENT) > 0) {
        make_calls(machine, watch, nicbarr_remeasure_postpone(pause));
        agreement_of_all(machine);
    }
}

/* Make calls until all candidates have been measured again. */
static void play_data_watch(struct machine *machine, struct data_watch *watch)
{
    static struct nicbarr_contest contests[RANKS];
    struct outcome outcome = {0};
    struct nicbarr_batches batches;
    begin_all(machine, contests, budget_us / DATA_CLASSES, false, &batches);
    make_calls(machine, watch, watch->pause);
    afford(machine, watch, &watch->pause, nicbarr_batches_next_us(&batches));
    do {
        const double before_us = outcome.spent_us;
        uint32_t pause = nicbarr_remeasure_pause(0, false);
        next_batch(machine, contests, &batches, &outcome);
        watch->spent_us += outcome.spent_us - before_us;
        make_calls(machine, watch, pause);
        afford(machine, watch, &pause, nicbarr_batches_next_us(&batches));
    } while (contests[0].provisional && nicbarr_contest_has_samples(&contests[0]));
    const bool proven = !contests[0].provisional;
    const bool lost = proven && watch->chosen != contests[0].chosen;
    watch->switches += lost;
    watch->chosen = lost ? contests[0].chosen : watch->chosen;
    watch->pause = nicbarr_remeasure_pause(watch->pause, proven);
    ++watch->remeasured;
}

/* ---- the tests ---- */

static uint64_t integer_variable(const char *name, uint64_t default_value)
{
    const char *given = getenv(name);
    return NULL == given ? default_value : strtoull(given, NULL, 0);
}

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Check that the final choice is at most 3 % slower than the best candidate in the median, and
 * rarely more than 5 % slower. This may happen more often with small batches, each of which may
 * coincide with a load. */
static void tune_all(const struct disturbance *by, bool limited)
{
    const int count = (int)integer_variable("NICBARR_SEEDS", SEEDS);
    uint64_t seed = integer_variable("NICBARR_FIRST_SEED", 1);
    double *regrets = calloc((size_t)count, sizeof(*regrets));
    double batches = 0, over_us = 0;
    int provisional = 0, bad = 0, first_bad = 0;
    assert_non_null(regrets);
    for (int s = 0; s < count; ++s) {
        struct machine machine = make_machine(crew_random(&seed), by, NICBARR_CONTESTANTS);
        struct outcome outcome;
        (void)tune(&machine, limited, &outcome);
        regrets[s] = outcome.regret;
        bad += outcome.regret > 0.05;
        first_bad += outcome.first_regret > 0.05;
        batches += outcome.batches;
        provisional += outcome.provisional;
        over_us = fmax(over_us, outcome.over_us);
    }
    qsort(regrets, (size_t)count, sizeof(*regrets), ascending);
    print_message(
        "%s%s: median regret %.1f %%, maximum %.1f %%; above 5 %%: %d of %d (%d "
        "after the first batch); %.1f batches; %d provisional; budget exceeded by %.0f us\n",
        by->name, limited ? ", small batches" : "", 100 * regrets[count / 2],
        100 * regrets[count - 1], bad, count, first_bad, batches / count, provisional, over_us);
    assert_true(regrets[count / 2] <= 0.03);
    assert_true(bad <= (count < 1000 ? 1 : 0) + count * (limited ? 3 : 1) / 100);
    assert_true(over_us <= budget_us / 2 + 1e4);
    free(regrets);
}

TEST(machines)
{
    for (size_t m = 0; m < MACHINES; ++m) {
        tune_all(&disturbances[m], false);
        tune_all(&disturbances[m], true);
    }
}

/* Returns a candidate at least 30 % slower than the best one, or -1 if there is none. */
static int find_bad(struct machine *machine)
{
    const int first = (int)crew_below(&machine->random, (uint32_t)machine->count);
    for (int c = 0; c < machine->count; ++c) {
        const int candidate = (first + c) % machine->count;
        if (regret_of(machine, candidate) > 0.3) {
            return candidate;
        }
    }
    return -1;
}

/* Check that a bad choice is replaced soon: one from the cache, or (`changed`) one that was in use
 * for a long time until the machine changed. If the machine's speed changes as fast as the
 * candidates of a comparison alternate, another comparison may be necessary. */
static void check_recovery(const struct disturbance *by, bool changed)
{
    const int count = (int)integer_variable("NICBARR_SEEDS", SEEDS);
    uint64_t seed = integer_variable("NICBARR_FIRST_SEED", 1);
    const long first = changed ? NICBARR_PAUSE_MOST : 0, soon = changed ? 10000 : 2000;
    int bad_choices = 0, late = 0;
    double sum = 0;
    for (int s = 0; s < count; ++s) {
        struct machine machine = make_machine(crew_random(&seed), by, NICBARR_CONTESTANTS);
        const int bad = find_bad(&machine);
        if (bad < 0) {
            continue;
        }
        struct watch watch = begin_watch(&machine, bad, changed);
        watch.pause = changed ? NICBARR_PAUSE_MOST : watch.pause;
        while (regret_of(&machine, watch.chosen) > 0.05 && watch.barriers < 4 * first + 100000) {
            play_watch(&machine, &watch);
        }
        ++bad_choices;
        late += watch.barriers > first + soon;
        sum += (double)watch.barriers;
    }
    print_message(
        "%s: a bad choice is replaced after %.0f barriers; after more than %ld in %d of %d\n",
        by->name, sum / bad_choices, first + soon, late, bad_choices);
    const bool fast = by->speed_period_us > 0 && by->speed_period_us < budget_us;
    assert_true(late <= 1 + bad_choices / (fast ? 10 : changed ? 25 : 50));
}

TEST(bad_choices_are_replaced)
{
    static const struct disturbance none = {.name = "a machine that has changed"};
    for (size_t m = 0; m < MACHINES; ++m) {
        check_recovery(&disturbances[m], false);
    }
    check_recovery(&none, true);
}

/* Check that the best choice is kept, or replaced by one that is hardly worse. Re-evaluation
 * takes a small part of the barriers' time. */
static void check_stability(const struct disturbance *by, bool measured, long barriers,
                            double most_cost)
{
    const int count = (int)integer_variable("NICBARR_SEEDS", SEEDS);
    uint64_t seed = integer_variable("NICBARR_FIRST_SEED", 1);
    long switches = 0, bad = 0, comparisons = 0;
    double cost = 0, most = 0;
    for (int s = 0; s < count; ++s) {
        struct machine machine = make_machine(crew_random(&seed), by, NICBARR_CONTESTANTS);
        const int best = best_of(&machine);
        struct watch watch = begin_watch(&machine, best, measured);
        while (watch.barriers < barriers) {
            play_watch(&machine, &watch);
        }
        const double share = watch.extra_us / (machine.costs[best] * (double)watch.barriers);
        cost += share / count;
        most = fmax(most, share);
        switches += watch.switches;
        comparisons += watch.comparisons;
        bad += regret_of(&machine, watch.chosen) > 0.05;
    }
    print_message(
        "%s, %s: the best choice was replaced in %ld of %ld comparisons, by one more than 5 %% "
        "slower in %ld of %d jobs; watching took %.2f %% (at most %.2f %%)\n",
        by->name, measured ? "measured" : "cached", switches, comparisons, bad, count, 100 * cost,
        100 * most);
    assert_true(bad <= 1 + count / 100);
    assert_true(cost < most_cost);
}

/* A choice from the cache is soon challenged by all other candidates, which takes the time of
 * some 300 barriers, and more if ranks arrive late, when slow candidates are harder to detect. */
TEST(good_choices_are_kept)
{
    for (size_t m = 0; m < MACHINES; ++m) {
        check_stability(&disturbances[m], true, 500000, 0.01);
        check_stability(&disturbances[m], false, 20000, 0.1);
    }
}

/* Check collectives that carry data, with two candidates: a bad choice from the cache is
 * replaced within the first seconds of a job (later if there is a varying load), and the best
 * one is kept. Measuring again takes at most 1 % of the time. */
static void check_remeasuring(const struct disturbance *by)
{
    const int count = (int)integer_variable("NICBARR_SEEDS", SEEDS);
    uint64_t seed = integer_variable("NICBARR_FIRST_SEED", 1);
    int bad_choices = 0, late = 0, wrong = 0;
    double sum_us = 0, most = 0;
    for (int s = 0; s < count; ++s) {
        struct machine machine = make_machine(crew_random(&seed), by, 2);
        const int best = best_of(&machine);
        const bool bad = regret_of(&machine, !best) > 0.3;
        struct data_watch watch = {.chosen = bad ? !best : best,
                                   .pause = nicbarr_remeasure_pause(0, false),
                                   .began_us = machine.clock_us};
        double given_up_us = 0;
        while (machine.clock_us - watch.began_us < 60e6) {
            play_data_watch(&machine, &watch);
            if (0 == given_up_us && regret_of(&machine, watch.chosen) <= 0.05) {
                given_up_us = machine.clock_us - watch.began_us;
            }
        }
        bad_choices += bad;
        late += bad && !(given_up_us > 0 && given_up_us < 10e6);
        sum_us += bad ? given_up_us : 0;
        wrong += regret_of(&machine, watch.chosen) > 0.05;
        most = fmax(most, watch.spent_us / (machine.clock_us - watch.began_us));
    }
    print_message(
        "%s, data: a bad choice is replaced after %.2f s; after more than 10 s in %d of %d; at "
        "the end one more than 5 %% slower in %d of %d; watching took at most %.2f %%\n",
        by->name, sum_us / fmax(bad_choices, 1) / 1e6, late, bad_choices, wrong, count, 100 * most);
    assert_true(late <= 1 + bad_choices / (by->load_us > 0 ? 10 : 50));
    assert_true(wrong <= 1 + count / 100);
    assert_true(most < 0.012); /* a batch may exceed its budget */
}

TEST(data_is_remeasured)
{
    for (size_t m = 0; m < MACHINES; ++m) {
        check_remeasuring(&disturbances[m]);
    }
}
