/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests exchanges and rings, by which reductions and broadcasts within a node pass data, with real
 * processes that run in parallel and sleep in the kernel. A failure means that a collective returns
 * data of other ranks or other calls, or hangs. (tests/fibres/node_test.c preempts processes at any
 * point, on one core.)
 *
 * Invariants:
 *
 * - A process that finds a round ready reads exactly the bytes that all members, or the round's
 *   writer, wrote into it.
 * - No slot is reused before all have passed its round.
 * - This holds however far members run ahead of each other, whether they wait or poll, and when
 *   rounds wrap around.
 * - Either all processes get a ring's chunks or none does, and their memory is freed when all have
 *   left.
 */
#include <sched.h>

#include "libmyr/node/exchange.h"
#include "libmyr/node/ring.h"
#include "libmyr/node/segment.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { MOST = 8 /* members */ };

/* The parameters of a test, inherited by the members. */
struct crew {
    char dir[200];
    struct myr_segment *segment;
    struct myr_record *record;
    const struct myr_wait_policy *policy; /* NULL: members have different ones */
    uint32_t size, rounds;
    uint32_t start;       /* the round before the first one */
    enum myr_slots slots; /* of an exchange */
    uint64_t seed;
    /* Written by a member before it passes a round, and read by members that reuse its slot. */
    struct ledger {
        struct myr_passed of[MOST];
    } * ledger;
};

struct member {
    const struct crew *crew;
    uint64_t random;
    struct myr_waiter waiter;
    struct myr_exchange x; /* each test uses one of these */
    struct myr_ring ring;
};

/* Yielding, sleeping, and the default; the fourth policy is a different one for each member. */
static const struct myr_wait_policy policies[] = {{0, -1, 1000}, {0, 0, 1000}, {-1, 500, 1000}};
enum { POLICIES = 4 };

static void no_progress(void) {}

static void make_waiter(const struct crew *crew, uint32_t rank, struct myr_waiter *waiter)
{
    const struct myr_wait_policy *policy =
        NULL != crew->policy ? crew->policy : &policies[rank % 3];
    myr_waiter_init(waiter, crew->segment, no_progress, policy);
}

static void member_begin(struct member *member, uint32_t rank, const struct crew *crew)
{
    *member = (struct member){.crew = crew, .random = crew->seed ^ rank * 0x10001};
    make_waiter(crew, rank, &member->waiter);
    myr_exchange_init(&member->x, crew->record, &member->waiter, crew->size, rank, crew->slots);
    myr_ring_init(&member->ring, crew->record, &member->waiter, crew->size, rank);
    member->x.written = member->x.passed = member->x.all_passed = crew->start;
    member->ring.passed = member->ring.all_passed = crew->start;
}

/* ---- contents of rounds ---- */

static uint8_t byte_of(uint32_t rank, uint32_t round, uint32_t at)
{
    return (uint8_t)(round * 31 + rank * 7 + at + at / 97);
}

static void fill(void *to, uint32_t bytes, uint32_t rank, uint32_t round)
{
    for (uint32_t at = 0; at < bytes; ++at) {
        ((uint8_t *)to)[at] = byte_of(rank, round, at);
    }
}

static void check(const void *from, uint32_t bytes, uint32_t rank, uint32_t round)
{
    for (uint32_t at = 0; at < bytes; ++at) {
        const uint8_t seen = ((const uint8_t *)from)[at];
        CREW_CHECK(seen == byte_of(rank, round, at),
                   "read %u at %u of %u bytes that rank %u wrote in round %u", seen, at, bytes,
                   rank, round);
    }
}

/* Check that all have passed a slot's previous round, because a slot may be reused only then. */
static void check_free(const struct crew *crew, uint32_t rank, uint32_t round, uint32_t window)
{
    for (uint32_t r = 0; r < crew->size; ++r) {
        const uint32_t passed = myr_load_acquire(&crew->ledger->of[r].round);
        CREW_CHECK(myr_epoch_reached(passed, round - window),
                   "rank %u writes round %u, but rank %u has only passed %u", rank, round, r,
                   passed);
    }
}

static void record_passed(const struct crew *crew, uint32_t rank, uint32_t round)
{
    myr_store_release(&crew->ledger->of[rank].round, round);
}

/* ---- exchanges ---- */

static void write_one(struct member *member)
{
    struct myr_exchange *x = &member->x;
    check_free(member->crew, x->rank, x->written + 1, x->window);
    fill(myr_exchange_next(x), myr_exchange_width(x), x->rank, x->written + 1);
    myr_exchange_write(x);
}

