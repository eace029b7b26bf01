/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that collectives in the node's shared memory (libmyr/node) return correct results and never
 * hang, however the ranks are scheduled. Random programs run with ranks as fibres (fibres.h).
 *
 * All ranks follow one plan, as in an MPI program. They create and free communicators over random
 * ranks, on which they call:
 *
 * - blocking and split-phase barriers with any layout of words;
 * - reductions through an exchange;
 * - broadcasts through a ring, with or without segmentation;
 * - reductions that each rank starts from within progress at random times, as MPI_Comm_idup does.
 *
 * Memory may run out in any of these calls. Invariants:
 *
 * - All results are correct, as computed by arithmetic alone.
 * - No rank leaves a barrier before all have entered it.
 * - Either all members of a communicator get a record or none does.
 * - No rank waits for ever, and no record is left at the end.
 *
 * NICBARR_PROGRAMS=N runs N programs. Each has a seed of its own, which is printed if the program
 * fails; NICBARR_SEED=SEED NICBARR_PROGRAMS=1 repeats that program alone.
 */
#include "coll_nicbarr/schedule.h"
#include "libmyr/node/exchange.h"
#include "libmyr/node/node_group.h"
#include "libmyr/node/ring.h"
#include "libmyr/node/segment.h"
#include "tests/fibres/fibres.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    RANKS = 5,
    COMMS = 4,
    OPS = 60,
    IN_PROGRESS = 30, /* reductions of a communicator from within progress */
    WORDS = MYR_SLOT_BYTES / 8,
    PLAN_BYTES = 4096,       /* size of a record for the words of any layout */
    BLOCKS_MOST = 100000000, /* basic blocks; programs need about one per cent of this */
    PROGRAMS = 300,
};

enum what { GROUP, BLOCKING, PROGRESS, RING, WHATS };
enum kind { OPEN, CLOSE, BARRIER, SPLIT, REDUCE, BCAST, KINDS };

struct op {
    enum kind kind;
    uint32_t comm, root, choice;
    uint32_t bytes; /* BCAST: if larger than a slot's capacity, the data are sent in chunks */
    uint32_t in_background; /* OPEN: number of reductions from within progress */
    uint32_t times;         /* REDUCE, BCAST: consecutive calls */
    /* Written by the ranks: */
    uint32_t entered;       /* ranks that have entered, one bit for each */
    uint32_t had[WHATS][2]; /* OPEN: ranks without and with such a record */
};

/* A rank's view of a communicator. */
struct side {
    const struct op *open; /* NULL if it is closed, or this rank is no member */
    uint32_t number;       /* the number of that operation */
    uint32_t rank, size;   /* this rank's number in the communicator, and the communicator's size */
    bool has[WHATS];
    struct myr_group group;
    /* for blocking calls, and for reductions from within progress */
    struct myr_exchange exchange[2];
    struct myr_ring ring;
    uint32_t issued, completed; /* reductions from within progress */
    uint32_t round[WHATS];
};

/* The plan of the program, and its state. */
static struct program {
    uint64_t seed;
    bool mixed; /* reintroduce the known defect: both kinds of reductions use one exchange */
    uint32_t size, members[COMMS], ops;
    struct op op[OPS + COMMS];
    struct myr_segment *segment;
    struct myr_waiter waiter;
    struct side side[RANKS][COMMS];
    uint64_t random[RANKS]; /* each rank's generator */
    bool in_progress[RANKS];
} program;

/* ---- the plan ---- */

static const char *const choices[] = {"dissemination:1", "dissemination:2", "dissemination:3",
                                      "pairwise",        "tree:1",          "tree:2"};
enum { MESSAGES = sizeof(choices) / sizeof(choices[0]), CHOICES = MESSAGES + 4 };

