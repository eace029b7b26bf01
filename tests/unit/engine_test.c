/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective engine, one group at a time, message by message. Invariants. A step's messages are
 * sent before it waits. The next step's are not sent before all have come. Messages may come in any
 * order, early by one epoch, twice, or never. What is missing is asked for, and nothing else. What
 * was sent is sent again when asked for, and nothing else. Epochs may wrap around. The memory
 * around a group is left alone.
 *
 * Of a group that carries data, besides: each message is taken once, and not before the one before
 * it. What it carries has its place in the buffer of its epoch. A message that is asked for is that
 * of the epoch that was asked for, as long as anybody may miss it. Epochs begin one by one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "firmware/engine.h"
#include "tests/unit/crew.h"

enum {
    ROOM = 1 << 16, /* bytes for a group */
    GUARD = 0x5a,
    NODES = 400,
    MY_NODE = 7,
    KEY = 0x4711,
    MOST_STEPS = 8,
    MOST_PEERS = 64,
};

/* Peers are numbered by their place: message i goes to node 100 + i, slot 200 + i, and the one for
 * slot w comes from node 300 + w. */
enum { TO_NODE = 100, TO_SLOT = 200, FROM_NODE = 300, TO_LINK = 10000, FROM_LINK = 20000 };

static struct {
    _Alignas(MYR_LINE) uint8_t before[MYR_LINE];
    _Alignas(MYR_LINE) uint8_t room[ROOM];
} memory;

static struct mcp_group *const group = (struct mcp_group *)memory.room;
static size_t bytes;

static void begin(const struct mcp_step *steps, uint32_t nsteps, uint32_t epoch)
{
    uint32_t nsends = 0, nwaits = 0;
    for (uint32_t s = 0; s < nsteps; ++s) {
        nsends += steps[s].sends;
        nwaits += steps[s].waits;
    }
    memset(&memory, GUARD, sizeof(memory));
    bytes = mcp_group_bytes(nsteps, nsends, nwaits);
    assert_true(bytes <= ROOM);
    mcp_group_init(group, KEY, NODES, MY_NODE, nsteps, nsends, nwaits, epoch);
    for (uint32_t s = 0; s < nsteps; ++s) {
        mcp_group_steps(group)[s] = steps[s];
    }
    for (uint32_t i = 0; i < nsends; ++i) {
        mcp_group_sends(group)[i] =
            (struct mcp_peer){TO_LINK + i, (uint16_t)(TO_NODE + i), (uint16_t)(TO_SLOT + i), 0, 0};
    }
    for (uint32_t w = 0; w < nwaits; ++w) {
        mcp_group_waits(group)[w] =
            (struct mcp_peer){FROM_LINK + w, (uint16_t)(FROM_NODE + w), 0xffff, 0, 0};
    }
}

static void end(void)
{
    for (size_t i = 0; i < sizeof(memory.before); ++i) {
        assert_int_equal(memory.before[i], GUARD);
    }
    for (size_t i = bytes; i < ROOM; ++i) {
        assert_int_equal(memory.room[i], GUARD);
    }
}

static uint32_t done(void)
{
    return myr_observe(&group->done);
}

static void expect_message(const struct mcp_message *message, uint8_t type, mcp_link link,
                           uint32_t slot, uint32_t epoch)
{
    assert_int_equal(message->to, link);
    assert_int_equal(message->header.type, type);
    assert_int_equal(message->header.key, KEY);
    assert_int_equal(message->header.collective.epoch, epoch);
    assert_int_equal(message->header.collective.slot, slot);
    assert_int_equal(message->header.collective.node, MY_NODE);
}

/* The next messages are those from place `first` on, `count` of them, and no more. */
static void expect_sends(uint32_t first, uint32_t count, uint32_t epoch)
{
    struct mcp_message message;
    for (uint32_t i = first; i < first + count; ++i) {
        assert_true(mcp_group_next(group, &message));
        expect_message(&message, MCP_ARRIVE, TO_LINK + i, TO_SLOT + i, epoch);
    }
    assert_false(mcp_group_next(group, &message));
    assert_false(mcp_group_next(group, &message));
}

/* Asked for are the messages of the slots in the set `slots`, and no others. */
static void expect_missing(uint64_t slots, uint32_t epoch)
{
    struct mcp_message message;
    uint32_t cursor = 0;
    for (uint32_t w = 0; w < 64; ++w) {
        if (slots >> w & 1) {
            assert_true(mcp_group_missing(group, &cursor, &message));
            expect_message(&message, MCP_ASK, FROM_LINK + w, w, epoch);
        }
    }
    assert_false(mcp_group_missing(group, &cursor, &message));
    assert_false(mcp_group_missing(group, &cursor, &message));
}

static bool answered(uint32_t place, uint32_t epoch, uint32_t with)
{
    struct mcp_message message;
    if (!mcp_group_answer(group, TO_NODE + place, TO_SLOT + place, epoch, &message)) {
        assert_false(myr_epoch_reached(group->started + 1, epoch)); /* who asks cannot be there */
        return false;
    }
    if (MCP_LATER == message.header.type) {
        expect_message(&message, MCP_LATER, TO_LINK + place, TO_SLOT + place, epoch);
        return false;
    }
    expect_message(&message, MCP_ARRIVE, TO_LINK + place, TO_SLOT + place, with);
    return true;
}

static const struct mcp_step exchange[] = {{1, 1}, {1, 1}, {1, 1}};

/* ---- memory ---- */