static void read_one(struct member *member)
{
    struct myr_exchange *x = &member->x;
    for (uint32_t r = 0; r < x->size; ++r) {
        check(myr_exchange_payload(x, r), myr_exchange_width(x), r, x->passed + 1);
    }
    record_passed(member->crew, x->rank, x->passed + 1);
    myr_exchange_pass(x);
}

/* Wait until a round can be written, or until one can be read, and read it. */
static void await(struct myr_exchange *x, struct member *member)
{
    if (x->written == x->passed) {
        myr_exchange_await_room(x);
        CREW_CHECK(myr_exchange_room(x), "no slot is free after waiting for one");
    } else {
        myr_exchange_await(x);
        read_one(member);
    }
}

/* Write some rounds while slots are free, then read the available rounds, or wait for one. Some
 * members only poll, and some only wait. */
static void exchange(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    struct myr_exchange *x = &member.x;
    const uint32_t last = member.crew->start + member.crew->rounds;
    const uint32_t kind = crew_below(&member.random, 3);
    while (last != x->passed) {
        crew_dawdle(&member.random);
        const bool waits = 2 == kind ? 0 == crew_below(&member.random, 2) : 0 != kind;
        const uint32_t most = 1 + crew_below(&member.random, 2 * member.x.window);
        uint32_t taken = 0;
        for (uint32_t n = 0; n < most && last != x->written && myr_exchange_room(x); ++n) {
            write_one(&member);
        }
        if (waits) {
            await(x, &member);
            continue;
        }
        while (taken < most && x->written != x->passed && myr_exchange_ready(x)) {
            read_one(&member);
            ++taken;
        }
        if (0 == taken) {
            sched_yield();
        }
    }
}

/* ---- rings ---- */

/* Sometimes poll until the next round can be written or read, instead of waiting. */
static void poll_sometimes(struct member *member, bool writes)
{
    struct myr_ring *ring = &member->ring;
    if (0 == crew_below(&member->random, 2)) {
        while (!(writes ? myr_ring_room(ring) : myr_ring_has(ring))) {
            sched_yield();
        }
        CREW_CHECK(!writes || ring->passed - ring->all_passed < MYR_RING_WINDOW,
                   "rank %u would wait although a slot for round %u is free", ring->rank,
                   ring->passed + 1);
    }
}

/* Write or read a round. Its bytes are in the slot, or in the slot's chunk, in which case the
 * slot's info is their number. */
static void play_round(struct member *member, uint32_t writer, uint32_t bytes, bool chunk)
{
    struct myr_ring *ring = &member->ring;
    const uint32_t round = ring->passed + 1;
    poll_sometimes(member, writer == ring->rank);
    if (writer == ring->rank) {
        void *payload = myr_ring_next(ring);
        check_free(member->crew, writer, round, MYR_RING_WINDOW);
        fill(chunk ? myr_ring_chunk(ring) : payload, bytes, writer, round);
        record_passed(member->crew, ring->rank, round);
        myr_ring_write(ring, bytes);
    } else {
        const struct myr_slot *slot = myr_ring_await(ring);
        CREW_CHECK(bytes == myr_load_relaxed(&slot->info), "rank %u reads the info %u in round %u",
                   ring->rank, slot->info, round);
        check(chunk ? (const void *)myr_ring_chunk(ring) : slot->payload, bytes, writer, round);
        record_passed(member->crew, ring->rank, round);
        myr_ring_pass(ring);
    }
}

/* Play rounds whose bytes are in slots, or in chunks, which each member requests at a different
 * time. The writer is random, or it is always rank 0, which may run ahead of the last rank. */
static void ring(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    const struct crew *crew = member.crew;
    uint64_t random = crew->seed; /* the same sequence on all members */
    const bool one_writer = 0 == crew_below(&random, 2);
    /* If the start is not 0, run() has also overwritten the reference to the chunks. */
    const uint32_t chunks_from =
        0 == crew->start ? 1 + crew_below(&random, crew->rounds) : UINT32_MAX;
    for (uint32_t r = 0; r < crew->rounds; ++r) {
        const uint32_t writer = one_writer ? 0 : crew_below(&random, crew->size);
        const bool chunk = r >= chunks_from && 0 != crew_below(&random, 2);
        const uint32_t most = chunk ? MYR_RING_CHUNK : MYR_SLOT_BYTES;
        if (!one_writer || rank + 1 == crew->size) {
            crew_dawdle(&member.random);
        }
        if (r == chunks_from) {
            CREW_CHECK(myr_ring_get_chunks(&member.ring, crew->segment), "rank %u has no chunks",
                       rank);
        }
        play_round(&member, writer, 1 + crew_below(&random, most), chunk);
    }
}

/* ---- tests ---- */

