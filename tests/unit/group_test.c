/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests barriers within a node in groups of real processes. A failure means that MPI_Barrier on one
 * node returns before all processes have entered it, or hangs.
 *
 * Invariants: no process leaves a barrier, or finds a split-phase one complete, before all have
 * entered it. After a barrier, all stores before it are visible. This holds whether all processes
 * poll, yield or sleep, or each of them waits in a different way, for any number of outstanding
 * split-phase barriers, and when epochs wrap around.
 *
 * The ledger is plain memory. A member writes its entry before a barrier, and all members read all
 * entries after it, so that missing memory ordering is detected by ThreadSanitizer, or on CPUs that
 * reorder stores.
 */
#include <sched.h>

#include "coll_nicbarr/schedule.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/segment.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    MOST = 8,         /* members */
    ROUNDS = 300,     /* barriers per test */
    OUTSTANDING = 12, /* maximum number of outstanding split-phase barriers of a member */
    SLOT_BYTES = 16384,
};

/* Wait policies. Polling has a limit, because the machine may be busy. */
static const struct myr_wait_policy polling = {20000, -1, 1000}, yielding = {0, -1, 1000},
                                    sleeping = {0, 0, 1000}, by_default = {-1, 500, 1000};

struct plan_of_test {
    char dir[200];
    struct myr_segment *segment; /* of a crew of threads */
    const char *choice;          /* a schedule, or a layout: packed, spread, counter, counters */
    const struct myr_wait_policy *policy; /* NULL: members have different ones */
    uint32_t size, rounds;
    uint32_t epoch; /* the initial epoch */
    uint64_t seed;
    struct ledger *ledger;
};

/* Entries of odd and even rounds, because a member may write its next entry while others, a
 * barrier behind, still read the last one. */
struct ledger {
    struct {
        _Alignas(MYR_LINE) uint32_t round[2];
    } of[MOST];
    struct {
        _Alignas(MYR_LINE) uint32_t entered[ROUNDS + 1]; /* split-phase barriers: one entry each */
    } split[MOST];
};

static void no_progress(void) {}

struct member {
    const struct plan_of_test *test;
    uint32_t rank;
    uint64_t random;
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct myr_group group;
    struct nicbarr_choice choice;
};

static bool schedule_of(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    const struct member *member = context;
    return nicbarr_schedule_create(member->choice, member->test->size, rank, schedule);
}

static bool make_plan(struct member *member)
{
    struct myr_group *group = &member->group;
    void *slots = myr_group_slots(group);
    const uint32_t size = group->size, rank = group->rank;
    const char *choice = member->test->choice;
    static const uint32_t leaf_of[MOST] = {0, 1, 2, 0, 0, 1, 2, 1};
    static const uint32_t one_leaf[MOST];
    if (0 == strcmp(choice, "packed")) {
        return myr_plan_flags(&group->plan, slots, size, rank, 4);
    }
    if (0 == strcmp(choice, "spread")) {
        return myr_plan_flags(&group->plan, slots, size, rank, MYR_LINE);
    }
    if (0 == strcmp(choice, "counter")) {
        return myr_plan_counter(&group->plan, slots, size, rank, 1, one_leaf);
    }
    if (0 == strcmp(choice, "counters")) {
        return myr_plan_counter(&group->plan, slots, size, rank, 4, leaf_of);
    }
    return nicbarr_choice_parse(choice, &member->choice) &&
           myr_plan_messages(&group->plan, slots, rank, 2 * MOST,
                             NICBARR_TREE == member->choice.algorithm, schedule_of, member);
}

/* Set the words to the state after epoch `epoch`. All members store the same values before any of
 * them continues. */
static void set_epoch(struct member *member, uint32_t epoch)
{
    struct myr_group *group = &member->group;
    myr_word **word = group->plan.words;
    group->epoch = group->arrived = epoch;
    myr_store_release(&group->arrivals[group->rank], epoch);
    if (NULL != group->plan.leaf) {
        myr_store_release(group->plan.release, epoch);
    }
    for (uint32_t s = 0; s < group->plan.nsteps; ++s) {
        for (uint32_t i = group->plan.steps[s].sends + group->plan.steps[s].waits; i > 0; --i) {
            myr_store_release(*word++, epoch);
        }
    }
}