static void tables(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{2, 0}, {0, 3}, {1, 1}};
    begin(steps, 3, 5);
    uint8_t *end_of_tables = (uint8_t *)(mcp_group_heard(group) + 4);
    assert_ptr_equal(mcp_group_steps(group), group + 1);
    assert_ptr_equal(mcp_group_sends(group), mcp_group_steps(group) + 3);
    assert_ptr_equal(mcp_group_waits(group), mcp_group_sends(group) + 3);
    assert_ptr_equal(mcp_group_arrivals(group), mcp_group_waits(group) + 4);
    assert_ptr_equal(mcp_group_heard(group), mcp_group_arrivals(group) + 4);
    assert_true(end_of_tables <= memory.room + bytes);
    assert_true(memory.room + bytes < end_of_tables + MYR_LINE);
    assert_int_equal(bytes % MYR_LINE, 0);
    for (uint32_t w = 0; w < 4; ++w) {
        assert_int_equal(mcp_group_arrivals(group)[w], 5);
        assert_int_equal(mcp_group_heard(group)[w], 0);
    }
    assert_int_equal(done(), 5);
    assert_int_equal(group->failed, 0);
    assert_false(mcp_group_waits_now(group));
    assert_int_equal(mcp_group_bytes(0, 0, 0), sizeof(struct mcp_group));
    assert_true(mcp_group_bytes(1, 65535, 65535) > 65535 * (2 * sizeof(struct mcp_peer) + 4));
    end();
}

/* What hosts read stands apart from what the NIC writes with every message. */
static void lines(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct mcp_group, done) % MYR_LINE, 0);
    assert_int_equal(offsetof(struct mcp_group, key) % MYR_LINE, 0);
    assert_true(offsetof(struct mcp_group, key) >= MYR_LINE);
    assert_int_equal(sizeof(struct mcp_group) % MYR_LINE, 0); /* the tables stand behind */
}

/* ---- playing ---- */

static void step_by_step(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{2, 2}, {0, 1}, {3, 0}, {1, 2}};
    begin(steps, 4, 0);
    for (uint32_t epoch = 1; epoch < 5; ++epoch) {
        expect_sends(0, 0, 0);
        mcp_group_start(group, epoch);
        assert_true(mcp_group_waits_now(group));
        expect_sends(0, 2, epoch);
        assert_int_equal(mcp_group_record(group, 1, epoch), MCP_RECORDED);
        expect_sends(0, 0, epoch);
        assert_int_equal(mcp_group_record(group, 0, epoch), MCP_RECORDED);
        expect_sends(0, 0, epoch);
        assert_int_equal(mcp_group_record(group, 2, epoch), MCP_RECORDED);
        expect_sends(2, 4, epoch); /* steps 2 and 3 at once */
        assert_int_equal(mcp_group_record(group, 3, epoch), MCP_RECORDED);
        expect_sends(0, 0, epoch);
        assert_int_equal(done(), epoch - 1);
        assert_int_equal(mcp_group_record(group, 4, epoch), MCP_RECORDED);
        assert_int_equal(done(), epoch - 1); /* only mcp_group_next() goes on */
        expect_sends(0, 0, epoch);
        assert_int_equal(done(), epoch);
        assert_false(mcp_group_waits_now(group));
    }
    end();
}

/* A node alone, and one that only sends: nothing to wait for. */
static void nothing_to_wait_for(void **state)
{
    (void)state;
    static const struct mcp_step sends[] = {{1, 0}, {0, 0}, {2, 0}};
    begin(sends, 0, 9);
    mcp_group_start(group, 12);
    expect_missing(0, 0); /* there is not even a step */
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 12);
    end();
    begin(sends, 3, 9);
    mcp_group_start(group, 11);
    struct mcp_message message;
    for (uint32_t epoch = 10; epoch < 12; ++epoch) {
        for (uint32_t i = 0; i < 3; ++i) {
            assert_true(mcp_group_next(group, &message));
            expect_message(&message, MCP_ARRIVE, TO_LINK + i, TO_SLOT + i, epoch);
        }
    }
    assert_false(mcp_group_next(group, &message));
    assert_int_equal(done(), 11);
    end();
}

/* Hosts may say so twice, and in any order. */
static void starts(void **state)
{
    (void)state;
    begin(exchange, 3, 20);
    mcp_group_start(group, 20);
    assert_false(mcp_group_waits_now(group));
    mcp_group_start(group, 19);
    assert_false(mcp_group_waits_now(group));
    mcp_group_start(group, 23);
    mcp_group_start(group, 21);
    mcp_group_start(group, 23);
    expect_sends(0, 1, 21);
    for (uint32_t epoch = 21; epoch <= 23; ++epoch) {
        for (uint32_t w = 0; w < 3; ++w) {
            assert_int_equal(done(), epoch - 1);
            assert_int_equal(mcp_group_record(group, w, epoch), MCP_RECORDED);
            if (2 == w) {
                expect_sends(0, 23 == epoch ? 0 : 1, epoch + 1); /* of the next, as it has begun */
            } else {
                expect_sends(w + 1, 1, epoch);
            }
        }
    }
    assert_int_equal(done(), 23);
    end();
}

/* Whatever a host says, it is ahead by so many epochs at the most. It comes again for the others.
 */
static void starts_far_ahead(void **state)
{
    (void)state;
    static const uint32_t ahead[] = {MCP_OUTSTANDING + 1, 3 * MCP_OUTSTANDING, INT32_MAX};
    for (size_t a = 0; a < sizeof(ahead) / sizeof(ahead[0]); ++a) {
        static const struct mcp_step steps[] = {{1, 1}};
        const uint32_t first = UINT32_MAX - MCP_OUTSTANDING / 2; /* so that epochs wrap around */
        begin(steps, 1, first);
        for (uint32_t turn = 1; turn < 3; ++turn) {
            mcp_group_start(group, first + ahead[a]);
            expect_sends(0, 1, done() + 1);
            while (mcp_group_waits_now(group)) {
                struct mcp_message message;
                assert_int_equal(mcp_group_record(group, 0, done() + 1), MCP_RECORDED);
                while (mcp_group_next(group, &message)) {
                }
            }
            const uint32_t most = turn * MCP_OUTSTANDING;
            assert_int_equal(done() - first, most < ahead[a] ? most : ahead[a]);
        }
        end();
    }
}

/* All have come before the host has. */
static void all_unexpected(void **state)
{
    (void)state;
    enum { OTHERS = 63 };
    static const struct mcp_step steps[] = {{OTHERS, OTHERS}};
    begin(steps, 1, UINT32_MAX);
    for (uint32_t w = 0; w < OTHERS; ++w) {
        assert_int_equal(mcp_group_record(group, w, 0), MCP_UNEXPECTED);
    }
    expect_sends(0, 0, 0);
    expect_missing(0, 0);
    mcp_group_start(group, 0);
    expect_sends(0, OTHERS, 0);
    assert_int_equal(done(), 0);
    end();
}

