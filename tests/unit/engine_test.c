/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the collective engine for one group, message by message. A failure means that a barrier
 * releases a process before all have entered it, or never, or that a collective returns other
 * ranks' data.
 *
 * Invariants:
 *
 * - The engine sends a step's messages before it waits, and the next step's only after all have
 *   arrived.
 * - Messages may arrive in any order, one epoch early, twice, or never.
 * - The engine requests exactly the missing messages, and answers a request with exactly the
 *   message that was sent.
 * - Epochs may wrap around.
 * - The memory around a group is unchanged.
 *
 * In a group that carries data, each message of a slot is claimed once, after its predecessor, and
 * its payload has a fixed place in the buffer of the epoch. As long as a peer may miss a message, a
 * request for it is answered with the message of the requested epoch. Epochs begin one after the
 * other.
 *
 * A model predicts the result of each call, and the state of the group. Schedules and calls are
 * random, and include calls that no correct host or peer would make.
 */
#include "firmware/engine.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"

enum {
    ROOM = 1 << 16, /* size of a group */
    GUARD = 0x5a,
    NODES = 400,
    MY_NODE = 7,
    KEY = 0x4711,
    MOST_STEPS = 8,
    MOST_PEERS = 64,
    UNIT_MOST = 40, /* size of a block, if the group carries data */
};

/* Peers are numbered by index: message i is sent to node 100 + i, slot 200 + i, and the message for
 * slot w is sent by node 300 + w. */
enum { TO_NODE = 100, TO_SLOT = 200, FROM_NODE = 300, TO_LINK = 10000, FROM_LINK = 20000 };

static struct {
    _Alignas(MYR_LINE) uint8_t before[MYR_LINE];
    _Alignas(MYR_LINE) uint8_t room[ROOM];
} memory;

static struct mcp_group *const group = (struct mcp_group *)memory.room;
static size_t bytes;

/* Returns the number of blocks in a message of a group that carries data. */
static uint32_t blocks_of(uint32_t place)
{
    return place % 4;
}