static void run(crew_fn fn, int way, uint32_t size, uint32_t rounds, uint32_t start,
                enum myr_slots slots)
{
    static uint64_t runs;
    const size_t bytes = exchange == fn ? myr_exchange_bytes(size, slots) : myr_ring_bytes(size);
    const struct myr_key key = {1, 2, 3, 4};
    struct crew crew = {
        .policy = way < 3 ? &policies[way] : NULL,
        .size = size,
        .rounds = rounds,
        .start = start,
        .slots = slots,
        .seed = crew_seed() + 1000 * ++runs,
        .ledger = crew_memory(sizeof(*crew.ledger)),
    };
    crew_dir_make(crew.dir, sizeof(crew.dir));
    assert_int_equal(myr_segment_join(crew.dir, 2 << 20, &crew.segment, NULL), MYR_OK);
    crew.record = myr_record_join(crew.segment, &key, 1, bytes, 0, NULL);
    assert_non_null(crew.record);
    for (uint32_t r = 0; r < size; ++r) {
        crew.ledger->of[r].round = start;
    }
    /* Pretend that all previous rounds are complete. */
    struct myr_slot *lines = (struct myr_slot *)crew.record->slots;
    for (size_t l = 0; l < bytes / sizeof(*lines); ++l) {
        lines[l].round = lines[l].info = start;
    }
    if (!crew_run(size, fn, &crew)) {
        fail_msg("%u members, wait policy %d, from round %u", size, way, start + 1);
    }
    myr_record_leave(crew.segment, crew.record);
    myr_segment_leave(crew.segment);
    crew_memory_free(crew.ledger, sizeof(*crew.ledger));
    crew_dir_remove(crew.dir);
}

static void run_all(crew_fn fn, uint32_t rounds, uint32_t start, enum myr_slots slots)
{
    for (int way = 0; way < POLICIES; ++way) {
        for (uint32_t size = 1; size <= MOST; size += 1 + size / 3) { /* 1, 2, 3, 5, 7 */
            run(fn, way, size, rounds, start, slots);
        }
    }
}

TEST(exchanges)
{
    run_all(exchange, 300, 0, MYR_SLOTS_LINE);
    run_all(exchange, 60, UINT32_MAX - 30, MYR_SLOTS_LINE);
    run_all(exchange, 60, INT32_MAX - 30, MYR_SLOTS_LINE);
    run_all(exchange, 60, 0, MYR_SLOTS_WIDE);
    run_all(exchange, 40, UINT32_MAX - 20, MYR_SLOTS_WIDE);
    run_all(exchange, 20, UINT32_MAX - 10, MYR_SLOTS_LARGE);
}

TEST(rings)
{
    run_all(ring, 150, 0, MYR_SLOTS_LINE);
    run_all(ring, 150, 0, MYR_SLOTS_LINE);
    run_all(ring, 100, UINT32_MAX - 50, MYR_SLOTS_LINE);
    run_all(ring, 100, INT32_MAX - 50, MYR_SLOTS_LINE);
}

/* Rings of a single process are created in a segment that has memory for the chunks of only some
 * of them. */
TEST(no_space_for_chunks)
{
    enum { RINGS = 12 };
    struct crew crew = {.policy = NULL};
    struct myr_waiter waiter;
    struct myr_ring ring[RINGS];
    assert_int_equal(myr_segment_join(NULL, 4 << 20, &crew.segment, NULL), MYR_OK);
    make_waiter(&crew, 0, &waiter);
    uint32_t at_first = 0;
    for (int again = 0; again < 3; ++again) {
        uint32_t have = 0;
        for (uint32_t r = 0; r < RINGS; ++r) {
            const struct myr_key key = {1, 2, 3, r};
            struct myr_record *record = /* always succeeds */
                myr_record_join(crew.segment, &key, 1, myr_ring_bytes(1), 0, NULL);
            assert_non_null(record);
            myr_ring_init(&ring[r], record, &waiter, 1, 0);
            const size_t alone = myr_ring_taken(&ring[r]);
            const bool got = myr_ring_get_chunks(&ring[r], crew.segment);
            assert_int_equal(got, myr_ring_get_chunks(&ring[r], crew.segment));
            assert_int_equal(got, NULL != ring[r].chunks);
            assert_int_equal(got, myr_ring_taken(&ring[r]) > alone);
            have += got;
        }
        assert_in_range(have, 1, RINGS - 1);
        at_first = 0 == again ? have : at_first;
        assert_int_equal(have, at_first); /* freed memory is available again */
        for (uint32_t r = 0; r < RINGS; ++r) {
            myr_ring_leave(&ring[r], crew.segment);
        }
    }
    myr_segment_leave(crew.segment);
}
