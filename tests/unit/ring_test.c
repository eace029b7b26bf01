/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of real processes. Invariants. Every reader reads what the round's writer wrote, each byte,
 * whoever writes which round. No slot is used again before all have passed its round: a writer that
 * runs ahead of a reader waits, and loses nothing. The same holds for pieces. All processes get
 * them or none does, and their memory is free again when all have left.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "libmyr/node/ring.h"
#include "tests/unit/slots_common.h"

struct member {
    const struct slots_test *test;
    uint64_t random;
    struct myr_waiter waiter;
    struct myr_ring ring;
};

static void member_begin(struct member *member, uint32_t rank, void *context)
{
    const struct slots_test *test = context;
    *member = (struct member){.test = test, .random = test->seed ^ rank * 0x10001};
    slots_waiter(test, rank, &member->waiter);
    myr_ring_init(&member->ring, test->record, &member->waiter, test->size, rank);
    member->ring.passed = member->ring.all_passed = test->start;
}

/* Now and then, a process looks itself until the next round can be written, or read. */
static void look(struct member *member, bool writes)
{
    struct myr_ring *ring = &member->ring;
    if (0 == crew_below(&member->random, 2)) {
        while (!(writes ? myr_ring_room(ring) : myr_ring_has(ring))) {
            sched_yield();
        }
        CREW_CHECK(!writes || ring->passed - ring->all_passed < MYR_RING_WINDOW,
                   "rank %u is to write round %u, and would wait", ring->rank, ring->passed + 1);
    }
}

static void take_part(struct member *member, uint32_t writer)
{
    struct myr_ring *ring = &member->ring;
    const uint32_t round = ring->passed + 1;
    look(member, writer == ring->rank);
    if (writer == ring->rank) {
        void *payload = myr_ring_next(ring);
        slots_check_free(member->test, writer, round, MYR_RING_WINDOW);
        slots_fill(payload, writer, round);
        slots_note(member->test, ring->rank, round);
        myr_ring_write(ring, round * 3);
    } else {
        const struct myr_slot *slot = myr_ring_await(ring);
        slots_check(slot->payload, writer, round, ring->rank);
        CREW_CHECK(round * 3 == myr_glance(&slot->note), "rank %u finds the note %u in round %u",
                   ring->rank, slot->note, round);
        slots_note(member->test, ring->rank, round);
        myr_ring_pass(ring);
    }
}

/* Everybody writes some time. */
static void goes_round(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    uint64_t random = member.test->seed; /* the same for all */
    for (uint32_t r = 0; r < member.test->rounds; ++r) {
        crew_dawdle(&member.random);
        take_part(&member, crew_below(&random, member.test->size));
    }
}

/* One writes all, as fast as it can; the last one reads slowly. */
static void runs_ahead(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    for (uint32_t r = 0; r < member.test->rounds; ++r) {
        if (rank + 1 == member.test->size && 0 != rank) {
            crew_dawdle(&member.random);
        }
        take_part(&member, 0);
    }
}

/* ---- pieces ---- */

static uint8_t piece_byte(uint32_t writer, uint32_t round, uint32_t at)
{
    return (uint8_t)(writer * 11 + round * 5 + at / 97);
}

static void write_piece(struct myr_ring *ring, uint32_t bytes)
{
    (void)myr_ring_next(ring);
    uint8_t *piece = myr_ring_piece(ring);
    for (uint32_t at = 0; at < bytes; ++at) {
        piece[at] = piece_byte(ring->rank, ring->passed + 1, at);
    }
    myr_ring_write(ring, bytes);
}

static void read_piece(struct myr_ring *ring, uint32_t writer)
{
    const uint32_t bytes = myr_glance(&myr_ring_await(ring)->note);
    const uint8_t *piece = myr_ring_piece(ring);
    for (uint32_t at = 0; at < bytes; ++at) {
        CREW_CHECK(piece_byte(writer, ring->passed + 1, at) == piece[at],
                   "rank %u reads %u at %u of %u in round %u of rank %u", ring->rank, piece[at], at,
                   bytes, ring->passed + 1, writer);
    }
    myr_ring_pass(ring);
}