static void begin(const struct mcp_step *steps, uint32_t nsteps, uint32_t epoch, bool data)
{
    uint32_t nsends = 0, nwaits = 0, buffer_blocks = 1;
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
                              (uint16_t)(data ? blocks_of(w) : 0), (uint16_t)buffer_blocks};
        buffer_blocks += blocks_of(w);
    }
    if (data) {
        group->buffer_blocks = buffer_blocks;
        group->unit_most = UNIT_MOST;
        bytes += (size_t)2 * buffer_blocks * UNIT_MOST;
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

/* Fields that hosts read are in other cache lines than those that the NIC writes with every
 * message. The tables follow the struct, and the buffers, which alternate, begin with a line. */
TEST(cache_lines)
{
    static const struct mcp_step steps[] = {{2, 0}, {0, 3}, {1, 1}};
    begin(steps, 3, 5, true);
    const uint8_t *even = mcp_group_buffer(group, 0), *odd = mcp_group_buffer(group, UINT32_MAX);
    assert_int_equal(((uintptr_t)even - (uintptr_t)group) % MYR_LINE, 0);
    assert_int_equal(odd - even, group->buffer_blocks * UNIT_MOST);
    assert_ptr_equal(odd + (odd - even), memory.room + bytes);
    assert_int_equal(offsetof(struct mcp_group, done) % MYR_LINE, 0);
    assert_int_equal(offsetof(struct mcp_group, key) % MYR_LINE, 0);
    assert_true(offsetof(struct mcp_group, key) >= MYR_LINE);
    assert_int_equal(sizeof(struct mcp_group) % MYR_LINE, 0);
    end();
}

/* ---- the model: expected state of the group ---- */

/* The model's epochs do not wrap around. The group's are their lowest 32 bits. */
struct model {
    struct mcp_step steps[MOST_STEPS];
    uint32_t nsteps, nsends, nwaits;
    bool data;
    int64_t started, done, offered;
    uint32_t step, in_step, base_send, base_wait; /* the position within epoch done + 1 */
    int64_t sent[MOST_PEERS]; /* [message]: the last epoch in which it was sent */
    /* [slot]: the last epochs recorded and claimed */
    int64_t come[MOST_PEERS], claimed[MOST_PEERS];
    uint32_t heard[MOST_PEERS]; /* time of the last message */
    uint32_t unit[2];
    uint32_t failed; /* the missing node + 1 */
};

/* A random schedule: no steps, steps that only send or only wait, or dozens of messages. */
static struct model model_begin(bool data, uint64_t *random)
{
    struct model model = {.nsteps = crew_below(random, MOST_STEPS + 1), .data = data};
    for (uint32_t s = 0; s < model.nsteps; ++s) {
        const uint32_t most = 0 == crew_below(random, 4) ? 8 : 4;
        model.steps[s] = (struct mcp_step){crew_below(random, most), crew_below(random, most)};
        model.nsends += model.steps[s].sends;
        model.nwaits += model.steps[s].waits;
    }
    /* In most groups, epochs wrap around or change their sign. */
    const int64_t ends[] = {UINT32_MAX, INT32_MAX, (int64_t)crew_below(random, UINT32_MAX)};
    model.started = model.done = model.offered =
        ends[crew_below(random, 3)] - crew_below(random, 12);
    for (uint32_t p = 0; p < MOST_PEERS; ++p) {
        model.sent[p] = model.come[p] = model.claimed[p] = model.done;
    }
    begin(model.steps, model.nsteps, (uint32_t)model.done, data);
    return model;
}

static bool model_waits(const struct model *model)
{
    return model->done < model->started;
}

static bool model_misses(const struct model *model, uint32_t slot)
{
    return model_waits(model) && model->step < model->nsteps && slot >= model->base_wait &&
           slot < model->base_wait + model->steps[model->step].waits &&
           model->come[slot] <= model->done;
}

/* Advance to the next message to be sent. Returns false if something else must happen before. */
static bool model_next(struct model *model, uint32_t *place)
{
    while (model_waits(model)) {
        if (model->step == model->nsteps) {
            model->step = model->base_send = model->base_wait = 0;
            ++model->done;
            continue;
        }
        const struct mcp_step *step = &model->steps[model->step];
        if (model->in_step < step->sends) {
            *place = model->base_send + model->in_step++;
            model->sent[*place] = model->done + 1;
            return true;
        }
        for (uint32_t w = 0; w < step->waits; ++w) {
            if (model_misses(model, model->base_wait + w)) {
                return false;
            }
        }
        model->base_send += step->sends;
        model->base_wait += step->waits;
        model->in_step = 0;
        ++model->step;
    }
    return false;
}

/* Returns whether the group accepts a message: one from beyond the next epoch is implausible. */
static bool model_believes(const struct model *model, uint32_t slot, int64_t epoch)
{
    return slot < model->nwaits && epoch <= model->done + (model_waits(model) ? 2 : 1);
}

/* ---- calls of correct and incorrect hosts and peers ---- */

static int64_t any_epoch(const struct model *model, uint64_t *random)
{
    static const int64_t far[] = {8 - INT32_MAX, -1000, 1000, INT32_MAX - 8};
    return model->done + (0 == crew_below(random, 20) ? far[crew_below(random, 4)]
                                                      : (int64_t)crew_below(random, 6) - 1);
}

static uint32_t any_slot(const struct model *model, uint64_t *random)
{
    static const uint32_t strange[] = {0, 1, 1000, 65535, UINT32_MAX};
    return 0 == crew_below(random, 20) || 0 == model->nwaits
               ? model->nwaits + strange[crew_below(random, 4)]
               : crew_below(random, model->nwaits);
}

/* Let a host arrive: repeatedly, late, or far too early. Data must have been offered before. */
static void start(struct model *model, uint64_t *random)
{
    static const int64_t far[] = {-1000, MCP_OUTSTANDING, 3 * MCP_OUTSTANDING, INT32_MAX - 8};
    const int64_t most = model->done + (model->data ? 1 : MCP_OUTSTANDING);
    const int64_t epoch = model->done + (0 == crew_below(random, 30) ? far[crew_below(random, 4)]
                                                                     : crew_below(random, 4));
    if (model->data && model->offered == model->done) {
        return;
    }
    mcp_group_start(group, (uint32_t)epoch);
    const int64_t bounded = epoch < most ? epoch : most;
    if (bounded > model->started && 0 == model->failed) {
        model->started = bounded;
    }
}

static void offer(struct model *model, uint64_t *random)
{
    static const uint32_t strange[] = {4, 9, UNIT_MOST + MCP_BLOCK_UNIT,
                                       UINT32_MAX / MCP_BLOCK_UNIT * MCP_BLOCK_UNIT};
    const int64_t epoch = 0 == crew_below(random, 4) ? any_epoch(model, random) : model->done + 1;
    const bool good = 0 != crew_below(random, 8);
    const uint32_t unit = good ? MCP_BLOCK_UNIT * crew_below(random, UNIT_MOST / MCP_BLOCK_UNIT + 1)
                               : strange[crew_below(random, 4)];
    const bool taken =
        good && epoch == model->done + 1 && epoch != model->offered && 0 == model->failed;
    assert_int_equal(mcp_group_offer(group, (uint32_t)epoch, unit), taken);
    if (taken) {
        model->offered = epoch;
        model->unit[epoch % 2] = unit;
    }
}

static void record(struct model *model, uint32_t slot, int64_t epoch)
{
    enum mcp_recorded expected = MCP_IMPLAUSIBLE;
    if (model_believes(model, slot, epoch)) {
        expected = epoch <= model->come[slot] ? MCP_KNOWN
                   : epoch <= model->started  ? MCP_RECORDED
                                              : MCP_UNEXPECTED;
        model->come[slot] = epoch > model->come[slot] ? epoch : model->come[slot];
    }
    assert_int_equal(mcp_group_record(group, slot, (uint32_t)epoch), expected);
}

/* Let a payload arrive, of correct length or far too long. A payload that is too long is not
 * stored, but its message counts. */
static void claim(struct model *model, uint32_t slot, int64_t epoch, uint64_t *random)
{
    static const uint32_t strange[] = {
        1,     5,          3 * UNIT_MOST + 1,     3 * (UNIT_MOST + MCP_BLOCK_UNIT), 4 * UNIT_MOST,
        65507, UINT32_MAX, UINT32_MAX / 3 * 3 - 2};
    const uint32_t blocks = blocks_of(slot), unit = MCP_BLOCK_UNIT * crew_below(random, 6);
    const bool fits = 0 != crew_below(random, 8);
    uint32_t count = fits ? unit * blocks : strange[crew_below(random, 8)], offset = UINT32_MAX;
    const uint32_t taken = fits ? count : 0;
    enum mcp_recorded expected = MCP_RECORDED;
    if (!model_believes(model, slot, epoch)) {
        expected = MCP_IMPLAUSIBLE;
    } else if (epoch <= model->claimed[slot]) {
        expected = MCP_KNOWN;
    } else if (epoch > model->come[slot] + 1) {
        expected = MCP_TOO_SOON;
    }
    assert_int_equal(mcp_group_claim(group, slot, (uint32_t)epoch, &count, &offset), expected);
    if (MCP_RECORDED == expected) {
        model->claimed[slot] = epoch;
        assert_int_equal(count, taken);
        assert_true(offset + count <= group->buffer_blocks * UNIT_MOST);
        assert_true(0 == taken || offset == mcp_group_waits(group)[slot].at * unit);
    }
}

/* Let a message arrive. It is recorded after its payload was copied. */
static void arrive(struct model *model, uint64_t *random)
{
    const uint32_t slot = any_slot(model, random);
    const int64_t epoch = any_epoch(model, random);
    if (!model->data) {
        record(model, slot, epoch);
    } else if (slot < model->nwaits && model->claimed[slot] > model->come[slot]) {
        claim(model, slot, epoch, random); /* while another payload is being copied */
        record(model, slot, model->claimed[slot]);
    } else {
        claim(model, slot, epoch, random);
        if (slot < model->nwaits && 0 != crew_below(random, 4)) {
            record(model, slot, model->claimed[slot]);
        }
    }
}

static void release(struct model *model, uint64_t *random)
{
    const int64_t epoch = any_epoch(model, random);
    enum mcp_recorded expected = MCP_RECORDED;
    if (epoch <= model->done) {
        expected = MCP_KNOWN;
    } else if (epoch > model->started || epoch > model->done + 1) {
        expected = MCP_IMPLAUSIBLE;
    }
    assert_int_equal(mcp_group_release(group, (uint32_t)epoch), expected);
    for (uint32_t w = 0; w < model->nwaits && MCP_RECORDED == expected; ++w) {
        if (model->come[w] < epoch) {
            model->come[w] = model->claimed[w] = epoch;
        }
    }
}

/* Let a LATER of a missing peer arrive. It is recorded with its time, and changes nothing else. */
static void later(struct model *model, uint64_t *random)
{
    const uint32_t slot = any_slot(model, random), now_ms = crew_below(random, 4);
    const uint32_t node = FROM_NODE + slot + (0 == crew_below(random, 8));
    const int64_t epoch = any_epoch(model, random);
    enum mcp_recorded expected = MCP_RECORDED;
    if (slot >= model->nwaits || node != FROM_NODE + slot || epoch > model->done + 1) {
        expected = MCP_IMPLAUSIBLE;
    } else if (epoch <= model->done || epoch <= model->come[slot]) {
        expected = MCP_KNOWN;
    } else {
        model->heard[slot] = 0 == now_ms ? 1 : now_ms; /* 0 means never */
    }
    assert_int_equal(mcp_group_hear(group, node, slot, (uint32_t)epoch, now_ms), expected);
}

static void fail_node(struct model *model, uint64_t *random)
{
    static const uint32_t nodes[] = {0, 11, NODES - 1, NODES, UINT16_MAX};
    const uint32_t missing = nodes[crew_below(random, 5)];
    enum mcp_recorded expected = MCP_IMPLAUSIBLE;
    if (missing < NODES) {
        expected = 0 == model->failed ? MCP_RECORDED : MCP_KNOWN;
        model->failed = 0 == model->failed ? missing + 1 : model->failed;
        model->started = model->done;
    }
    assert_int_equal(mcp_group_fail(group, missing), expected);
}

/* ---- expected results ---- */

static void expect_message(const struct mcp_message *message, uint8_t type, mcp_link link,
                           uint32_t slot, int64_t epoch)
{
    assert_int_equal(message->to, link);
    assert_int_equal(message->header.type, type);
    assert_int_equal(message->header.key, KEY);
    assert_int_equal(message->header.collective.epoch, (uint32_t)epoch);
    assert_int_equal(message->header.collective.slot, slot);
    assert_int_equal(message->header.collective.node,
                     MCP_ARRIVE == type ? TO_NODE + slot - TO_SLOT : MY_NODE);
}

static uint32_t payload_of(const struct model *model, uint32_t place, int64_t epoch)
{
    return model->data ? blocks_of(place) * model->unit[epoch % 2] : 0;
}

static void expect_sends(struct model *model)
{
    struct mcp_message message;
    uint32_t place;
    while (model_next(model, &place)) {
        const int64_t epoch = model->done + 1;
        assert_true(mcp_group_next(group, &message));
        expect_message(&message, MCP_ARRIVE, TO_LINK + place, TO_SLOT + place, epoch);
        assert_int_equal(message.bytes, payload_of(model, place, epoch));
    }
    assert_false(mcp_group_next(group, &message));
    assert_false(mcp_group_next(group, &message));
}

/* Check that exactly the messages that the current step misses are requested, and their senders
 * reported. */
static void expect_missing(const struct model *model)
{
    struct mcp_message message;
    struct mcp_missing missing;
    uint32_t asked = 0, awaited = 0;
    for (uint32_t w = 0; w < model->nwaits; ++w) {
        if (model_misses(model, w)) {
            assert_true(mcp_group_missing(group, &asked, &message));
            expect_message(&message, MCP_ASK, FROM_LINK + w, w, model->done + 1);
            assert_int_equal(message.bytes, 0);
            assert_true(mcp_group_awaits(group, &awaited, &missing));
            assert_int_equal(missing.node, FROM_NODE + w);
            assert_int_equal(missing.heard_ms, model->heard[w]);
        }
    }
    assert_false(mcp_group_missing(group, &asked, &message));
    assert_false(mcp_group_missing(group, &asked, &message));
    assert_false(mcp_group_awaits(group, &awaited, &missing));
}

/* Check the response to a request. It is the message itself, LATER or FAIL. There is none if the
 * request is implausible, or asks for data that no peer can miss any more. */
static void expect_answer(const struct model *model, uint32_t place, int64_t epoch)
{
    struct mcp_message message;
    const bool sent = epoch <= model->sent[place];
    const bool answers = sent ? !model->data || epoch >= model->done
                              : 0 != model->failed || epoch <= model->started + 1;
    const uint32_t node = TO_NODE + place, slot = TO_SLOT + place;
    assert_int_equal(mcp_group_answer(group, node, slot, (uint32_t)epoch, &message), answers);
    if (!answers) {
        return;
    }
    if (sent) {
        const int64_t with = model->data ? epoch : model->sent[place];
        expect_message(&message, MCP_ARRIVE, TO_LINK + place, slot, with);
        assert_int_equal(message.bytes, payload_of(model, place, with));
    } else if (0 == model->failed) {
        expect_message(&message, MCP_LATER, TO_LINK + place, slot, epoch);
    } else {
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, model->failed - 1);
        assert_int_equal(message.to, TO_LINK + place);
    }
    assert_true(sent || 0 == message.bytes);
}