/* A peer that heard from all is an epoch ahead while we still wait for another one. */
static void one_epoch_ahead(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{1, 2}};
    begin(steps, 1, 0);
    mcp_group_start(group, 1);
    expect_sends(0, 1, 1);
    assert_int_equal(mcp_group_record(group, 0, 1), MCP_RECORDED);
    assert_int_equal(mcp_group_record(group, 0, 2), MCP_UNEXPECTED);
    expect_sends(0, 0, 0);
    expect_missing(2, 1);
    assert_int_equal(mcp_group_record(group, 1, 1), MCP_RECORDED);
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 1);
    mcp_group_start(group, 2);
    expect_sends(0, 1, 2);
    expect_missing(2, 2); /* slot 0 is there already */
    assert_int_equal(mcp_group_record(group, 1, 2), MCP_RECORDED);
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 2);
    end();
}

/* An answer may be of the next epoch already, and then says the same of this one. */
static void later_epoch_stands_for_this(void **state)
{
    (void)state;
    begin(exchange, 3, 0);
    mcp_group_start(group, 1);
    expect_sends(0, 1, 1);
    assert_int_equal(mcp_group_record(group, 0, 2), MCP_UNEXPECTED);
    expect_missing(0, 1);
    expect_sends(1, 1, 1);
    end();
}

/* ---- what is no news, and what cannot be ---- */

static void implausible(void **state)
{
    (void)state;
    begin(exchange, 3, 100);
    uint32_t before[3];
    memcpy(before, mcp_group_arrivals(group), sizeof(before));
    static const uint32_t far[] = {102, 103, 1000, 100 + (uint32_t)INT32_MAX};
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); ++i) {
        assert_int_equal(mcp_group_record(group, 0, far[i]), MCP_IMPLAUSIBLE);
    }
    static const uint32_t slots[] = {3, 4, 65535, UINT32_MAX};
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); ++i) {
        assert_int_equal(mcp_group_record(group, slots[i], 101), MCP_IMPLAUSIBLE);
    }
    assert_memory_equal(before, mcp_group_arrivals(group), sizeof(before));
    mcp_group_start(group, 101);
    assert_int_equal(mcp_group_record(group, 1, 103), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_record(group, 1, 102), MCP_UNEXPECTED);
    mcp_group_start(group, 110); /* begun ahead: the peers can be no further for that */
    assert_int_equal(mcp_group_record(group, 2, 103), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_record(group, 2, 102), MCP_RECORDED);
    end();
}

static void known(void **state)
{
    (void)state;
    begin(exchange, 3, 100);
    assert_int_equal(mcp_group_record(group, 0, 100), MCP_KNOWN);
    assert_int_equal(mcp_group_record(group, 0, 101), MCP_UNEXPECTED);
    assert_int_equal(mcp_group_record(group, 0, 101), MCP_KNOWN);
    assert_int_equal(mcp_group_record(group, 0, 1), MCP_KNOWN);
    assert_int_equal(mcp_group_record(group, 0, 101 - INT32_MAX), MCP_KNOWN);
    assert_int_equal(mcp_group_arrivals(group)[0], 101);
    assert_int_equal(mcp_group_arrivals(group)[1], 100);
    end();
}

/* ---- asking and answering ---- */

static void missing_of_this_step_only(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{0, 3}, {1, 2}, {0, 0}};
    begin(steps, 3, 0);
    expect_missing(0, 0); /* nobody waits */
    mcp_group_start(group, 1);
    expect_sends(0, 0, 0);
    expect_missing(7, 1);
    assert_int_equal(mcp_group_record(group, 1, 1), MCP_RECORDED);
    expect_missing(5, 1);
    assert_int_equal(mcp_group_record(group, 4, 1), MCP_RECORDED); /* early: of the next step */
    assert_int_equal(mcp_group_record(group, 0, 1), MCP_RECORDED);
    assert_int_equal(mcp_group_record(group, 2, 1), MCP_RECORDED);
    expect_missing(0, 1);
    expect_sends(0, 1, 1);
    expect_missing(8, 1);
    assert_int_equal(mcp_group_record(group, 3, 1), MCP_RECORDED);
    expect_missing(0, 1);
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 1);
    expect_missing(0, 1);
    mcp_group_start(group, 2);
    expect_missing(7, 2);
    end();
}

static void answers(void **state)
{
    (void)state;
    begin(exchange, 3, 40);
    struct mcp_message message;
    assert_true(answered(0, 40, 40)); /* all was done up to there, somehow */
    assert_false(answered(0, 41, 0));
    mcp_group_start(group, 41);
    assert_false(answered(0, 41, 0)); /* begun, but not sent yet */
    expect_sends(0, 1, 41);
    assert_true(answered(0, 41, 41));
    assert_true(answered(0, 1, 41)); /* whoever asks for less hears all */
    assert_false(answered(0, 42, 0));
    assert_false(answered(1, 41, 0));
    assert_true(answered(1, 40, 40));
    assert_false(mcp_group_answer(group, TO_NODE, TO_SLOT + 1, 41, &message));
    assert_false(mcp_group_answer(group, TO_NODE + 1, TO_SLOT, 41, &message));
    assert_false(mcp_group_answer(group, FROM_NODE, TO_SLOT, 41, &message));
    assert_false(mcp_group_answer(group, TO_NODE + 3, TO_SLOT + 3, 40, &message)); /* not in it */
    end();
}

