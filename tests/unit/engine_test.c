/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collective engine, one group at a time, message by message: if this fails, a barrier lets a
 * process go before all have come, or never, or a collective gives it other ranks' data.
 *
 * Invariants. A step's messages are sent before it waits. The next step's are not sent before all
 * have come. Messages may come in any order, early by one epoch, twice, or never. What is missing
 * is asked for, and nothing else. What was sent is sent again when asked for, and nothing else.
 * Epochs may wrap around. The memory around a group is left alone.
 *
 * Of a group that carries data, besides: each message is taken once, and not before the one before
 * it. What it carries has its place in the buffer of its epoch. A message that is asked for is that
 * of the epoch that was asked for, as long as anybody may miss it. Epochs begin one by one.
 *
 * A model, the book, says what each call has to return, and what the group is like then. Schedules
 * and calls are drawn at random, also calls that no honest host or peer would make.
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
    UNIT_MOST = 40, /* of a group that carries data */
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

/* Of the messages that are sent and waited for, where they carry data: how many blocks. */
static uint32_t blocks_of(uint32_t place)
{
    return place % 4;
}

static void begin(const struct mcp_step *steps, uint32_t nsteps, uint32_t epoch, bool data)
{
    uint32_t nsends = 0, nwaits = 0, places = 1;
    for (uint32_t s = 0; s < nsteps; ++s) {
        nsends += steps[s].sends;
        nwaits += steps[s].waits;
    }
    memset(&memory, GUARD, sizeof(memory));
    bytes = mcp_group_bytes(nsteps, nsends, nwaits);
    assert_true(bytes <= ROOM);
    mcp_group_init(group, KEY, NODES, MY_NODE, nsteps, nsends, nwaits, epoch);
    memcpy(mcp_group_steps(group), steps, nsteps * sizeof(*steps));
    for (uint32_t i = 0; i < nsends; ++i) {
        mcp_group_sends(group)[i] =
            (struct mcp_peer){TO_LINK + i, (uint16_t)(TO_NODE + i), (uint16_t)(TO_SLOT + i),
                              (uint16_t)(data ? blocks_of(i) : 0), 0};
    }
    for (uint32_t w = 0; w < nwaits; ++w) {
        mcp_group_waits(group)[w] =
            (struct mcp_peer){FROM_LINK + w, (uint16_t)(FROM_NODE + w), 0xffff,
                              (uint16_t)(data ? blocks_of(w) : 0), (uint16_t)places};
        places += blocks_of(w);
    }
    if (data) {
        group->places = places;
        group->unit_most = UNIT_MOST;
        bytes += (size_t)2 * places * UNIT_MOST;
        assert_true(bytes <= ROOM);
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

/* ---- memory ---- */

static void tables(void **state)
{
    (void)state;
    static const struct mcp_step steps[] = {{2, 0}, {0, 3}, {1, 1}};
    for (uint32_t data = 0; data < 2; ++data) {
        begin(steps, 3, 5, 0 != data);
        uint8_t *end_of_tables = (uint8_t *)(mcp_group_claims(group) + 4);
        const size_t buffer = (size_t)group->places * UNIT_MOST;
        assert_ptr_equal(mcp_group_steps(group), group + 1);
        assert_ptr_equal(mcp_group_sends(group), mcp_group_steps(group) + 3);
        assert_ptr_equal(mcp_group_waits(group), mcp_group_sends(group) + 3);
        assert_ptr_equal(mcp_group_arrivals(group), mcp_group_waits(group) + 4);
        assert_ptr_equal(mcp_group_heard(group), mcp_group_arrivals(group) + 4);
        assert_ptr_equal(mcp_group_claims(group), mcp_group_heard(group) + 4);
        assert_true(end_of_tables <= mcp_group_buffer(group, 0));
        assert_true(mcp_group_buffer(group, 0) < end_of_tables + MYR_LINE);
        assert_int_equal((uintptr_t)mcp_group_buffer(group, 0) % MYR_LINE, 0);
        assert_ptr_equal(mcp_group_buffer(group, 1), mcp_group_buffer(group, 0) + buffer);
        assert_ptr_equal(mcp_group_buffer(group, UINT32_MAX), mcp_group_buffer(group, 1));
        assert_ptr_equal(mcp_group_buffer(group, 1) + buffer, memory.room + bytes);
        end();
    }
    assert_int_equal(mcp_group_bytes(0, 0, 0), sizeof(struct mcp_group));
    assert_true(mcp_group_bytes(1, 65535, 65535) > 65535 * (2 * sizeof(struct mcp_peer) + 4));
    /* What hosts read stands apart from what the NIC writes with every message. */
    assert_int_equal(offsetof(struct mcp_group, done) % MYR_LINE, 0);
    assert_int_equal(offsetof(struct mcp_group, key) % MYR_LINE, 0);
    assert_true(offsetof(struct mcp_group, key) >= MYR_LINE);
    assert_int_equal(sizeof(struct mcp_group) % MYR_LINE, 0); /* the tables stand behind */
}

/* ---- the book: what the group has to be like ---- */

/* Epochs are counted on without wrapping around; the group's are the lowest 32 bits of them. */
struct book {
    struct mcp_step steps[MOST_STEPS];
    uint32_t nsteps, nsends, nwaits;
    bool data;
    int64_t started, done, offered;
    uint32_t step, in_step, base_send, base_wait; /* where the epoch done + 1 is */
    int64_t sent[MOST_PEERS];                     /* the last epoch of each message, ... */
    int64_t come[MOST_PEERS], claimed[MOST_PEERS];
    uint32_t heard[MOST_PEERS]; /* ... and when its sender was heard of */
    uint32_t unit[2];
    uint32_t failed; /* the missing node's number + 1 */
};

/* Anything from no step at all, and steps that only send or only wait, to dozens of messages. */
static struct book book_begin(bool data, uint64_t *random)
{
    struct book book = {.nsteps = crew_below(random, MOST_STEPS + 1), .data = data};
    for (uint32_t s = 0; s < book.nsteps; ++s) {
        const uint32_t most = 0 == crew_below(random, 4) ? 8 : 4;
        book.steps[s] = (struct mcp_step){crew_below(random, most), crew_below(random, most)};
        book.nsends += book.steps[s].sends;
        book.nwaits += book.steps[s].waits;
    }
    /* Most groups see their epochs wrap around, or their sign change. */
    const int64_t ends[] = {UINT32_MAX, INT32_MAX, (int64_t)crew_below(random, UINT32_MAX)};
    book.started = book.done = book.offered = ends[crew_below(random, 3)] - crew_below(random, 12);
    for (uint32_t p = 0; p < MOST_PEERS; ++p) {
        book.sent[p] = book.come[p] = book.claimed[p] = book.done;
    }
    begin(book.steps, book.nsteps, (uint32_t)book.done, data);
    return book;
}

static bool book_waits(const struct book *book)
{
    return book->done < book->started;
}

static bool book_misses(const struct book *book, uint32_t slot)
{
    return book_waits(book) && book->step < book->nsteps && slot >= book->base_wait &&
           slot < book->base_wait + book->steps[book->step].waits && book->come[slot] <= book->done;
}

/* Go on to the next message that is to be sent; false if something else must happen first. */
static bool book_next(struct book *book, uint32_t *place)
{
    while (book_waits(book)) {
        if (book->step == book->nsteps) {
            book->step = book->base_send = book->base_wait = 0;
            ++book->done;
            continue;
        }
        const struct mcp_step *step = &book->steps[book->step];
        if (book->in_step < step->sends) {
            *place = book->base_send + book->in_step++;
            book->sent[*place] = book->done + 1;
            return true;
        }
        for (uint32_t w = 0; w < step->waits; ++w) {
            if (book_misses(book, book->base_wait + w)) {
                return false;
            }
        }
        book->base_send += step->sends;
        book->base_wait += step->waits;
        book->in_step = 0;
        ++book->step;
    }
    return false;
}

/* A peer cannot be further than that. */
static bool book_believes(const struct book *book, uint32_t slot, int64_t epoch)
{
    return slot < book->nwaits && epoch <= book->done + (book_waits(book) ? 2 : 1);
}

/* ---- calls, by hosts and peers who are honest or not ---- */

static int64_t any_epoch(const struct book *book, uint64_t *random)
{
    static const int64_t far[] = {8 - INT32_MAX, -1000, 1000, INT32_MAX - 8};
    return book->done + (0 == crew_below(random, 20) ? far[crew_below(random, 4)]
                                                     : (int64_t)crew_below(random, 6) - 1);
}

static uint32_t any_slot(const struct book *book, uint64_t *random)
{
    static const uint32_t strange[] = {0, 1, 1000, 65535, UINT32_MAX};
    return 0 == crew_below(random, 20) || 0 == book->nwaits
               ? book->nwaits + strange[crew_below(random, 4)]
               : crew_below(random, book->nwaits);
}

/* A host says that it has arrived: again, late, or far too early. Where there are data, these are
 * in the buffer before. */
static void start(struct book *book, uint64_t *random)
{
    static const int64_t far[] = {-1000, MCP_OUTSTANDING, 3 * MCP_OUTSTANDING, INT32_MAX - 8};
    const int64_t most = book->done + (book->data ? 1 : MCP_OUTSTANDING);
    const int64_t epoch = book->done + (0 == crew_below(random, 30) ? far[crew_below(random, 4)]
                                                                    : crew_below(random, 4));
    if (book->data && book->offered == book->done) {
        return;
    }
    mcp_group_start(group, (uint32_t)epoch);
    const int64_t begun = epoch < most ? epoch : most;
    if (begun > book->started && 0 == book->failed) {
        book->started = begun;
    }
}

static void offer(struct book *book, uint64_t *random)
{
    static const uint32_t strange[] = {4, 9, UNIT_MOST + MCP_BLOCK_UNIT,
                                       UINT32_MAX / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT};
    const int64_t epoch = 0 == crew_below(random, 4) ? any_epoch(book, random) : book->done + 1;
    const bool good = 0 != crew_below(random, 8);
    const uint32_t unit = good ? MCP_BLOCK_UNIT * crew_below(random, UNIT_MOST / MCP_BLOCK_UNIT + 1)
                               : strange[crew_below(random, 4)];
    const bool taken =
        good && epoch == book->done + 1 && epoch != book->offered && 0 == book->failed;
    assert_int_equal(mcp_group_offer(group, (uint32_t)epoch, unit), taken);
    if (taken) {
        book->offered = epoch;
        book->unit[epoch % 2] = unit;
    }
}

static void record(struct book *book, uint32_t slot, int64_t epoch)
{
    enum mcp_recorded expected = MCP_IMPLAUSIBLE;
    if (book_believes(book, slot, epoch)) {
        expected = epoch <= book->come[slot] ? MCP_KNOWN
                   : epoch <= book->started  ? MCP_RECORDED
                                             : MCP_UNEXPECTED;
        book->come[slot] = epoch > book->come[slot] ? epoch : book->come[slot];
    }
    assert_int_equal(mcp_group_record(group, slot, (uint32_t)epoch), expected);
}

/* A payload has come. It is honest, or so long that it fits nowhere. Then it has no place, but its
 * message counts. */
static void claim(struct book *book, uint32_t slot, int64_t epoch, uint64_t *random)
{
    static const uint32_t strange[] = {
        1,     5,          3 * UNIT_MOST + 1,     3 * (UNIT_MOST + MCP_BLOCK_UNIT), 4 * UNIT_MOST,
        65507, UINT32_MAX, UINT32_MAX / 3 * 3 - 2};
    const uint32_t blocks = blocks_of(slot), unit = MCP_BLOCK_UNIT * crew_below(random, 6);
    const bool fits = 0 != crew_below(random, 8);
    uint32_t count = fits ? unit * blocks : strange[crew_below(random, 8)], offset = UINT32_MAX;
    const uint32_t taken = fits ? count : 0;
    enum mcp_recorded expected = MCP_RECORDED;
    if (!book_believes(book, slot, epoch)) {
        expected = MCP_IMPLAUSIBLE;
    } else if (epoch <= book->claimed[slot]) {
        expected = MCP_KNOWN;
    } else if (epoch > book->come[slot] + 1) {
        expected = MCP_TOO_SOON;
    }
    assert_int_equal(mcp_group_claim(group, slot, (uint32_t)epoch, &count, &offset), expected);
    if (MCP_RECORDED == expected) {
        book->claimed[slot] = epoch;
        assert_int_equal(count, taken);
        assert_true(offset + count <= group->places * UNIT_MOST);
        assert_true(0 == taken || offset == mcp_group_waits(group)[slot].at * unit);
    }
}

/* A message comes; that it has come is told once its payload was copied. */
static void arrive(struct book *book, uint64_t *random)
{
    const uint32_t slot = any_slot(book, random);
    const int64_t epoch = any_epoch(book, random);
    if (!book->data) {
        record(book, slot, epoch);
    } else if (slot < book->nwaits && book->claimed[slot] > book->come[slot]) {
        claim(book, slot, epoch, random); /* while another one is being copied */
        record(book, slot, book->claimed[slot]);
    } else {
        claim(book, slot, epoch, random);
        if (slot < book->nwaits && 0 != crew_below(random, 4)) {
            record(book, slot, book->claimed[slot]);
        }
    }
}

static void release(struct book *book, uint64_t *random)
{
    const int64_t epoch = any_epoch(book, random);
    enum mcp_recorded expected = MCP_RECORDED;
    if (epoch <= book->done) {
        expected = MCP_KNOWN;
    } else if (epoch > book->started || epoch > book->done + 1) {
        expected = MCP_IMPLAUSIBLE;
    }
    assert_int_equal(mcp_group_release(group, (uint32_t)epoch), expected);
    for (uint32_t w = 0; w < book->nwaits && MCP_RECORDED == expected; ++w) {
        if (book->come[w] < epoch) {
            book->come[w] = book->claimed[w] = epoch;
        }
    }
}

/* A peer that is asked is heard, as long as it is missing; and nothing moves by that. */
static void hear(struct book *book, uint64_t *random)
{
    const uint32_t slot = any_slot(book, random), now_ms = crew_below(random, 4);
    const uint32_t node = FROM_NODE + slot + (0 == crew_below(random, 8));
    const int64_t epoch = any_epoch(book, random);
    enum mcp_recorded expected = MCP_RECORDED;
    if (slot >= book->nwaits || node != FROM_NODE + slot || epoch > book->done + 1) {
        expected = MCP_IMPLAUSIBLE;
    } else if (epoch <= book->done || epoch <= book->come[slot]) {
        expected = MCP_KNOWN;
    } else {
        book->heard[slot] = 0 == now_ms ? 1 : now_ms; /* 0 is never */
    }
    assert_int_equal(mcp_group_hear(group, node, slot, (uint32_t)epoch, now_ms), expected);
}

static void lose(struct book *book, uint64_t *random)
{
    static const uint32_t nodes[] = {0, 11, NODES - 1, NODES, UINT16_MAX};
    const uint32_t missing = nodes[crew_below(random, 5)];
    enum mcp_recorded expected = MCP_IMPLAUSIBLE;
    if (missing < NODES) {
        expected = 0 == book->failed ? MCP_RECORDED : MCP_KNOWN;
        book->failed = 0 == book->failed ? missing + 1 : book->failed;
        book->started = book->done;
    }
    assert_int_equal(mcp_group_fail(group, missing), expected);
}

/* ---- what the group has to do, and to be like ---- */

static void expect_message(const struct mcp_message *message, uint8_t type, mcp_link link,
                           uint32_t slot, int64_t epoch)
{
    assert_int_equal(message->to, link);
    assert_int_equal(message->header.type, type);
    assert_int_equal(message->header.key, KEY);
    assert_int_equal(message->header.collective.epoch, (uint32_t)epoch);
    assert_int_equal(message->header.collective.slot, slot);
    assert_int_equal(message->header.collective.node, MY_NODE);
}

static uint32_t payload_of(const struct book *book, uint32_t place, int64_t epoch)
{
    return book->data ? blocks_of(place) * book->unit[epoch % 2] : 0;
}

static void expect_sends(struct book *book)
{
    struct mcp_message message;
    uint32_t place;
    while (book_next(book, &place)) {
        const int64_t epoch = book->done + 1;
        assert_true(mcp_group_next(group, &message));
        expect_message(&message, MCP_ARRIVE, TO_LINK + place, TO_SLOT + place, epoch);
        assert_int_equal(message.bytes, payload_of(book, place, epoch));
    }
    assert_false(mcp_group_next(group, &message));
    assert_false(mcp_group_next(group, &message));
}

/* Asked for is what the present step misses, and it is known who that is. */
static void expect_missing(const struct book *book)
{
    struct mcp_message message;
    struct mcp_missing missing;
    uint32_t asked = 0, awaited = 0;
    for (uint32_t w = 0; w < book->nwaits; ++w) {
        if (book_misses(book, w)) {
            assert_true(mcp_group_missing(group, &asked, &message));
            expect_message(&message, MCP_ASK, FROM_LINK + w, w, book->done + 1);
            assert_int_equal(message.bytes, 0);
            assert_true(mcp_group_awaits(group, &awaited, &missing));
            assert_int_equal(missing.node, FROM_NODE + w);
            assert_int_equal(missing.heard_ms, book->heard[w]);
        }
    }
    assert_false(mcp_group_missing(group, &asked, &message));
    assert_false(mcp_group_missing(group, &asked, &message));
    assert_false(mcp_group_awaits(group, &awaited, &missing));
}

/* The message, or where there are data the message of that epoch, unless nobody can miss it any
 * more; that it will come, or never will; nothing where who asks cannot be there. */
static void expect_answer(const struct book *book, uint32_t place, int64_t epoch)
{
    struct mcp_message message;
    const bool sent = epoch <= book->sent[place];
    const bool answers =
        sent ? !book->data || epoch >= book->done : 0 != book->failed || epoch <= book->started + 1;
    const uint32_t node = TO_NODE + place, slot = TO_SLOT + place;
    assert_int_equal(mcp_group_answer(group, node, slot, (uint32_t)epoch, &message), answers);
    if (!answers) {
        return;
    }
    if (sent) {
        const int64_t with = book->data ? epoch : book->sent[place];
        expect_message(&message, MCP_ARRIVE, TO_LINK + place, slot, with);
        assert_int_equal(message.bytes, payload_of(book, place, with));
    } else if (0 == book->failed) {
        expect_message(&message, MCP_LATER, TO_LINK + place, slot, epoch);
    } else {
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, book->failed - 1);
        assert_int_equal(message.to, TO_LINK + place);
    }
    assert_true(sent || 0 == message.bytes);
}

static void expect_answers(const struct book *book, uint64_t *random)
{
    struct mcp_message message;
    for (uint32_t p = 0; p < book->nsends; ++p) {
        for (int64_t epoch = book->done - 1; epoch <= book->done + 2; ++epoch) {
            expect_answer(book, p, epoch);
        }
    }
    if (0 != book->nsends) {
        expect_answer(book, crew_below(random, book->nsends), any_epoch(book, random));
    }
    const uint32_t epoch = (uint32_t)book->done; /* nobody has asked for this here: */
    assert_false(mcp_group_answer(group, TO_NODE, TO_SLOT + 1, epoch, &message));
    assert_false(mcp_group_answer(group, TO_NODE + 1, TO_SLOT, epoch, &message));
    assert_false(mcp_group_answer(group, FROM_NODE, TO_SLOT, epoch, &message));
    assert_false(
        mcp_group_answer(group, TO_NODE + book->nsends, TO_SLOT + book->nsends, epoch, &message));
}

static void expect_state(const struct book *book)
{
    assert_int_equal(myr_load_acquire(&group->done), (uint32_t)book->done);
    assert_int_equal(group->started, (uint32_t)book->started);
    assert_int_equal(mcp_group_waits_now(group), book_waits(book));
    assert_int_equal(myr_load_acquire(&group->failed), book->failed);
    for (uint32_t w = 0; w < book->nwaits; ++w) {
        assert_int_equal(mcp_group_arrivals(group)[w], (uint32_t)book->come[w]);
        assert_int_equal(mcp_group_heard(group)[w], book->heard[w]);
        assert_true(!book->data || mcp_group_claims(group)[w] == (uint32_t)book->claimed[w]);
    }
}

/* Whoever is told of a failure, is told by whom it was caused. */
static void expect_failures(const struct book *book)
{
    struct mcp_message message;
    for (uint32_t p = 0; p < book->nsends + book->nwaits && 0 != book->failed; ++p) {
        mcp_group_failure(group, p, &message);
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, book->failed - 1);
        assert_int_equal(message.to, p < book->nsends ? TO_LINK + p : FROM_LINK + p - book->nsends);
    }
}

