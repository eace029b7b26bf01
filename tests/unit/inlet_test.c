/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inlets. Invariants: what was begun and ended is seen once, whole, in the order of tickets;
 * nothing is written where the receiver has not been yet; when there is no room, or no such port,
 * nothing is begun.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <cmocka.h>

#include "libmyr/messages/inlet.h"
#include "tests/unit/crew.h"

enum { KEY = 77 };

/* One that is empty, and as if so many messages had come. */
static struct myr_inlet *make(uint64_t before)
{
    struct myr_inlet *inlet = crew_memory(sizeof(*inlet));
    for (uint64_t ticket = before < MYR_INLET_SLOTS ? 0 : before - MYR_INLET_SLOTS; ticket < before;
         ++ticket) {
        atomic_store(&inlet->slot[ticket % MYR_INLET_SLOTS].sequence, (uint32_t)ticket + 1);
    }
    atomic_store(&inlet->next, before);
    assert_true(myr_inlet_open(inlet, KEY));
    return inlet;
}

static void end(struct myr_inlet *inlet)
{
    crew_memory_free(inlet, sizeof(*inlet));
}

/* Number `number`, as long as it should be, with its number in all bytes. */
static uint32_t length_of(uint32_t number)
{
    return number * 7 % (MYR_SHORT_BYTES + 1);
}

static void write_message(void *message, uint32_t number)
{
    memset(message, (int)(number % 251), length_of(number));
}

static bool is_message(const uint8_t *message, uint32_t bytes, uint32_t number)
{
    bool good = length_of(number) == bytes;
    for (uint32_t i = 0; good && i < bytes; ++i) {
        good = number % 251 == message[i];
    }
    return good;
}

static bool put(struct myr_outlet *outlet, uint32_t number)
{
    void *message = myr_outlet_begin(outlet);
    if (NULL == message) {
        return false;
    }
    assert_int_equal((uintptr_t)message % 16, 0);
    write_message(message, number);
    myr_outlet_end(outlet, length_of(number));
    return true;
}

static void expect(struct myr_intake *intake, uint32_t number)
{
    uint32_t bytes;
    const void *message = myr_intake_look(intake, &bytes);
    assert_non_null(message);
    assert_true(is_message(message, bytes, number));
    assert_ptr_equal(myr_intake_look(intake, &bytes), message); /* it stays */
    myr_intake_done(intake);
}

static void expect_nothing(struct myr_intake *intake)
{
    uint32_t bytes;
    assert_null(myr_intake_look(intake, &bytes));
}

/* As many as there are slots, wherever the tickets are: at the turns' end, at the tickets' middle.
 */
static void full(void **state)
{
    (void)state;
    static const uint64_t begins[] = {0, 1, UINT32_MAX - 50, UINT64_C(1) << 63, UINT64_MAX / 4};
    for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); ++b) {
        struct myr_inlet *inlet = make(begins[b]);
        struct myr_outlet outlet = {inlet, begins[b], 0, KEY}, late = outlet;
        struct myr_intake intake = {inlet, begins[b]};
        uint32_t sent = 0, received = 0;
        for (uint32_t round = 0; round < 5; ++round) {
            while (put(&outlet, sent)) {
                ++sent;
            }
            assert_true(sent - received <= MYR_INLET_SLOTS);
            assert_true(sent - received >= MYR_INLET_SLOTS * 3 / 4);
            assert_null(myr_outlet_begin(&late));
            while (received < sent) {
                expect(&intake, received++);
            }
            expect_nothing(&intake);
        }
        assert_true(put(&late, sent)); /* who has not looked for long */
        expect(&intake, sent);
        end(inlet);
    }
}

static void no_way(void **state)
{
    (void)state;
    struct myr_inlet *inlet = make(0);
    struct myr_outlet nowhere = {0}, wrong = {inlet, 0, 0, KEY + 1}, right = {inlet, 0, 0, KEY};
    struct myr_intake none = {0}, intake = {inlet, 0};
    assert_null(myr_outlet_begin(&nowhere));
    assert_null(myr_outlet_begin(&wrong));
    expect_nothing(&none);
    assert_true(put(&right, 1));
    myr_inlet_close(inlet);
    assert_null(myr_outlet_begin(&right));
    assert_int_equal(atomic_load(&inlet->next), 1);
    uint32_t bytes;
    assert_non_null(myr_intake_look(&intake, &bytes));
    end(inlet);
}