static void expect_answers(const struct model *model, uint64_t *random)
{
    struct mcp_message message;
    for (uint32_t p = 0; p < model->nsends; ++p) {
        for (int64_t epoch = model->done - 1; epoch <= model->done + 2; ++epoch) {
            expect_answer(model, p, epoch);
        }
    }
    if (0 != model->nsends) {
        expect_answer(model, crew_below(random, model->nsends), any_epoch(model, random));
    }
    const uint32_t epoch = (uint32_t)model->done; /* requests for messages that do not exist */
    assert_false(mcp_group_answer(group, TO_NODE, TO_SLOT + 1, epoch, &message));
    assert_false(mcp_group_answer(group, TO_NODE + 1, TO_SLOT, epoch, &message));
    assert_false(mcp_group_answer(group, FROM_NODE, TO_SLOT, epoch, &message));
    assert_false(
        mcp_group_answer(group, TO_NODE + model->nsends, TO_SLOT + model->nsends, epoch, &message));
}

static void expect_state(const struct model *model)
{
    assert_int_equal(myr_load_acquire(&group->done), (uint32_t)model->done);
    assert_int_equal(group->started, (uint32_t)model->started);
    assert_int_equal(mcp_group_waits_now(group), model_waits(model));
    assert_int_equal(myr_load_acquire(&group->failed), model->failed);
    for (uint32_t w = 0; w < model->nwaits; ++w) {
        assert_int_equal(mcp_group_arrivals(group)[w], (uint32_t)model->come[w]);
        assert_int_equal(mcp_group_heard(group)[w], model->heard[w]);
        assert_true(!model->data || mcp_group_claims(group)[w] == (uint32_t)model->claimed[w]);
    }
}