/* Half of the groups fail in the end, and play on for a while. */
static void play(bool data, uint64_t *random)
{
    enum { EPOCHS = 15, TURNS_LEFT = 30 };
    struct book book = book_begin(data, random);
    const int64_t first = book.done;
    const bool fails = 0 == crew_below(random, 2);
    uint32_t left = TURNS_LEFT;
    expect_state(&book);
    while (left > 0) {
        const uint32_t what = crew_below(random, 32);
        if (what < 4) {
            start(&book, random);
        } else if (what < 8 && data) {
            offer(&book, random);
        } else if (8 == what) {
            release(&book, random);
        } else if (what < 12) {
            hear(&book, random);
        } else if (12 == what && fails && book.done > first + EPOCHS) {
            lose(&book, random);
        } else {
            arrive(&book, random);
        }
        expect_sends(&book);
        expect_state(&book);
        expect_missing(&book);
        expect_answers(&book, random);
        left -= fails ? 0 != book.failed : book.done > first + EPOCHS;
    }
    expect_failures(&book);
    end();
}

static void anything(void **state)
{
    (void)state;
    uint64_t random = crew_seed();
    for (int trial = 0; trial < 200; ++trial) {
        play(false, &random);
    }
}

static void anything_with_data(void **state)
{
    (void)state;
    uint64_t random = crew_seed() + 1;
    for (int trial = 0; trial < 200; ++trial) {
        play(true, &random);
    }
}

int main(void)
{
    crew_watchdog();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),
        cmocka_unit_test(anything),
        cmocka_unit_test(anything_with_data),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