/* A length that somebody has scribbled over leads nowhere else. */
static void garbage(void **state)
{
    (void)state;
    struct myr_inlet *inlet = make(0);
    struct myr_outlet outlet = {inlet, 0, 0, KEY};
    struct myr_intake intake = {inlet, 0};
    assert_true(put(&outlet, 1));
    inlet->slot[0].bytes = UINT32_MAX;
    uint32_t bytes;
    assert_non_null(myr_intake_look(&intake, &bytes));
    assert_int_equal(bytes, MYR_SHORT_BYTES);
    end(inlet);
}

/* A sender has seen its port open and is stopped. The port is closed meanwhile, and another one has
 * the inlet: that gets nothing that is not for it, and all that is. */
static void a_sender_that_comes_too_late(void **state)
{
    (void)state;
    struct myr_inlet *inlet = make(0);
    struct myr_outlet late = {inlet, 0, 0, KEY}, right = {inlet, 0, 0, KEY + 1};
    assert_true(put(&late, 1)); /* and nobody takes it */
    myr_inlet_close(inlet);
    assert_null(myr_outlet_take(&late)); /* before there is another port */
    assert_true(myr_inlet_open(inlet, KEY + 1));
    struct myr_intake intake = myr_intake_of(inlet);
    expect_nothing(&intake);
    for (uint32_t i = 0; i < 3 * MYR_INLET_SLOTS; ++i) {
        assert_null(myr_outlet_take(&late)); /* when there is */
        assert_true(put(&right, i));
        assert_null(myr_outlet_take(&late));
        expect(&intake, i);
        expect_nothing(&intake);
    }
    end(inlet);
}

/* As long as somebody may write for the former port, nobody has the inlet. */
static void a_sender_that_has_begun(void **state)
{
    (void)state;
    struct myr_inlet *inlet = make(0);
    struct myr_outlet early = {inlet, 0, 0, KEY}, other = early;
    for (uint32_t back = 0; back < MYR_INLET_SLOTS; ++back) {
        assert_non_null(myr_outlet_begin(&early));
        for (uint32_t i = 0; i < back; ++i) {
            assert_true(put(&other, i));
        }
        myr_inlet_close(inlet);
        assert_false(myr_inlet_open(inlet, KEY));
        assert_null(myr_outlet_begin(&other));
        myr_outlet_end(&early, 1);
        assert_true(myr_inlet_open(inlet, KEY));
    }
    end(inlet);
}

/* Senders who begin, and end later, in any order: what is seen is what has ended, up to the first
 * that has not. */
static void interleaved(void **state)
{
    (void)state;
    enum { SENDERS = 5, STEPS = 200000 };
    uint64_t random = crew_seed();
    struct myr_inlet *inlet = make(0);
    struct myr_intake intake = {inlet, 0};
    struct {
        struct myr_outlet outlet;
        uint32_t begun; /* its number, plus one; 0: none */
    } senders[SENDERS] = {{{NULL, 0, 0, 0}, 0}};
    bool ended[MYR_INLET_SLOTS] = {false};
    uint32_t next = 0, taken = 0;
    for (uint32_t s = 0; s < SENDERS; ++s) {
        senders[s].outlet = (struct myr_outlet){inlet, 0, 0, KEY};
    }
    for (uint32_t step = 0; step < STEPS; ++step) {
        const uint32_t s = crew_below(&random, SENDERS + 2);
        uint32_t bytes;
        if (s >= SENDERS) {
            const void *message = myr_intake_look(&intake, &bytes);
            assert_int_equal(NULL != message, taken < next && ended[taken % MYR_INLET_SLOTS]);
            if (NULL != message) {
                assert_true(is_message(message, bytes, taken));
                ended[taken++ % MYR_INLET_SLOTS] = false;
                myr_intake_done(&intake);
            }
        } else if (0 != senders[s].begun) {
            myr_outlet_end(&senders[s].outlet, length_of(senders[s].begun - 1));
            ended[(senders[s].begun - 1) % MYR_INLET_SLOTS] = true;
            senders[s].begun = 0;
        } else {
            void *message = myr_outlet_begin(&senders[s].outlet);
            assert_true(NULL != message || next - taken >= MYR_INLET_SLOTS * 3 / 4);
            assert_true(NULL == message || next - taken < MYR_INLET_SLOTS);
            if (NULL != message) {
                write_message(message, next);
                senders[s].begun = ++next;
            }
        }
    }
    assert_true(taken > STEPS / 20);
    end(inlet);
}