/* A peer that is asked is heard, as long as it is missing; and nothing moves by that. */
static void heard(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{1, 2}, {0, 1}};
    struct mcp_missing missing;
    uint32_t cursor = 0;
    begin(steps, 2, 7);
    assert_false(mcp_group_awaits(group, &cursor, &missing));
    mcp_group_start(group, 8);
    expect_sends(0, 1, 8);
    assert_int_equal(mcp_group_record(group, 0, 8), MCP_RECORDED);
    assert_int_equal(mcp_group_hear(group, FROM_NODE + 1, 1, 8, 5000), MCP_RECORDED);
    cursor = 0;
    assert_true(mcp_group_awaits(group, &cursor, &missing));
    assert_int_equal(missing.node, FROM_NODE + 1);
    assert_int_equal(missing.heard_ms, 5000);
    assert_false(mcp_group_awaits(group, &cursor, &missing));
    assert_int_equal(mcp_group_hear(group, FROM_NODE + 1, 1, 8, 0), MCP_RECORDED);
    assert_int_equal(mcp_group_heard(group)[1], 1); /* 0 is never */
    assert_int_equal(mcp_group_hear(group, FROM_NODE, 0, 8, 9), MCP_KNOWN);
    assert_int_equal(mcp_group_hear(group, FROM_NODE + 1, 1, 7, 9), MCP_KNOWN);
    assert_int_equal(mcp_group_hear(group, FROM_NODE + 1, 1, 9, 9), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_hear(group, FROM_NODE, 1, 8, 9), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_hear(group, FROM_NODE + 3, 3, 8, 9), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_heard(group)[0], 0);
    assert_int_equal(mcp_group_heard(group)[1], 1);
    expect_sends(0, 0, 8);
    assert_int_equal(done(), 7);
    end();
}

/* Nothing is completed any more, though all that was missing comes; and who asks hears why. */
static void failed(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{1, 1}, {1, 1}};
    struct mcp_message message;
    uint32_t cursor = 0;
    begin(steps, 2, 3);
    mcp_group_start(group, 4);
    expect_sends(0, 1, 4);
    assert_int_equal(mcp_group_fail(group, NODES), MCP_IMPLAUSIBLE);
    assert_int_equal(mcp_group_fail(group, UINT16_MAX), MCP_IMPLAUSIBLE);
    assert_int_equal(myr_observe(&group->failed), 0);
    assert_true(mcp_group_waits_now(group));
    assert_int_equal(mcp_group_fail(group, 11), MCP_RECORDED);
    assert_int_equal(mcp_group_fail(group, 12), MCP_KNOWN);
    assert_int_equal(myr_observe(&group->failed), 12);
    assert_false(mcp_group_waits_now(group));
    assert_false(mcp_group_missing(group, &cursor, &message));
    mcp_group_start(group, 5);
    for (uint32_t w = 0; w < 2; ++w) {
        (void)mcp_group_record(group, w, 4);
    }
    expect_sends(0, 0, 4);
    assert_int_equal(done(), 3);
    assert_true(answered(0, 4, 4)); /* that was sent */
    for (uint32_t ask = 4; ask < 7; ++ask) {
        assert_true(mcp_group_answer(group, TO_NODE + 1, TO_SLOT + 1, ask, &message));
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, 11);
        assert_int_equal(message.to, TO_LINK + 1);
    }
    for (uint32_t p = 0; p < 4; ++p) {
        mcp_group_failure(group, p, &message);
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, 11);
        assert_int_equal(message.to, p < 2 ? TO_LINK + p : FROM_LINK + p - 2);
    }
    end();
}

/* ---- anything at all ---- */

/* What the test itself has on record about the group. Epochs are counted from `first`. */
struct book {
    struct mcp_step steps[MOST_STEPS];
    uint32_t nsteps, nsends, nwaits, first;
    uint32_t started, done;
    uint32_t step, in_step, base_send, base_wait; /* where the epoch done + 1 is */
    uint32_t sent[MOST_PEERS], come[MOST_PEERS];  /* the last epoch of each message */
};

static void book_begin(struct book *book, uint64_t *random)
{
    *book = (struct book){.nsteps = 1 + crew_below(random, MOST_STEPS)};
    for (uint32_t s = 0; s < book->nsteps; ++s) {
        book->steps[s] = (struct mcp_step){crew_below(random, 5), crew_below(random, 5)};
        book->nsends += book->steps[s].sends;
        book->nwaits += book->steps[s].waits;
    }
    if (0 == book->nwaits) { /* or it would never stop for anything */
        book->nwaits = book->steps[0].waits = 1;
    }
    book->first = UINT32_MAX - crew_below(random, 30);
    begin(book->steps, book->nsteps, book->first);
}

/* The messages that the present step misses, as a set of slots. */
static uint64_t book_missing(const struct book *book)
{
    uint64_t missing = 0;
    for (uint32_t i = 0; i < book->steps[book->step].waits; ++i) {
        const uint32_t slot = book->base_wait + i;
        missing |= (uint64_t)(book->come[slot] <= book->done) << slot;
    }
    return missing;
}

/* Go on to the next message that is to be sent; false if something else must happen first. */
static bool book_next(struct book *book, uint32_t *place)
{
    while (book->done < book->started) {
        const struct mcp_step *step = &book->steps[book->step];
        if (book->in_step < step->sends) {
            *place = book->base_send + book->in_step++;
            book->sent[*place] = book->done + 1;
            return true;
        }
        if (0 != book_missing(book)) {
            return false;
        }
        book->base_send += step->sends;
        book->base_wait += step->waits;
        book->in_step = 0;
        if (++book->step == book->nsteps) {
            book->step = book->base_send = book->base_wait = 0;
            ++book->done;
        }
    }
    return false;
}

static void record_something(struct book *book, uint64_t *random)
{
    const uint32_t slot = crew_below(random, book->nwaits);
    const uint32_t epoch = book->done + crew_below(random, 4);
    const uint32_t furthest = book->done + (book->started > book->done ? 2 : 1);
    enum mcp_recorded expected = MCP_RECORDED;
    if (epoch > furthest) {
        expected = MCP_IMPLAUSIBLE;
    } else if (epoch <= book->come[slot]) {
        expected = MCP_KNOWN;
    } else {
        book->come[slot] = epoch;
        expected = epoch > book->started ? MCP_UNEXPECTED : MCP_RECORDED;
    }
    assert_int_equal(mcp_group_record(group, slot, book->first + epoch), expected);
}