/* Check that a FAIL names the missing node. */
static void expect_failures(const struct model *model)
{
    struct mcp_message message;
    for (uint32_t p = 0; p < model->nsends + model->nwaits && 0 != model->failed; ++p) {
        mcp_group_failure(group, p, &message);
        assert_int_equal(message.header.type, MCP_FAIL);
        assert_int_equal(message.header.collective.node, model->failed - 1);
        assert_int_equal(message.to,
                         p < model->nsends ? TO_LINK + p : FROM_LINK + p - model->nsends);
    }
}

/* Execute random calls. Half of the groups fail at the end, and continue for some calls. */
static void play(bool data, uint64_t *random)
{
    enum { EPOCHS = 15, CALLS_LEFT = 30 };
    struct model model = model_begin(data, random);
    const int64_t first = model.done;
    const bool fails = 0 == crew_below(random, 2);
    uint32_t left = CALLS_LEFT;
    expect_state(&model);
    while (left > 0) {
        const uint32_t what = crew_below(random, 32);
        if (what < 4) {
            start(&model, random);
        } else if (what < 8 && data) {
            offer(&model, random);
        } else if (8 == what) {
            release(&model, random);
        } else if (what < 12) {
            later(&model, random);
        } else if (12 == what && fails && model.done > first + EPOCHS) {
            fail_node(&model, random);
        } else {
            arrive(&model, random);
        }
        expect_sends(&model);
        expect_state(&model);
        expect_missing(&model);
        expect_answers(&model, random);
        left -= fails ? 0 != model.failed : model.done > first + EPOCHS;
    }
    expect_failures(&model);
    end();
}

TEST(random_calls)
{
    uint64_t random = crew_seed();
    for (int trial = 0; trial < 400; ++trial) {
        play(0 != trial % 2, &random);
    }
}
