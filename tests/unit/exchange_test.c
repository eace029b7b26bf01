/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges of real processes. Invariants. Whoever finds a round ready reads what every member
 * wrote into it, each byte. No slot is used again before all have passed its round. That holds
 * however far members run ahead of each other, whether they wait or look now and then, and across
 * the wrap-around of rounds.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <sched.h>
#include <cmocka.h>

#include "libmyr/node/exchange.h"
#include "tests/unit/slots_common.h"

struct member {
    const struct slots_test *test;
    uint64_t random;
    struct myr_waiter waiter;
    struct myr_exchange x;
};

static void member_begin(struct member *member, uint32_t rank, void *context)
{
    const struct slots_test *test = context;
    struct myr_exchange *x = &member->x;
    *member = (struct member){.test = test, .random = test->seed ^ rank * 0x10001};
    slots_waiter(test, rank, &member->waiter);
    myr_exchange_init(x, test->record, &member->waiter, test->size, rank);
    x->written = x->passed = x->all_passed = test->start;
}

static void write_one(struct member *member)
{
    struct myr_exchange *x = &member->x;
    slots_check_free(member->test, x->rank, x->written + 1, MYR_EXCHANGE_WINDOW);
    slots_fill(myr_exchange_next(x), x->rank, x->written + 1);
    myr_exchange_write(x);
}

static void read_one(struct member *member)
{
    struct myr_exchange *x = &member->x;
    for (uint32_t r = 0; r < x->size; ++r) {
        slots_check(myr_exchange_payload(x, r), r, x->passed + 1, x->rank);
    }
    slots_note(member->test, x->rank, x->passed + 1);
    myr_exchange_pass(x);
}

/* Write and read in any order that there may be. */
static void look_now_and_then(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    struct myr_exchange *x = &member.x;
    const uint32_t last = member.test->start + member.test->rounds;
    while (last != x->passed) {
        crew_dawdle(&member.random);
        const uint32_t most = crew_below(&member.random, 2 * MYR_EXCHANGE_WINDOW);
        for (uint32_t n = 0; n < most && last != x->written && myr_exchange_room(x); ++n) {
            write_one(&member);
        }
        uint32_t taken = 0;
        while (taken < most && x->written != x->passed && myr_exchange_ready(x)) {
            read_one(&member);
            ++taken;
        }
        if (0 == taken) {
            sched_yield();
        }
    }
}

/* Write some rounds, then read them: more at once than there is room for. */
static void wait_for_all(uint32_t rank, void *context)
{
    struct member member;
    member_begin(&member, rank, context);
    struct myr_exchange *x = &member.x;
    const uint32_t last = member.test->start + member.test->rounds;
    while (last != x->passed) {
        crew_dawdle(&member.random);
        while (last != x->written && myr_exchange_room(x)) {
            write_one(&member);
        }
        if (x->written == x->passed) {
            myr_exchange_await_room(x);
        } else {
            myr_exchange_await(x);
            read_one(&member);
        }
    }
}

/* ---- tests ---- */

static void run_all(crew_fn fn, uint32_t rounds, uint32_t start)
{
    for (int way = 0; way < 4; ++way) {
        for (uint32_t size = 1; size <= SLOTS_MOST; size += 1 + size / 3) { /* 1, 2, 3, 5, 7 */
            slots_run(fn, way, size, rounds, start, myr_exchange_bytes(size));
        }
    }
}

static void looking(void **state)
{
    (void)state;
    run_all(look_now_and_then, 200, 0);
}

static void waiting(void **state)
{
    (void)state;
    run_all(wait_for_all, 200, 0);
}

static void wrap_around(void **state)
{
    (void)state;
    run_all(look_now_and_then, 60, UINT32_MAX - 30);
    run_all(wait_for_all, 60, INT32_MAX - 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking),
        cmocka_unit_test(waiting),
        cmocka_unit_test(wrap_around),
    };
    crew_watchdog();
    (void)crew_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