/* The pieces are asked for when rounds were played already, by each when it comes to it. */
static void pieces(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    take_part(&member, 0);
    crew_dawdle(&member.random);
    CREW_CHECK(myr_ring_get_pieces(&member.ring, member.test->segment), "rank %u has none", rank);
    uint64_t random = member.test->seed; /* the same for all */
    for (uint32_t r = 0; r < member.test->rounds; ++r) {
        const uint32_t writer = r < MYR_RING_WINDOW ? 0 : crew_below(&random, member.test->size);
        const uint32_t bytes = 1 + crew_below(&random, MYR_RING_PIECE);
        crew_dawdle(&member.random);
        if (writer == rank) {
            write_piece(&member.ring, bytes);
        } else {
            read_piece(&member.ring, writer);
        }
    }
}

/* ---- tests ---- */

static void run_all(crew_fn fn, uint32_t rounds, uint32_t start)
{
    for (int way = 0; way < 4; ++way) {
        for (uint32_t size = 1; size <= SLOTS_MOST; size += 1 + size / 3) { /* 1, 2, 3, 5, 7 */
            slots_run(fn, way, size, rounds, start, myr_ring_bytes(size));
        }
    }
}

static void writers_take_turns(void **state)
{
    (void)state;
    run_all(goes_round, 200, 0);
}

static void a_writer_runs_ahead(void **state)
{
    (void)state;
    run_all(runs_ahead, 300, 0);
}

static void wrap_around(void **state)
{
    (void)state;
    run_all(goes_round, 100, UINT32_MAX - 50);
    run_all(runs_ahead, 100, INT32_MAX - 50);
}

static void pieces_beside_the_slots(void **state)
{
    (void)state;
    run_all(pieces, 80, 0);
}

/* Rings of one process, on a segment with room for few pieces in its first half. */
enum { RINGS = 12 };

static void get_ring(struct myr_segment *segment, struct myr_waiter *waiter, uint64_t number,
                     struct myr_ring *ring)
{
    const struct myr_key key = {1, 2, 3, number};
    struct myr_record *record = myr_record_join(segment, &key, 1, myr_ring_bytes(1), 0, NULL);
    assert_non_null(record);
    myr_ring_init(ring, record, waiter, 1, 0);
}

static void no_room_for_pieces(void **state)
{
    (void)state;
    struct slots_test test = {.patience = NULL};
    struct myr_waiter waiter;
    struct myr_ring ring[RINGS];
    assert_int_equal(myr_segment_join(NULL, 4 << 20, &test.segment, NULL), MYR_OK);
    slots_waiter(&test, 0, &waiter);
    uint32_t at_first = 0;
    for (int again = 0; again < 3; ++again) {
        uint32_t have = 0;
        for (uint32_t r = 0; r < RINGS; ++r) {
            get_ring(test.segment, &waiter, r, &ring[r]); /* there is always room for a record */
            const size_t alone = myr_ring_taken(&ring[r]);
            const bool got = myr_ring_get_pieces(&ring[r], test.segment);
            assert_int_equal(got, myr_ring_get_pieces(&ring[r], test.segment));
            assert_int_equal(got, NULL != ring[r].pieces);
            assert_int_equal(got, myr_ring_taken(&ring[r]) > alone);
            have += got;
        }
        assert_in_range(have, 1, RINGS - 1);
        at_first = 0 == again ? have : at_first;
        assert_int_equal(have, at_first); /* what was given back is there again */
        for (uint32_t r = 0; r < RINGS; ++r) {
            myr_ring_leave(&ring[r], test.segment);
        }
    }
    myr_segment_leave(test.segment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_take_turns), cmocka_unit_test(a_writer_runs_ahead),
        cmocka_unit_test(wrap_around),        cmocka_unit_test(pieces_beside_the_slots),
        cmocka_unit_test(no_room_for_pieces),
    };
    crew_watchdog();
    (void)crew_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