static uint32_t bits(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

static void add(uint64_t *random, enum kind kind, uint32_t comm)
{
    program.op[program.ops++] = (struct op){
        .kind = kind,
        .comm = comm,
        .root = crew_below(random, bits(program.members[comm])),
        .choice = crew_below(random, CHOICES),
        .bytes = 0 == crew_below(random, 3) ? MYR_SLOT_BYTES + 8 : 8,
        .in_background = crew_below(random, IN_PROGRESS),
        .times = 0 == crew_below(random, 4) ? crew_below(random, 3 * MYR_RING_WINDOW) : 1};
}

static void draw(uint64_t seed, bool mixed)
{
    uint64_t random = seed;
    bool open[COMMS] = {false};
    memset(&program, 0, sizeof(program));
    program.seed = seed;
    program.mixed = mixed;
    program.size = 2 + crew_below(&random, RANKS - 1);
    for (uint32_t c = 0; c < COMMS; ++c) {
        do {
            program.members[c] = crew_below(&random, UINT32_C(1) << program.size);
        } while (0 == program.members[c]);
    }
    while (program.ops < OPS) {
        const uint32_t comm = crew_below(&random, COMMS);
        const enum kind kind = (enum kind)(CLOSE + crew_below(&random, KINDS - CLOSE));
        if (!open[comm]) {
            add(&random, OPEN, comm);
            open[comm] = true;
        } else if (CLOSE != kind || 0 == crew_below(&random, 4)) {
            add(&random, kind, comm);
            open[comm] = CLOSE != kind;
        }
    }
    for (uint32_t c = 0; c < COMMS; ++c) {
        if (open[c]) {
            add(&random, CLOSE, c);
        }
    }
    for (uint32_t r = 0; r < RANKS; ++r) {
        program.random[r] = crew_random(&random);
    }
}

/* ---- values ---- */

static uint64_t value(const struct side *side, enum what what, uint32_t round, uint32_t rank)
{
    uint64_t state =
        ((uint64_t)side->number << 40) + ((uint64_t)what << 36) + ((uint64_t)rank << 32) + round;
    return crew_random(&state);
}

static void fill(uint64_t *words, uint32_t count, uint64_t first)
{
    for (uint32_t w = 0; w < count; ++w) {
        words[w] = first + w;
    }
}

static void expect(const uint64_t *words, uint32_t count, uint64_t first, const char *of)
{
    for (uint32_t w = 0; w < count; ++w) {
        CREW_CHECK(first + w == words[w], "NICBARR_SEED=0x%llx: rank %u: word %u of a %s is wrong",
                   (unsigned long long)program.seed, fibres_rank(), w, of);
    }
}

/* ---- reductions ---- */

static void contribute(struct side *side, struct myr_exchange *x, enum what what, uint32_t round)
{
    fill(myr_exchange_next(x), WORDS, value(side, what, round, side->rank));
    myr_exchange_write(x);
}

static void take(struct side *side, struct myr_exchange *x, enum what what, uint32_t round)
{
    for (uint32_t r = 0; r < side->size; ++r) {
        expect(myr_exchange_payload(x, r), WORDS, value(side, what, round, r), "reduction");
    }
    myr_exchange_pass(x);
}

static void reduce(struct side *side)
{
    struct myr_exchange *x = &side->exchange[0];
    const uint32_t round = ++side->round[BLOCKING];
    if (!myr_exchange_room(x)) {
        myr_exchange_await_room(x);
    }
    contribute(side, x, BLOCKING, round);
    myr_exchange_await(x);
    take(side, x, BLOCKING, round);
}

/* Issue or complete a reduction from within progress. */
static void go_on(struct side *side)
{
    struct myr_exchange *x = &side->exchange[!program.mixed];
    if (side->issued < side->open->in_background && myr_exchange_room(x)) {
        contribute(side, x, PROGRESS, ++side->issued);
    }
    if (side->completed < side->issued && myr_exchange_ready(x)) {
        take(side, x, PROGRESS, ++side->completed);
    }
}

static void progress(void)
{
    const uint32_t rank = fibres_rank();
    struct side *side = &program.side[rank][crew_below(&program.random[rank], COMMS)];
    if (NULL != side->open && side->has[PROGRESS] && !program.in_progress[rank]) {
        program.in_progress[rank] = true;
        go_on(side);
        program.in_progress[rank] = false;
    }
}

/* ---- broadcasts ---- */

static void broadcast(struct side *side, const struct op *op)
{
    struct myr_ring *ring = &side->ring;
    const uint32_t round = ++side->round[RING];
    const bool chunk = op->bytes > MYR_SLOT_BYTES && myr_ring_get_chunks(ring, program.segment);
    const uint64_t first = value(side, RING, round, op->root);
    const uint32_t words = chunk ? MYR_RING_CHUNK / 8 : WORDS;
    if (op->root == side->rank) {
        void *payload = myr_ring_next(ring);
        fill(chunk ? (void *)myr_ring_chunk(ring) : payload, words, first);
        myr_ring_write(ring, round);
    } else {
        const struct myr_slot *slot = myr_ring_await(ring);
        expect((const void *)(chunk ? myr_ring_chunk(ring) : slot->payload), words, first,
               "broadcast");
        myr_ring_pass(ring);
    }
}

/* ---- barriers ---- */

static bool schedule_of(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    const struct side *side = context;
    struct nicbarr_choice choice;
    return nicbarr_choice_parse(choices[side->open->choice], &choice) &&
           nicbarr_schedule_create(choice, side->size, rank, schedule);
}

static bool make_plan(struct side *side)
{
    static const uint32_t leaf_of[] = {0, 1, 1, 0, 1}, one_leaf[RANKS];
    struct myr_plan *plan = &side->group.plan;
    void *slots = myr_group_slots(&side->group);
    switch (side->open->choice) {
    case MESSAGES:
        return myr_plan_flags(plan, slots, side->size, side->rank, 4);
    case MESSAGES + 1:
        return myr_plan_flags(plan, slots, side->size, side->rank, MYR_LINE);
    case MESSAGES + 2:
        return myr_plan_counter(plan, slots, side->size, side->rank, 1, one_leaf);
    case MESSAGES + 3:
        return side->size < 2 ? myr_plan_counter(plan, slots, side->size, side->rank, 1, one_leaf)
                              : myr_plan_counter(plan, slots, side->size, side->rank, 2, leaf_of);
    default:
        return myr_plan_messages(plan, slots, side->rank, 2 * RANKS,
                                 0 == strncmp(choices[side->open->choice], "tree", 4), schedule_of,
                                 side);
    }
}

static void meet(struct side *side, struct op *op, bool split)
{
    op->entered |= UINT32_C(1) << fibres_rank();
    if (split) {
        struct myr_arrival arrival;
        myr_group_arrive(&side->group, &arrival);
        while (!myr_arrival_test(&arrival)) {
            progress();
        }
    } else {
        myr_group_barrier(&side->group);
    }
    CREW_CHECK(program.members[op->comm] == op->entered,
               "NICBARR_SEED=0x%llx: rank %u leaves a barrier of 0x%x when 0x%x have entered",
               (unsigned long long)program.seed, fibres_rank(), program.members[op->comm],
               op->entered);
}

/* ---- communicators ---- */

static struct myr_record *join(struct side *side, struct op *op, enum what what, size_t bytes)
{
    const struct myr_key key = {1, side->number, program.members[op->comm], what};
    struct myr_record *record =
        myr_record_join(program.segment, &key, side->size, bytes, side->number, NULL);
    const bool has = NULL != record;
    op->had[what][has] |= UINT32_C(1) << fibres_rank();
    CREW_CHECK(0 == op->had[what][!has],
               "NICBARR_SEED=0x%llx: ranks 0x%x got a record and 0x%x did not",
               (unsigned long long)program.seed, op->had[what][1], op->had[what][0]);
    side->has[what] = has;
    return record;
}

static void open_comm(struct side *side, struct op *op)
{
    const uint32_t members = program.members[op->comm], rank = fibres_rank();
    *side = (struct side){.number = (uint32_t)(op - program.op) + 1,
                          .rank = bits(members & ((UINT32_C(1) << rank) - 1)),
                          .size = bits(members)};
    struct myr_waiter *waiter = &program.waiter;
    struct myr_record *record =
        join(side, op, GROUP, myr_group_arrival_bytes(side->size) + PLAN_BYTES);
    if (NULL != record) {
        side->open = op; /* for make_plan() */
        myr_group_init(&side->group, record, waiter, side->size, side->rank);
        CREW_CHECK(make_plan(side), "no plan");
        side->open = NULL;
    }
    for (uint32_t e = 0; e < 2; ++e) {
        const enum myr_slots slots = 0 == e ? MYR_SLOTS_LINE : MYR_SLOTS_LARGE;
        record = join(side, op, BLOCKING + e, myr_exchange_bytes(side->size, slots));
        if (NULL != record) {
            myr_exchange_init(&side->exchange[e], record, waiter, side->size, side->rank, slots);
        }
    }
    record = join(side, op, RING, myr_ring_bytes(side->size));
    if (NULL != record) {
        myr_ring_init(&side->ring, record, waiter, side->size, side->rank);
    }
    side->open = op;
}

static void close_comm(struct side *side)
{
    while (side->has[PROGRESS] && side->completed < side->open->in_background) {
        go_on(side);
    }
    side->open = NULL;
    if (side->has[GROUP]) {
        myr_plan_destroy(&side->group.plan);
        myr_record_leave(program.segment, side->group.record);
    }
    for (uint32_t e = 0; e < 2; ++e) {
        if (side->has[BLOCKING + e]) {
            myr_record_leave(program.segment, side->exchange[e].record);
        }
    }
    if (side->has[RING]) {
        myr_ring_leave(&side->ring, program.segment);
    }
}

/* ---- a rank ---- */

static void play(struct side *side, struct op *op)
{
    switch (op->kind) {
    case OPEN:
        open_comm(side, op);
        break;
    case CLOSE:
        close_comm(side);
        break;
    case BARRIER:
    case SPLIT:
        if (side->has[GROUP]) {
            meet(side, op, SPLIT == op->kind);
        }
        break;
    case REDUCE:
        for (uint32_t t = 0; side->has[BLOCKING] && t < op->times; ++t) {
            reduce(side);
        }
        break;
    default:
        for (uint32_t t = 0; side->has[RING] && t < op->times; ++t) {
            broadcast(side, op);
        }
    }
}

static void follow(uint32_t rank, void *context)
{
    (void)context;
    for (uint32_t o = 0; o < program.ops; ++o) {
        struct op *op = &program.op[o];
        if (0 != (program.members[op->comm] & UINT32_C(1) << rank)) {
            play(&program.side[rank][op->comm], op);
            progress();
        }
    }
}

/* ---- programs ---- */

static void count_record(struct myr_record *record, void *context)
{
    (void)record;
    ++*(uint32_t *)context;
}

static void play_program(uint64_t seed, bool mixed)
{
    static const uint32_t limits[] = {1 << 17, 1 << 18, 1 << 20, 1 << 22};
    static const struct myr_wait_policy polling = {INT32_MAX, -1, 1000};
    struct myr_error error = {0};
    uint32_t left = 0;
    draw(seed, mixed);
    CREW_CHECK(MYR_OK == myr_segment_join(NULL, limits[seed % 4], &program.segment, &error), "%s",
               error.text);
    myr_waiter_init(&program.waiter, program.segment, progress, &polling);
    CREW_CHECK(fibres_run(seed, program.size, 1, BLOCKS_MOST, follow, NULL),
               "NICBARR_SEED=0x%llx: ranks hang", (unsigned long long)seed);
    myr_records_each(program.segment, count_record, &left);
    CREW_CHECK(0 == left, "NICBARR_SEED=0x%llx: %u records are left", (unsigned long long)seed,
               left);
    myr_segment_leave(program.segment);
}

static void play_programs(uint32_t rank, void *context)
{
    const bool mixed = *(const bool *)context;
    const uint64_t count = fibres_programs(PROGRAMS);
    (void)rank;
    if (mixed && NULL == freopen("/dev/null", "w", stderr)) {
        return;
    }
    for (uint64_t p = 0; p < count; ++p) {
        play_program(crew_seed() + p, mixed);
    }
    printf("%llu programs, %llu switches\n", (unsigned long long)count,
           (unsigned long long)fibres_switches());
    fflush(stdout);
}

static void random_programs(void **state)
{
    (void)state;
    bool mixed = false;
    (void)crew_seed();
    assert_true(crew_join(crew_fork(play_programs, 0, &mixed)));
}

/* Tests that a defect of the past (MPI_Comm_idup together with reductions) is found when it is
 * reintroduced. */
static void a_known_defect_is_found(void **state)
{
    (void)state;
    bool mixed = true;
    assert_false(crew_join(crew_fork(play_programs, 0, &mixed)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs),
        cmocka_unit_test(a_known_defect_is_found),
    };
    if (NULL == getenv("NICBARR_PROGRAMS")) {
        crew_watchdog();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
