/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests inlets, the queues of short messages between processes of a node. A failure means that
 * messages are lost, duplicated, reordered or corrupted.
 *
 * Invariants: each completed message is received once, intact, in the order of tickets; no slot is
 * overwritten before it was read; if there is no free slot, or the port is closed, no message is
 * begun.
 */
#include <sched.h>

#include "libmyr/messages/inlet.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum { KEY = 77 };

/* Make an empty inlet, in the state after `before` messages. */
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

/* Returns the length of message `number`, whose bytes are all derived from its number. */
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
    const void *message = myr_intake_check(intake, &bytes);
    assert_non_null(message);
    assert_true(is_message(message, bytes, number));
    assert_ptr_equal(myr_intake_check(intake, &bytes), message); /* it is not consumed yet */
    myr_intake_done(intake);
}

static void expect_nothing(struct myr_intake *intake)
{
    uint32_t bytes;
    assert_null(myr_intake_check(intake, &bytes));
}

/* The inlet accepts as many messages as it has slots, also where sequence numbers wrap. */
TEST(full)
{
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
        assert_true(put(&late, sent)); /* a sender that has not polled for long */
        expect(&intake, sent);
        end(inlet);
    }
}

TEST(closed_or_missing_inlet)
{
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
    assert_non_null(myr_intake_check(&intake, &bytes));
    end(inlet);
}

/* A corrupted length does not lead to reads beyond the slot. */
TEST(garbage)
{
    struct myr_inlet *inlet = make(0);
    struct myr_outlet outlet = {inlet, 0, 0, KEY};
    struct myr_intake intake = {inlet, 0};
    assert_true(put(&outlet, 1));
    inlet->slot[0].bytes = UINT32_MAX;
    uint32_t bytes;
    assert_non_null(myr_intake_check(&intake, &bytes));
    assert_int_equal(bytes, MYR_SHORT_BYTES);
    end(inlet);
}

/* A sender has found its port open and is descheduled. Meanwhile the port is closed, and another
 * port uses the inlet: it receives exactly the messages sent to it. */
TEST(late_sender)
{
    struct myr_inlet *inlet = make(0);
    struct myr_outlet late = {inlet, 0, 0, KEY}, right = {inlet, 0, 0, KEY + 1};
    assert_true(put(&late, 1)); /* it is not received */
    myr_inlet_close(inlet);
    assert_null(myr_outlet_take(&late)); /* before another port uses the inlet */
    assert_true(myr_inlet_open(inlet, KEY + 1));
    struct myr_intake intake = myr_intake_of(inlet);
    expect_nothing(&intake);
    for (uint32_t i = 0; i < 3 * MYR_INLET_SLOTS; ++i) {
        assert_null(myr_outlet_take(&late)); /* afterwards */
        assert_true(put(&right, i));
        assert_null(myr_outlet_take(&late));
        expect(&intake, i);
        expect_nothing(&intake);
    }
    end(inlet);
}

/* An inlet is not reopened while a sender may still write for the former port. */
TEST(sender_in_progress)
{
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

/* Senders begin messages and complete them in any order. The receiver gets the completed ones up
 * to the first incomplete one. */
TEST(interleaved)
{
    enum { SENDERS = 5, STEPS = 200000 };
    uint64_t random = crew_seed();
    struct myr_inlet *inlet = make(0);
    struct myr_intake intake = {inlet, 0};
    struct {
        struct myr_outlet outlet;
        uint32_t begun; /* the message's number plus 1; 0: none */
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
            const void *message = myr_intake_check(&intake, &bytes);
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

/* ---- concurrent senders ---- */

enum { MEMBERS = 4, MESSAGES = 30000 };

struct setup {
    struct myr_inlet *inlet;
    uint64_t seed;
    bool sleeps; /* the receiver sleeps until a sender wakes it */
};

struct packet {
    uint32_t sender, number, again;
};

static void send_all(uint32_t rank, const struct setup *setup)
{
    struct myr_outlet outlet = {setup->inlet, 0, 0, KEY};
    uint64_t random = setup->seed + rank;
    for (uint32_t number = 0; number < MESSAGES;) {
        struct packet *packet = myr_outlet_begin(&outlet);
        if (NULL == packet) {
            sched_yield();
            continue;
        }
        *packet = (struct packet){rank, number, number};
        myr_outlet_end(&outlet, sizeof(*packet));
        myr_inlet_wake(setup->inlet);
        ++number;
        if (0 == crew_below(&random, 100)) {
            crew_dawdle(&random);
        }
    }
}

/* A missing wake-up makes the receiver hang. */
static void wait_for_message(const struct setup *setup, struct myr_intake *intake)
{
    uint32_t bytes;
    if (!setup->sleeps) {
        sched_yield();
        return;
    }
    myr_inlet_nap(setup->inlet);
    if (NULL == myr_intake_check(intake, &bytes)) {
        (void)myr_inlet_sleep(setup->inlet, UINT32_MAX);
    }
}

static void receive_all(const struct setup *setup)
{
    struct myr_intake intake = {setup->inlet, 0};
    uint32_t number[MEMBERS] = {0}, bytes;
    uint64_t random = setup->seed;
    for (uint32_t received = 0; received < (MEMBERS - 1) * MESSAGES;) {
        const struct packet *packet = myr_intake_check(&intake, &bytes);
        if (NULL == packet) {
            wait_for_message(setup, &intake);
            continue;
        }
        CREW_CHECK(sizeof(*packet) == bytes && packet->sender > 0 && packet->sender < MEMBERS &&
                       number[packet->sender] == packet->number && packet->number == packet->again,
                   "message %u: %u bytes, sender %u, number %u", received, bytes, packet->sender,
                   packet->number);
        ++number[packet->sender];
        ++received;
        myr_intake_done(&intake);
        if (0 == crew_below(&random, 1000)) {
            crew_dawdle(&random);
        }
    }
    CREW_CHECK(NULL == myr_intake_check(&intake, &bytes), "an excess message");
}

static void take_part(uint32_t rank, void *context)
{
    if (0 == rank) {
        receive_all(context);
    } else {
        send_all(rank, context);
    }
}

TEST(many_senders)
{
    for (int sleeps = 0; sleeps < 2; ++sleeps) {
        struct setup setup = {make(0), crew_seed(), 0 != sleeps};
        assert_true(crew_run(MEMBERS, take_part, &setup));
        end(setup.inlet);
    }
}