/* Synchronize the members by polling a separate record, before the test begins. */
static void synchronize(struct member *member, uint64_t sequence)
{
    const struct myr_key key = {9, 9, 9, sequence};
    const uint32_t size = member->test->size;
    struct myr_record *record = myr_record_join(member->segment, &key, size, 128, 0, NULL);
    CREW_CHECK(NULL != record, "cannot join the record");
    myr_fetch_add((myr_word *)record->slots);
    while (myr_load_acquire((myr_word *)record->slots) != size) {
        sched_yield();
    }
    myr_record_leave(member->segment, record);
}

static void member_begin(struct member *member, uint32_t rank, void *context)
{
    static const struct myr_wait_policy *const all[] = {&polling, &yielding, &sleeping,
                                                        &by_default};
    const struct plan_of_test *test = context;
    struct myr_error error = {0};
    *member = (struct member){.test = test, .rank = rank, .random = test->seed ^ rank * 0x10001};
    member->segment = test->segment;
    if (NULL == member->segment) {
        CREW_CHECK(MYR_OK == myr_segment_join(test->dir, 1 << 20, &member->segment, &error), "%s",
                   error.text);
    }
    const struct myr_wait_policy *policy = NULL != test->policy ? test->policy : all[rank % 4];
    myr_waiter_init(&member->waiter, member->segment, no_progress, policy);
    const struct myr_key key = {1, 2, 3, 4};
    struct myr_record *record =
        myr_record_join(member->segment, &key, test->size,
                        myr_group_arrival_bytes(test->size) + SLOT_BYTES, 0, &error);
    CREW_CHECK(NULL != record, "%s", error.text);
    myr_group_init(&member->group, record, &member->waiter, test->size, rank);
    CREW_CHECK(make_plan(member), "no plan for %s", test->choice);
    if (0 != test->epoch) {
        set_epoch(member, test->epoch);
        synchronize(member, 1);
    }
}

static void member_end(struct member *member)
{
    myr_plan_destroy(&member->group.plan);
    myr_record_leave(member->segment, member->group.record);
    if (NULL == member->test->segment) {
        myr_segment_leave(member->segment);
    }
}

/* ---- the members ---- */

static void one_barrier(struct member *member, uint32_t round)
{
    struct ledger *ledger = member->test->ledger;
    crew_dawdle(&member->random);
    ledger->of[member->rank].round[round % 2] = round;
    myr_group_barrier(&member->group);
    for (uint32_t q = 0; q < member->test->size; ++q) {
        const uint32_t seen = ledger->of[q].round[round % 2];
        CREW_CHECK(seen == round, "rank %u left barrier %u, but rank %u has written %u",
                   member->rank, round, q, seen);
    }
}

static void do_barriers(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    for (uint32_t round = 1; round <= member.test->rounds; ++round) {
        one_barrier(&member, round);
    }
    member_end(&member);
}

/* Enter and test split-phase barriers in random order. After every fiftieth entry, all members
 * execute a blocking barrier. */