/* Any schedule, any order of events: the group does what the book says. */
static void anything(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (int trial = 0; trial < 500; ++trial) {
        struct book book;
        book_begin(&book, &random);
        while (book.done < 40) {
            if (0 == crew_below(&random, 4) && book.started < book.done + 3) {
                mcp_group_start(group, book.first + ++book.started);
            }
            record_something(&book, &random);
            struct mcp_message message;
            uint32_t place;
            while (book_next(&book, &place)) {
                assert_true(mcp_group_next(group, &message));
                expect_message(&message, MCP_ARRIVE, TO_LINK + place, TO_SLOT + place,
                               book.first + book.sent[place]);
            }
            assert_false(mcp_group_next(group, &message));
            assert_int_equal(done() - book.first, book.done);
            const bool waits = book.done < book.started;
            expect_missing(waits ? book_missing(&book) : 0, book.first + book.done + 1);
            for (uint32_t p = 0; p < book.nsends; ++p) {
                const uint32_t last = book.first + book.sent[p];
                assert_true(answered(p, last, last));
                assert_false(answered(p, last + 1, 0));
            }
        }
        end();
    }
}

/* ---- release ---- */

static void release(void **state)
{
    (void)state;
    begin(exchange, 3, UINT32_MAX - 1);
    assert_int_equal(mcp_group_release(group, UINT32_MAX), MCP_IMPLAUSIBLE); /* not entered */
    mcp_group_start(group, 0);
    expect_sends(0, 1, UINT32_MAX);
    assert_int_equal(mcp_group_release(group, 0), MCP_IMPLAUSIBLE); /* this one is not done yet */
    assert_int_equal(mcp_group_record(group, 2, 0), MCP_RECORDED);  /* one ahead */
    assert_int_equal(mcp_group_release(group, UINT32_MAX), MCP_RECORDED);
    assert_int_equal(mcp_group_arrivals(group)[2], 0); /* it stays so */
    struct mcp_message message;
    for (uint32_t i = 1; i < 3; ++i) { /* others may wait for what is left to send */
        assert_true(mcp_group_next(group, &message));
        expect_message(&message, MCP_ARRIVE, TO_LINK + i, TO_SLOT + i, UINT32_MAX);
    }
    expect_sends(0, 1, 0);
    assert_int_equal(done(), UINT32_MAX);
    assert_int_equal(mcp_group_release(group, UINT32_MAX), MCP_KNOWN);
    assert_int_equal(mcp_group_release(group, 12345 - INT32_MAX), MCP_KNOWN);
    expect_missing(1, 0); /* a release is for one epoch */
    assert_int_equal(mcp_group_record(group, 0, 0), MCP_RECORDED);
    expect_sends(1, 1, 0);
    expect_missing(2, 0);
    assert_int_equal(mcp_group_record(group, 1, 0), MCP_RECORDED);
    expect_sends(2, 1, 0);
    assert_int_equal(done(), 0);
    assert_int_equal(mcp_group_release(group, 1), MCP_IMPLAUSIBLE);
    end();
}

/* ---- epochs wrap around ---- */

static void wrap_around(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {UINT32_MAX - 3, INT32_MAX - 3, UINT32_MAX, INT32_MAX, 0};
    for (size_t f = 0; f < sizeof(firsts) / sizeof(firsts[0]); ++f) {
        begin(exchange, 3, firsts[f]);
        for (uint32_t epoch = firsts[f] + 1; epoch != firsts[f] + 9; ++epoch) {
            assert_int_equal(mcp_group_record(group, 0, epoch + 1), MCP_IMPLAUSIBLE);
            assert_int_equal(mcp_group_record(group, 0, epoch), MCP_UNEXPECTED);
            mcp_group_start(group, epoch);
            expect_sends(0, 2, epoch);
            expect_missing(2, epoch);
            assert_int_equal(mcp_group_record(group, 1, epoch), MCP_RECORDED);
            assert_int_equal(mcp_group_record(group, 1, epoch), MCP_KNOWN);
            assert_int_equal(mcp_group_record(group, 1, epoch + 2), MCP_IMPLAUSIBLE);
            assert_true(answered(1, epoch, epoch));
            assert_false(answered(2, epoch, epoch));
            expect_sends(2, 1, epoch);
            assert_int_equal(mcp_group_record(group, 2, epoch), MCP_RECORDED);
            expect_sends(0, 0, epoch);
            assert_int_equal(done(), epoch);
        }
        end();
    }
}

/* ---- data ---- */

enum { UNIT_MOST = 40 };

/* Of the messages that are sent and waited for: how many blocks. */
static uint32_t blocks_of(uint32_t place)
{
    return place % 4;
}

static void begin_data(const struct mcp_step *steps, uint32_t nsteps, uint32_t epoch)
{
    uint32_t places = 1;
    begin(steps, nsteps, epoch);
    for (uint32_t i = 0; i < group->nsends; ++i) {
        mcp_group_sends(group)[i].blocks = (uint16_t)blocks_of(i);
    }
    for (uint32_t w = 0; w < group->nwaits; ++w) {
        mcp_group_waits(group)[w].blocks = (uint16_t)blocks_of(w);
        mcp_group_waits(group)[w].at = (uint16_t)places;
        places += blocks_of(w);
    }
    group->places = places;
    group->unit_most = UNIT_MOST;
    bytes += (size_t)2 * places * UNIT_MOST;
    assert_true(bytes <= ROOM);
}

static void expect_claim(uint32_t slot, uint32_t epoch, uint32_t payload,
                         enum mcp_recorded expected, uint32_t taken)
{
    uint32_t count = payload, offset = UINT32_MAX;
    assert_int_equal(mcp_group_claim(group, slot, epoch, &count, &offset), expected);
    if (MCP_RECORDED == expected) {
        const uint32_t blocks = blocks_of(slot);
        assert_int_equal(count, taken);
        assert_true(offset + count <= group->places * UNIT_MOST);
        if (0 != taken) {
            assert_int_equal(offset, mcp_group_waits(group)[slot].at * (taken / blocks));
        }
    }
}