/* ---- several at once ---- */

enum { MEMBERS = 4, MESSAGES = 30000 };

struct meeting {
    struct myr_inlet *inlet;
    uint64_t seed;
    bool sleeps; /* the receiver does, until a sender wakes it */
};

struct note {
    uint32_t sender, number, again;
};

static void send_all(uint32_t rank, const struct meeting *meeting)
{
    struct myr_outlet outlet = {meeting->inlet, 0, 0, KEY};
    uint64_t random = meeting->seed + rank;
    for (uint32_t number = 0; number < MESSAGES;) {
        struct note *note = myr_outlet_begin(&outlet);
        if (NULL == note) {
            sched_yield();
            continue;
        }
        *note = (struct note){rank, number, number};
        myr_outlet_end(&outlet, sizeof(*note));
        myr_inlet_wake(meeting->inlet);
        ++number;
        if (0 == crew_below(&random, 100)) {
            crew_dawdle(&random);
        }
    }
}

/* A message that nobody wakes for is missed for ever. */
static void rest(const struct meeting *meeting, struct myr_intake *intake)
{
    uint32_t bytes;
    if (!meeting->sleeps) {
        sched_yield();
        return;
    }
    myr_inlet_nap(meeting->inlet);
    if (NULL == myr_intake_look(intake, &bytes)) {
        (void)myr_inlet_sleep(meeting->inlet, UINT32_MAX);
    }
}

static void receive_all(const struct meeting *meeting)
{
    struct myr_intake intake = {meeting->inlet, 0};
    uint32_t number[MEMBERS] = {0}, bytes;
    uint64_t random = meeting->seed;
    for (uint32_t received = 0; received < (MEMBERS - 1) * MESSAGES;) {
        const struct note *note = myr_intake_look(&intake, &bytes);
        if (NULL == note) {
            rest(meeting, &intake);
            continue;
        }
        CREW_CHECK(sizeof(*note) == bytes && note->sender > 0 && note->sender < MEMBERS &&
                       number[note->sender] == note->number && note->number == note->again,
                   "message %u: %u bytes, sender %u, number %u", received, bytes, note->sender,
                   note->number);
        ++number[note->sender];
        ++received;
        myr_intake_done(&intake);
        if (0 == crew_below(&random, 1000)) {
            crew_dawdle(&random);
        }
    }
    CREW_CHECK(NULL == myr_intake_look(&intake, &bytes), "one too many");
}

static void take_part(uint32_t rank, void *context)
{
    if (0 == rank) {
        receive_all(context);
    } else {
        send_all(rank, context);
    }
}

static void many_senders(void **state)
{
    (void)state;
    for (int sleeps = 0; sleeps < 2; ++sleeps) {
        struct meeting meeting = {make(0), crew_seed(), 0 != sleeps};
        assert_true(crew_run(MEMBERS, take_part, &meeting));
        end(meeting.inlet);
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sender_that_comes_too_late),
        cmocka_unit_test(a_sender_that_has_begun),
        cmocka_unit_test(full),
        cmocka_unit_test(no_way),
        cmocka_unit_test(garbage),
        cmocka_unit_test(interleaved),
        cmocka_unit_test(many_senders),
    };
    return cmocka_run_group_tests_name("inlet", tests, NULL, NULL);
}