static void do_arrivals(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    const struct plan_of_test *test = member.test;
    struct ledger *ledger = test->ledger;
    struct myr_arrival arrivals[OUTSTANDING];
    uint32_t arrived = 0, complete = 0, barriers = 0;
    while (complete < test->rounds) {
        crew_dawdle(&member.random);
        if (arrived < test->rounds && arrived - complete < OUTSTANDING &&
            0 != crew_below(&member.random, 4)) {
            ++arrived;
            ledger->split[rank].entered[arrived] = arrived;
            myr_group_arrive(&member.group, &arrivals[arrived % OUTSTANDING]);
            if (0 == arrived % 50) { /* both kinds of barriers are independent */
                one_barrier(&member, ++barriers);
            }
            continue;
        }
        /* A random outstanding barrier is tested. If it is complete, the earlier ones are, too. */
        if (arrived == complete) {
            continue;
        }
        const uint32_t tried = complete + 1 + crew_below(&member.random, arrived - complete);
        if (!myr_arrival_test(&arrivals[tried % OUTSTANDING])) {
            sched_yield();
            continue;
        }
        for (; complete < tried; ++complete) {
            CREW_CHECK(myr_arrival_test(&arrivals[(complete + 1) % OUTSTANDING]),
                       "%u is complete, but %u, begun earlier, is not", tried, complete + 1);
            for (uint32_t q = 0; q < test->size; ++q) {
                const uint32_t seen = ledger->split[q].entered[complete + 1];
                CREW_CHECK(seen == complete + 1, "split barrier %u is complete without rank %u",
                           complete + 1, q);
            }
        }
    }
    member_end(&member);
}

/* ---- tests ---- */

static const char *const choices[] = {"packed",          "spread",   "counter",
                                      "counters",        "tree:2",   "tree:4",
                                      "dissemination:1", "pairwise", "dissemination:3"};

static void run(crew_fn fn, const char *choice, const struct myr_wait_policy *policy, uint32_t size,
                uint32_t rounds, uint32_t epoch)
{
    static uint64_t runs;
    struct plan_of_test test = {.choice = choice,
                                .policy = policy,
                                .size = size,
                                .rounds = rounds,
                                .epoch = epoch,
                                .seed = crew_seed() + 1000 * ++runs};
    crew_dir_make(test.dir, sizeof(test.dir));
    test.ledger = crew_memory(sizeof(*test.ledger));
    if (crew_of_threads()) {
        assert_int_equal(myr_segment_join(test.dir, 1 << 20, &test.segment, NULL), MYR_OK);
    }
    if (!crew_run(size, fn, &test)) {
        fail_msg("%s with %u members, from epoch %u", choice, size, epoch);
    }
    if (NULL != test.segment) {
        myr_segment_leave(test.segment);
    }
    crew_memory_free(test.ledger, sizeof(*test.ledger));
    crew_dir_remove(test.dir);
}

/* All algorithms are tested with all wait policies. Polling members delay those that have no
 * core, so that tests with them have few rounds and members. */
TEST(barriers)
{
    static const struct {
        const struct myr_wait_policy *policy;
        uint32_t sizes; /* bitmask of sizes */
        uint32_t rounds, epoch;
    } runs[] = {
        {&yielding, 0x1ae, ROUNDS, 0}, /* 1, 2, 3, 5, 7, 8 */
        {&sleeping, 0x1ae, ROUNDS, 0},
        {&by_default, 0x1ae, ROUNDS, 0},
        {&polling, 0x4, ROUNDS, 0},
        {&polling, 0x8, 30, 0},
        {NULL, 0x10, 60, 0},
        {NULL, 0x100, 20, 0},
        {&yielding, 0x10, 40, UINT32_MAX - 20}, /* epochs wrap around */
        {&sleeping, 0x8, 40, INT32_MAX - 20},
    };
    for (size_t c = 0; c < sizeof(choices) / sizeof(choices[0]); ++c) {
        for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); ++i) {
            for (uint32_t size = 1; size <= MOST; ++size) {
                if (0 != (runs[i].sizes >> size & 1)) {
                    run(do_barriers, choices[c], runs[i].policy, size, runs[i].rounds,
                        runs[i].epoch);
                }
            }
        }
    }
}

TEST(split)
{
    for (uint32_t size = 1; size <= MOST; ++size) {
        run(do_arrivals, "dissemination:1", &yielding, size, ROUNDS, 0);
        run(do_arrivals, "counters", &sleeping, size, ROUNDS, 0);
    }
    run(do_arrivals, "counter", &yielding, 4, 100, UINT32_MAX - 50);
    run(do_arrivals, "counter", &yielding, 3, 100, INT32_MAX - 50);
}