/* It comes, and is good. */
static void expect_arrival(uint32_t slot, uint32_t epoch, uint32_t unit)
{
    const uint32_t payload = unit * blocks_of(slot);
    expect_claim(slot, epoch, payload, MCP_RECORDED, payload);
    (void)mcp_group_record(group, slot, epoch);
}

static void start_data(uint32_t epoch, uint32_t unit)
{
    assert_true(mcp_group_offer(group, epoch, unit));
    mcp_group_start(group, epoch);
}

static const struct mcp_step at_once[] = {{4, 4}}, two_steps[] = {{2, 2}, {2, 2}};

static void buffers(void **state)
{
    (void)state;
    begin_data(at_once, 1, 5);
    const size_t buffer = (size_t)group->places * UNIT_MOST;
    assert_int_equal(group->places, 1 + 0 + 1 + 2 + 3);
    assert_ptr_equal(mcp_group_claims(group), mcp_group_heard(group) + 4);
    assert_true((uint8_t *)(mcp_group_claims(group) + 4) <= mcp_group_buffer(group, 0));
    assert_ptr_equal(mcp_group_buffer(group, 1), mcp_group_buffer(group, 0) + buffer);
    assert_ptr_equal(mcp_group_buffer(group, UINT32_MAX), mcp_group_buffer(group, 1));
    assert_ptr_equal(mcp_group_buffer(group, 1) + buffer, memory.room + bytes);
    assert_int_equal((uintptr_t)mcp_group_buffer(group, 0) % MYR_LINE, 0);
    for (uint32_t w = 0; w < 4; ++w) {
        assert_int_equal(mcp_group_claims(group)[w], 5);
    }
    memset(mcp_group_buffer(group, 0), 0, 2 * buffer);
    end();
}

static void offers(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {0, 100, UINT32_MAX, UINT32_MAX - 1, INT32_MAX};
    for (size_t f = 0; f < sizeof(firsts) / sizeof(firsts[0]); ++f) {
        const uint32_t next = firsts[f] + 1;
        begin_data(at_once, 1, firsts[f]);
        assert_false(mcp_group_offer(group, next - 1, 8)); /* that one is over, ... */
        assert_false(mcp_group_offer(group, next + 1, 8)); /* ... and that not next */
        assert_false(mcp_group_offer(group, next, UNIT_MOST + MCP_BLOCK_UNIT));
        assert_false(mcp_group_offer(group, next, UINT32_MAX / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT));
        assert_false(mcp_group_offer(group, next, 9));
        assert_false(mcp_group_offer(group, next, 4));
        assert_true(mcp_group_offer(group, next, UNIT_MOST));
        assert_false(mcp_group_offer(group, next, UNIT_MOST)); /* somebody else is at it, ... */
        assert_int_equal(group->unit[next % 2], UNIT_MOST);
        assert_false(mcp_group_waits_now(group)); /* ... and nothing begins before he is done */
        mcp_group_start(group, next + 5);
        assert_int_equal(group->started, next); /* one at a time */
        expect_sends(0, 4, next);
        assert_false(mcp_group_offer(group, next, 8));
        assert_false(mcp_group_offer(group, next + 1, 8));
        for (uint32_t w = 0; w < 4; ++w) {
            expect_arrival(w, next, UNIT_MOST);
        }
        expect_sends(0, 0, 0);
        assert_int_equal(done(), next);
        assert_true(mcp_group_offer(group, next + 1, 0)); /* nobody has anything */
        assert_int_equal(group->unit[next % 2], UNIT_MOST);
        assert_int_equal(group->unit[(next + 1) % 2], 0);
        end();
    }
}

/* What is sent is the first part of the epoch's buffer. */
static void what_is_sent(void **state)
{
    (void)state;
    begin_data(two_steps, 2, UINT32_MAX - 1);
    for (uint32_t turn = 0; turn < 4; ++turn) {
        const uint32_t epoch = UINT32_MAX + turn, unit = turn % 2 * 24;
        struct mcp_message message;
        start_data(epoch, unit);
        for (uint32_t i = 0; i < 4; ++i) {
            assert_true(mcp_group_next(group, &message));
            expect_message(&message, MCP_ARRIVE, TO_LINK + i, TO_SLOT + i, epoch);
            assert_int_equal(message.bytes, blocks_of(i) * unit);
            if (1 == i) {
                assert_false(mcp_group_next(group, &message));
                uint32_t cursor = 0;
                assert_true(mcp_group_missing(group, &cursor, &message));
                assert_int_equal(message.bytes, 0);
                expect_arrival(1, epoch, unit);
                expect_arrival(0, epoch, unit);
            }
        }
        expect_arrival(2, epoch, unit);
        expect_arrival(3, epoch, unit);
        expect_sends(0, 0, 0);
        assert_int_equal(done(), epoch);
    }
    end();
}

