/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rings of real processes. Invariants. Every reader reads what the round's writer wrote, each byte,
 * whoever writes which round. No slot is used again before all have passed its round: a writer that
 * runs ahead of a reader waits, and loses nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "libmyr/ring.h"
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

static void take_part(struct member *member, uint32_t writer)
{
    struct myr_ring *ring = &member->ring;
    const uint32_t round = ring->passed + 1;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_take_turns),
        cmocka_unit_test(a_writer_runs_ahead),
        cmocka_unit_test(wrap_around),
    };
    crew_watchdog();
    (void)crew_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