static void claims(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {0, 100, UINT32_MAX, UINT32_MAX - 1, INT32_MAX};
    for (size_t f = 0; f < sizeof(firsts) / sizeof(firsts[0]); ++f) {
        const uint32_t next = firsts[f] + 1;
        begin_data(at_once, 1, firsts[f]);
        /* Nobody can be there, or there is no such message. */
        expect_claim(2, next + 1, 2 * UNIT_MOST, MCP_IMPLAUSIBLE, 0);
        expect_claim(2, next + INT32_MAX - 1, 2 * UNIT_MOST, MCP_IMPLAUSIBLE, 0);
        expect_claim(4, next, UNIT_MOST, MCP_IMPLAUSIBLE, 0);
        expect_claim(UINT32_MAX, next, UNIT_MOST, MCP_IMPLAUSIBLE, 0);
        /* It came long ago. */
        expect_claim(2, next - 1, 2 * UNIT_MOST, MCP_KNOWN, 0);
        expect_claim(2, next - INT32_MAX, 2 * UNIT_MOST, MCP_KNOWN, 0);
        /* It comes before the host does, and is taken once, also while somebody copies it. */
        expect_claim(2, next, 2 * UNIT_MOST, MCP_RECORDED, 2 * UNIT_MOST);
        expect_claim(2, next, 2 * UNIT_MOST, MCP_KNOWN, 0);
        assert_int_equal(mcp_group_record(group, 2, next), MCP_UNEXPECTED);
        expect_claim(2, next, 2 * UNIT_MOST, MCP_KNOWN, 0);
        start_data(next, UNIT_MOST);
        expect_sends(0, 4, next);
        expect_missing(11, next);
        /* Its sender is ahead, that of another one cannot be, as that message is still missing. */
        expect_claim(2, next + 1, 2 * UNIT_MOST, MCP_RECORDED, 2 * UNIT_MOST);
        assert_int_equal(mcp_group_record(group, 2, next + 1), MCP_UNEXPECTED);
        expect_claim(2, next + 2, 2 * UNIT_MOST, MCP_IMPLAUSIBLE, 0);
        expect_claim(3, next + 1, 3 * UNIT_MOST, MCP_TOO_SOON, 0);
        expect_claim(3, next, 3 * UNIT_MOST, MCP_RECORDED, 3 * UNIT_MOST);
        expect_claim(3, next + 1, 3 * UNIT_MOST, MCP_TOO_SOON, 0); /* it is still being copied */
        expect_missing(11, next);
        assert_int_equal(mcp_group_record(group, 3, next), MCP_RECORDED);
        expect_claim(3, next + 1, 3 * UNIT_MOST, MCP_RECORDED, 3 * UNIT_MOST);
        assert_int_equal(mcp_group_record(group, 3, next + 1), MCP_UNEXPECTED);
        expect_missing(3, next);
        expect_arrival(0, next, UNIT_MOST);
        expect_arrival(1, next, UNIT_MOST);
        expect_sends(0, 0, 0);
        assert_int_equal(done(), next);
        start_data(next + 1, UNIT_MOST);
        expect_sends(0, 4, next + 1);
        expect_missing(3, next + 1);
        end();
    }
}

/* However long a payload is: what does not fit is not copied, but its message has come. */
static void lengths(void **state)
{
    (void)state;
    static const uint32_t strange[] = {1,
                                       5,
                                       3 * UNIT_MOST + 1,
                                       3 * UNIT_MOST + 3,
                                       3 * (UNIT_MOST + MCP_BLOCK_UNIT),
                                       4 * UNIT_MOST,
                                       65507,
                                       UINT32_MAX,
                                       UINT32_MAX / 3 * 3 - 2};
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); ++i) {
        begin_data(at_once, 1, 7);
        expect_claim(3, 8, strange[i], MCP_RECORDED, 0);
        expect_claim(0, 8, strange[i], MCP_RECORDED, 0); /* this one has no blocks */
        expect_claim(3, 8, 3 * UNIT_MOST, MCP_KNOWN, 0);
        end();
    }
    begin_data(at_once, 1, 7);
    expect_claim(3, 8, 0, MCP_RECORDED, 0);
    expect_claim(0, 8, 0, MCP_RECORDED, 0);
    expect_claim(2, 8, 2 * 8, MCP_RECORDED, 2 * 8); /* not our unit, but it fits */
    expect_claim(1, 8, UNIT_MOST, MCP_RECORDED, UNIT_MOST);
    end();
}

static void expect_no_answer(uint32_t place, uint32_t epoch)
{
    struct mcp_message message;
    assert_false(mcp_group_answer(group, TO_NODE + place, TO_SLOT + place, epoch, &message));
}

static void expect_answer(uint32_t place, uint32_t epoch, uint8_t type, uint32_t unit)
{
    struct mcp_message message;
    assert_true(mcp_group_answer(group, TO_NODE + place, TO_SLOT + place, epoch, &message));
    if (MCP_FAIL != type) {
        expect_message(&message, type, TO_LINK + place, TO_SLOT + place, epoch);
    }
    assert_int_equal(message.header.type, type);
    assert_int_equal(message.bytes, MCP_ARRIVE == type ? blocks_of(place) * unit : 0);
}

static void answers_with_data(void **state)
{
    (void)state;
    static const uint32_t firsts[] = {40, UINT32_MAX, UINT32_MAX - 1, INT32_MAX};
    for (size_t f = 0; f < sizeof(firsts) / sizeof(firsts[0]); ++f) {
        const uint32_t a = firsts[f] + 1, b = a + 1, c = b + 1;
        begin_data(two_steps, 2, firsts[f]);
        expect_answer(3, a, MCP_LATER, 0);
        expect_no_answer(3, b); /* nobody can be there */
        start_data(a, 16);
        expect_sends(0, 2, a);
        expect_answer(1, a, MCP_ARRIVE, 16);
        expect_answer(3, a, MCP_LATER, 0);
        expect_arrival(0, a, 16);
        expect_arrival(1, a, 16);
        expect_sends(2, 2, a);
        expect_answer(3, a, MCP_ARRIVE, 16);
        expect_arrival(2, a, 16);
        expect_arrival(3, a, 16);
        expect_sends(0, 0, a);
        assert_int_equal(done(), a);
        expect_answer(3, a, MCP_ARRIVE, 16);
        start_data(b, 32);
        expect_sends(0, 2, b);
        /* That of the epoch that is asked for, not the last one. */
        expect_answer(1, a, MCP_ARRIVE, 16);
        expect_answer(1, b, MCP_ARRIVE, 32);
        expect_answer(3, a, MCP_ARRIVE, 16);
        expect_answer(3, b, MCP_LATER, 0);
        for (uint32_t w = 0; w < 4; ++w) {
            expect_arrival(w, b, 32);
        }
        expect_sends(2, 2, b);
        assert_int_equal(done(), b);
        /* Nobody misses that any more: its buffer will soon have another epoch's blocks. */
        expect_no_answer(1, a);
        expect_no_answer(3, a - 5);
        expect_no_answer(3, a - INT32_MAX + 10);
        expect_answer(1, b, MCP_ARRIVE, 32);
        start_data(c, 0);
        expect_sends(0, 2, c);
        expect_no_answer(1, a);
        expect_answer(1, b, MCP_ARRIVE, 32);
        expect_answer(1, c, MCP_ARRIVE, 0);
        end();
    }
}

/* Everybody has entered the epoch, but the data do not come. What is late is not taken then. */
static void release_without_data(void **state)
{
    (void)state;
    begin_data(at_once, 1, UINT32_MAX);
    assert_int_equal(mcp_group_release(group, 0), MCP_IMPLAUSIBLE);
    start_data(0, 16);
    expect_sends(0, 4, 0);
    expect_arrival(1, 0, 16);
    expect_arrival(1, 1, 16); /* and its sender is ahead */
    assert_int_equal(mcp_group_release(group, 0), MCP_RECORDED);
    for (uint32_t w = 0; w < 4; ++w) {
        expect_claim(w, 0, blocks_of(w) * 16, MCP_KNOWN, 0);
    }
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 0);
    start_data(1, 16);
    expect_sends(0, 4, 1);
    expect_missing(13, 1);
    expect_arrival(2, 1, 16);
    expect_missing(9, 1);
    end();
}

static void failed_with_data(void **state)
{
    (void)state;
    begin_data(two_steps, 2, 3);
    start_data(4, 16);
    expect_sends(0, 2, 4);
    for (uint32_t w = 0; w < 4; ++w) {
        expect_arrival(w, 4, 16);
    }
    expect_sends(2, 2, 4);
    start_data(5, 24);
    expect_sends(0, 2, 5);
    assert_int_equal(mcp_group_fail(group, 11), MCP_RECORDED);
    assert_false(mcp_group_offer(group, 5, 24));
    assert_false(mcp_group_offer(group, 6, 24));
    mcp_group_start(group, 5);
    assert_false(mcp_group_waits_now(group));
    for (uint32_t w = 0; w < 4; ++w) {
        expect_claim(w, 6, blocks_of(w) * 8, MCP_IMPLAUSIBLE, 0);
    }
    expect_sends(0, 0, 0);
    assert_int_equal(done(), 4);
    for (uint32_t p = 0; p < 4; ++p) { /* who misses what was sent still gets it */
        expect_answer(p, 4, MCP_ARRIVE, 16);
        expect_answer(p, 5, p < 2 ? MCP_ARRIVE : MCP_FAIL, 24);
        expect_answer(p, 6, MCP_FAIL, 0);
    }
    end();
}

/* A peer's messages of two epochs come again and again, in any order. */
static void claim_something(struct book *book, uint64_t *random)
{
    const uint32_t slot = crew_below(random, book->nwaits);
    const uint32_t epoch = book->done + crew_below(random, 4), unit = 8 * crew_below(random, 6);
    const uint32_t furthest = book->done + (book->started > book->done ? 2 : 1);
    const uint32_t payload = unit * blocks_of(slot);
    if (epoch > furthest) {
        expect_claim(slot, book->first + epoch, payload, MCP_IMPLAUSIBLE, 0);
    } else if (epoch <= book->come[slot]) {
        expect_claim(slot, book->first + epoch, payload, MCP_KNOWN, 0);
    } else if (epoch > book->come[slot] + 1) {
        expect_claim(slot, book->first + epoch, payload, MCP_TOO_SOON, 0);
    } else {
        expect_claim(slot, book->first + epoch, payload, MCP_RECORDED, payload);
        assert_int_equal(mcp_group_record(group, slot, book->first + epoch),
                         epoch > book->started ? MCP_UNEXPECTED : MCP_RECORDED);
        book->come[slot] = epoch;
    }
}

static void anything_with_data(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 1;
    for (int trial = 0; trial < 100; ++trial) {
        struct book book;
        book_begin(&book, &random);
        begin_data(book.steps, book.nsteps, book.first);
        uint32_t unit[2] = {0, 0};
        while (book.done < 40) {
            if (0 == crew_below(&random, 4) && book.started == book.done) {
                const uint32_t epoch = book.first + ++book.started;
                unit[epoch % 2] = 8 * crew_below(&random, UNIT_MOST / 8 + 1);
                start_data(epoch, unit[epoch % 2]);
            }
            claim_something(&book, &random);
            struct mcp_message message;
            uint32_t place;
            while (book_next(&book, &place)) {
                const uint32_t epoch = book.first + book.sent[place];
                assert_true(mcp_group_next(group, &message));
                expect_message(&message, MCP_ARRIVE, TO_LINK + place, TO_SLOT + place, epoch);
                assert_int_equal(message.bytes, blocks_of(place) * unit[epoch % 2]);
            }
            assert_false(mcp_group_next(group, &message));
            assert_int_equal(done() - book.first, book.done);
            const bool waits = book.done < book.started;
            expect_missing(waits ? book_missing(&book) : 0, book.first + book.done + 1);
            for (uint32_t p = 0; p < book.nsends; ++p) {
                for (uint32_t e = book.done; e <= book.sent[p]; ++e) {
                    expect_answer(p, book.first + e, MCP_ARRIVE, unit[(book.first + e) % 2]);
                }
                expect_no_answer(p, book.first + book.done - 1);
                assert_false(answered(p, book.first + book.sent[p] + 1, 0));
            }
        }
        end();
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(lines),
        cmocka_unit_test(step_by_step),
        cmocka_unit_test(nothing_to_wait_for),
        cmocka_unit_test(starts),
        cmocka_unit_test(starts_far_ahead),
        cmocka_unit_test(all_unexpected),
        cmocka_unit_test(one_epoch_ahead),
        cmocka_unit_test(later_epoch_stands_for_this),
        cmocka_unit_test(implausible),
        cmocka_unit_test(known),
        cmocka_unit_test(missing_of_this_step_only),
        cmocka_unit_test(answers),
        cmocka_unit_test(heard),
        cmocka_unit_test(failed),
        cmocka_unit_test(anything),
        cmocka_unit_test(release),
        cmocka_unit_test(wrap_around),
        cmocka_unit_test(buffers),
        cmocka_unit_test(offers),
        cmocka_unit_test(what_is_sent),
        cmocka_unit_test(claims),
        cmocka_unit_test(lengths),
        cmocka_unit_test(answers_with_data),
        cmocka_unit_test(release_without_data),
        cmocka_unit_test(failed_with_data),
        cmocka_unit_test(anything_with_data),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
