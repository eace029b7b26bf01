/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests messages of four endpoints on two nodes, as mtl/myr exchanges them. A failure means that
 * MPI messages are lost, duplicated, corrupted, or received by a wrong receive.
 *
 * Invariants, also if packets are lost, duplicated or reordered:
 *
 * - Each message is received once, intact, by the receive that MPI prescribes.
 * - Each send and each receive completes once.
 * - A message that is too long fills its buffer and not more.
 * - A synchronous send completes only after its receive is matched. A short standard send to a
 *   process that makes progress completes even without a receive.
 * - A receive completes only when the sender needs no further answer, because the receiving process
 *   may make no calls afterwards (MPI_Comm_disconnect).
 * - Nothing is lost when there is no memory, and all memory is free again at the end.
 *
 * The NICs are fakes (nics_fake.h). Malformed messages are in tests/fuzz/tagged_fuzz.c.
 */
#include "libmyr/messages/tagged_inside.h"
#include "libmyr/node/segment.h"
#include "tests/unit/crew.h"
#include "tests/unit/nics_fake.h"
#include "tests/unit/takes.h"
#include "tests/unit/test.h"

enum {
    ENDPOINTS = 4, /* 0 and 2 on one node, 1 and 3 on the other */
    GAME = 400,    /* maximum number of messages */
    CONTEXTS = 2,
    TAGS = 3,
    HIDDEN = 0xfffffff0,
    BUFFER = 2048,
};

struct sending {
    struct myr_tagged_request request;
    struct mcp_envelope envelope;
    uint32_t from, to, number;
    uint8_t *data;
    uint64_t bytes;
    bool synchronous, done;
    struct receiving *receiving; /* the receive that got this message */
};

struct receiving {
    struct myr_tagged_request request;
    struct mcp_pattern pattern;
    uint32_t at, number; /* at this endpoint, in the order of posting */
    uint8_t *buffer;
    uint64_t room;
    bool done;
    struct sending *sending; /* the message that this receive got */
};

struct game {
    struct nics_fake *w;
    struct myr_tagged *t[ENDPOINTS];
    struct myr_tagged_peer *peer[ENDPOINTS][ENDPOINTS];
    struct sending *sendings[GAME];
    struct receiving *receivings[2 * GAME];
    uint32_t nsendings, nreceivings, received;
    struct myr_tagged_request *unchecked; /* further requests, */
    uint32_t nunchecked;                  /* ... and their number */
    uint64_t random;
};

/* ---- endpoints ---- */

static void never_lost(void *context, uint64_t id, enum myr_status status)
{
    (void)context;
    fail_msg("a message to %lu was lost: %d", (unsigned long)id, (int)status);
}

static struct myr_tagged *open_one(struct game *g, uint32_t e, struct myr_tagged_options options)
{
    struct myr_tagged *t = NULL;
    struct myr_error error = {0};
    options.id = 1000 + e;
    options.lost = never_lost;
    if (MYR_OK != myr_tagged_open(&g->w->nics[e % NICS], &options, &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

static struct game *begin_with(const struct myr_tagged_options *options, uint64_t seed)
{
    struct game *g = calloc(1, sizeof(*g));
    assert_non_null(g);
    g->random = seed;
    g->w = nics_begin(seed);
    for (uint32_t e = 0; e < ENDPOINTS; ++e) {
        g->t[e] = open_one(g, e, *options);
    }
    for (uint32_t e = 0; e < ENDPOINTS; ++e) {
        for (uint32_t other = 0; other < ENDPOINTS; ++other) {
            struct myr_tagged_name name;
            myr_tagged_get_name(g->t[other], &name);
            assert_int_equal(
                myr_tagged_connect(g->t[e], 1000 + other, &name, &g->peer[e][other], NULL), MYR_OK);
            assert_ptr_equal(myr_tagged_peer(g->t[e], 1000 + other), g->peer[e][other]);
        }
    }
    return g;
}

static void end(struct game *g)
{
    for (uint32_t e = 0; e < ENDPOINTS; ++e) {
        myr_tagged_close(g->t[e]);
    }
    for (uint32_t i = 0; i < g->nsendings; ++i) {
        free(g->sendings[i]->data);
        free(g->sendings[i]);
    }
    for (uint32_t i = 0; i < g->nreceivings; ++i) {
        free(g->receivings[i]->buffer);
        free(g->receivings[i]);
    }
    nics_end(g->w);
    free(g);
}

/* ---- one message ---- */

static uint8_t byte_of(const struct sending *sending, uint64_t at)
{
    return (uint8_t)(sending->number * 31 + at * 7 + (at >> 8));
}

static void done_sending(struct sending *sending)
{
    assert_false(sending->done);
    assert_int_equal(sending->request.status, MYR_OK);
    sending->done = true;
    memset(sending->data, 0xee, sending->bytes); /* the buffer may be reused */
}

/* Find a message by the number in its first bytes. A message too short for a number can be any that
 * looks the same. */
static struct sending *find_sending(const struct game *g, const struct receiving *receiving)
{
    const struct myr_tagged_request *request = &receiving->request;
    uint32_t number = 0;
    if (request->bytes >= sizeof(number) && receiving->room >= sizeof(number)) {
        memcpy(&number, receiving->buffer, sizeof(number));
        assert_in_range(number, 0, g->nsendings - 1);
        return g->sendings[number];
    }
    for (uint32_t i = 0; i < g->nsendings; ++i) { /* the first candidate */
        struct sending *sending = g->sendings[i];
        if (NULL == sending->receiving && sending->to == receiving->at &&
            sending->bytes == request->bytes &&
            0 == memcmp(&sending->envelope, &request->envelope, sizeof(request->envelope))) {
            return sending;
        }
    }
    fail_msg("received a message that was not sent");
    return NULL;
}

/* Check that the answer that completes the send has been sent. */
static void check_answered(const struct game *g, const struct sending *sending)
{
    const struct tagged_out *out = g->peer[sending->to][sending->from]->answers.first;
    for (; NULL != out; out = out->next) {
        assert_false(!sending->done && TAGGED_DONE == out->head.kind &&
                     out->more.there == sending->request.here);
    }
}

static void done_receiving(struct game *g, struct receiving *receiving)
{
    const struct myr_tagged_request *request = &receiving->request;
    assert_false(receiving->done);
    receiving->done = true;
    if (request->cancelled) {
        return;
    }
    struct sending *sending = find_sending(g, receiving);
    check_answered(g, sending);
    assert_null(sending->receiving);
    sending->receiving = receiving;
    receiving->sending = sending;
    ++g->received;
    assert_int_equal(sending->to, receiving->at);
    assert_memory_equal(&sending->envelope, &request->envelope, sizeof(request->envelope));
    assert_int_equal(sending->bytes, request->bytes);
    assert_int_equal(request->status, sending->bytes > receiving->room ? MYR_ERR_TOO_LONG : MYR_OK);
    for (uint64_t i = 4; i < receiving->room; ++i) {
        assert_int_equal(receiving->buffer[i], i < sending->bytes ? byte_of(sending, i) : 0xcc);
    }
    assert_int_equal(receiving->buffer[receiving->room], 0xcc);
}

static struct sending *send_one(struct game *g, uint32_t from, uint32_t to,
                                struct mcp_envelope envelope, uint64_t bytes, bool synchronous)
{
    struct sending *sending = calloc(1, sizeof(*sending));
    assert_non_null(sending);
    sending->envelope = envelope;
    sending->from = from;
    sending->to = to;
    sending->number = g->nsendings;
    sending->bytes = bytes;
    sending->synchronous = synchronous;
    sending->data = malloc(bytes + 1);
    assert_non_null(sending->data);
    for (uint64_t i = 0; i < bytes; ++i) {
        sending->data[i] = byte_of(sending, i);
    }
    if (bytes >= sizeof(sending->number)) {
        memcpy(sending->data, &sending->number, sizeof(sending->number));
    }
    g->sendings[g->nsendings++] = sending;
    if (myr_tagged_send(g->t[from], g->peer[from][to], &envelope, sending->data, bytes, synchronous,
                        &sending->request)) {
        done_sending(sending);
    }
    return sending;
}

static struct receiving *new_receiving(struct game *g, uint32_t at,
                                       const struct mcp_pattern *pattern, uint64_t room)
{
    struct receiving *receiving = calloc(1, sizeof(*receiving));
    assert_non_null(receiving);
    receiving->pattern = *pattern;
    receiving->at = at;
    receiving->number = g->nreceivings;
    receiving->room = room;
    receiving->buffer = malloc(room + 1);
    assert_non_null(receiving->buffer);
    memset(receiving->buffer, 0xcc, room + 1);
    g->receivings[g->nreceivings++] = receiving;
    return receiving;
}

static struct receiving *receive_one(struct game *g, uint32_t at, struct mcp_pattern pattern,
                                     uint64_t room)
{
    struct receiving *receiving = new_receiving(g, at, &pattern, room);
    if (myr_tagged_receive(g->t[at], &pattern, receiving->buffer, room, &receiving->request)) {
        done_receiving(g, receiving);
    }
    return receiving;
}

/* ---- progress ---- */

/* Handle a completed request. */
static void done(struct game *g, struct myr_tagged_request *request)
{
    if (request >= g->unchecked && request < g->unchecked + g->nunchecked) {
        return;
    }
    for (uint32_t i = 0; i < g->nsendings; ++i) {
        if (request == &g->sendings[i]->request) {
            done_sending(g->sendings[i]);
            return;
        }
    }
    for (uint32_t i = 0; i < g->nreceivings; ++i) {
        if (request == &g->receivings[i]->request) {
            done_receiving(g, g->receivings[i]);
            return;
        }
    }
    fail_msg("an unknown request is complete");
}

/* Read up to three chunks, and complete them in reverse order. Sometimes the system call fails. */
static void read_chunks(struct game *g, uint32_t e)
{
    struct myr_tagged_chunk chunk[3];
    uint32_t chunks = 0;
    while (chunks < 3 && myr_tagged_chunk_take(g->t[e], &chunk[chunks])) {
        ++chunks;
    }
    while (chunks-- > 0) {
        const bool refused = 0 == crew_below(&g->random, 50);
        myr_tagged_chunk_end(g->t[e], &chunk[chunks],
                             !refused && myr_tagged_chunk_read(&chunk[chunks]));
    }
}

static void progress(struct game *g, uint32_t e)
{
    struct myr_tagged_request *request;
    (void)myr_tagged_progress(g->t[e]);
    read_chunks(g, e);
    while (NULL != (request = myr_tagged_done(g->t[e]))) {
        done(g, request);
    }
}

static void progress_all(struct game *g, uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; ++i) {
        for (uint32_t e = 0; e < ENDPOINTS; ++e) {
            progress(g, e);
        }
    }
}

static bool all_complete(const struct game *g)
{
    bool quiet = true;
    for (uint32_t e = 0; e < ENDPOINTS; ++e) {
        quiet = quiet && !myr_tagged_busy(g->t[e]);
    }
    for (uint32_t i = 0; i < g->nsendings; ++i) {
        quiet = quiet && g->sendings[i]->done;
    }
    return quiet && g->received == g->nsendings;
}

/* Wait until all messages are received. Then no number has an owner. */
static void await_all(struct game *g)
{
    for (uint32_t n = 0; n < 100000 && !all_complete(g); ++n) {
        progress_all(g, 1);
    }
    assert_true(all_complete(g));
    for (uint32_t e = 0; e < ENDPOINTS; ++e) {
        for (uint32_t i = 0; i < g->t[e]->numbers; ++i) {
            assert_int_equal(g->t[e]->number[i].kind, TAGGED_NOBODY);
        }
    }
}

static void await_receive(struct game *g, const struct receiving *receiving)
{
    for (uint32_t n = 0; n < 100000 && !receiving->done; ++n) {
        progress_all(g, 1);
    }
    assert_true(receiving->done);
}

/* ---- matching order of MPI ---- */

static bool may_match(const struct receiving *receiving, const struct sending *sending)
{
    return receiving->at == sending->to && takes(&receiving->pattern, &sending->envelope);
}

/*
 * Check that messages do not overtake each other. Consider two receives in the order of posting,
 * and two messages in the order of sending, of the same sender. If both receives match the first
 * message, and the first receive matches both messages, the first receive must not get the
 * second message while the second receive gets the first one. (Messages that are too short for a
 * number cannot be distinguished.)
 */
static void check_order(const struct game *g)
{
    for (uint32_t i = 0; i < g->nsendings; ++i) {
        const struct sending *first = g->sendings[i];
        for (uint32_t j = i + 1; j < g->nsendings; ++j) {
            const struct sending *second = g->sendings[j];
            if (first->from != second->from || first->to != second->to || first->bytes < 4 ||
                second->bytes < 4) {
                continue;
            }
            const struct receiving *of_first = first->receiving, *of_second = second->receiving;
            if (of_second->number < of_first->number && may_match(of_second, first)) {
                fail_msg("message %u has overtaken message %u", second->number, first->number);
            }
        }
    }
}

/* ---- random traffic ---- */

static uint64_t random_size(uint64_t *random, uint64_t most)
{
    static const uint64_t likely[] = {0, 1, 8, 215, 216, 217, 1024, BUFFER - 24, BUFFER};
    switch (crew_below(random, 4)) {
    case 0:
        return likely[crew_below(random, sizeof(likely) / sizeof(likely[0]))];
    case 1:
        return crew_below(random, (uint32_t)most);
    default:
        return 4 + crew_below(random, 300);
    }
}

static void random_operation(struct game *g, uint64_t most)
{
    uint64_t *random = &g->random;
    const uint32_t e = crew_below(random, ENDPOINTS), other = crew_below(random, ENDPOINTS);
    const uint32_t context = crew_below(random, CONTEXTS);
    const uint32_t tag = 0 == crew_below(random, 10) ? HIDDEN : crew_below(random, TAGS);
    const uint32_t what = crew_below(random, 10);
    if (what < 4 && g->nsendings < GAME) {
        (void)send_one(g, e, other, (struct mcp_envelope){context, e, tag},
                       random_size(random, most), 0 == crew_below(random, 4));
        return;
    }
    const struct mcp_pattern pattern = {{context, other, tag},
                                        0 == crew_below(random, 3) ? crew_below(random, 4) : 0};
    if (what < 8 && g->nreceivings < GAME) {
        const uint64_t room = 0 == crew_below(random, 4) ? 4 + random_size(random, most) : most;
        (void)receive_one(g, e, pattern, room);
    } else if (8 == what) {
        struct mcp_envelope envelope;
        uint64_t bytes;
        const bool there = myr_tagged_probe(g->t[e], &pattern, &envelope, &bytes);
        struct myr_tagged_message *message =
            0 == crew_below(random, 2) && g->nreceivings < GAME
                ? myr_tagged_take(g->t[e], &pattern, &envelope, &bytes)
                : NULL;
        if (NULL != message) {
            assert_true(there);
            struct receiving *receiving = new_receiving(g, e, &pattern, bytes + 4);
            if (myr_tagged_receive_taken(g->t[e], message, receiving->buffer, receiving->room,
                                         &receiving->request)) {
                done_receiving(g, receiving);
            }
        }
    } else if (0 != g->nreceivings) {
        struct receiving *receiving = g->receivings[crew_below(random, g->nreceivings)];
        if (!receiving->done) {
            (void)myr_tagged_cancel(g->t[receiving->at], &receiving->request);
        }
    }
}

static void receive_rest(struct game *g, uint64_t most)
{
    for (uint32_t rounds = 0; rounds < 100000 && !all_complete(g); ++rounds) {
        for (uint32_t e = 0; e < ENDPOINTS; ++e) {
            struct mcp_pattern pattern = {.open = MCP_OPEN_SOURCE | MCP_OPEN_TAG};
            struct mcp_envelope envelope;
            uint64_t bytes;
            for (uint32_t i = 0; i < 2 * CONTEXTS; ++i) {
                pattern.envelope = (struct mcp_envelope){i / 2, 0, HIDDEN};
                pattern.open = 0 == i % 2 ? MCP_OPEN_SOURCE | MCP_OPEN_TAG : MCP_OPEN_SOURCE;
                if (myr_tagged_probe(g->t[e], &pattern, &envelope, &bytes)) {
                    assert_true(g->nreceivings < 2 * GAME);
                    (void)receive_one(g, e, pattern, most);
                }
            }
        }
        progress_all(g, 1);
    }
    assert_true(all_complete(g));
}

static void play(const struct myr_tagged_options *options, const struct wire_faults *faults,
                 uint64_t most, uint64_t seed)
{
    struct game *g = begin_with(options, seed);
    g->w->wire.faults = *faults;
    for (uint32_t i = 0; i < 3 * GAME; ++i) {
        random_operation(g, most);
        for (uint32_t n = crew_below(&g->random, 8); n > 0; --n) {
            progress(g, crew_below(&g->random, ENDPOINTS));
        }
    }
    receive_rest(g, most);
    check_order(g);
    for (uint32_t i = 0; i < g->nreceivings; ++i) {
        struct receiving *receiving = g->receivings[i];
        if (!receiving->done) {
            for (uint32_t j = 0; j < g->nsendings; ++j) {
                const struct sending *sending = g->sendings[j];
                assert_false(may_match(receiving, sending) &&
                             sending->receiving->number > receiving->number);
            }
            assert_true(myr_tagged_cancel(g->t[receiving->at], &receiving->request));
        }
    }
    progress_all(g, 2);
    end(g);
}

static const struct wire_faults no_faults = {.delay_least_ns = 1000, .delay_most_ns = 5000};
static const struct wire_faults faults = {
    .loss = 50,
    .duplication = 50,
    .reordering = 50,
    .damage = 20,
    .delay_least_ns = 1000,
    .delay_most_ns = 50000,
    .detour_most_ns = 500000,
};

TEST(random_games)
{
    const struct myr_tagged_options usual = {.direct = true, .buffer_bytes = BUFFER};
    const struct myr_tagged_options chunks = {
        .direct = true, .buffer_bytes = BUFFER, .chunk_bytes = 1000};
    const struct myr_tagged_options narrow = {
        .direct = false, .buffer_bytes = BUFFER, .buffers = 4, .messages = 50};
    uint64_t random = crew_seed();
    for (uint32_t game = 0; game < 12; ++game) {
        play(0 != game % 2   ? &narrow
             : 0 == game % 4 ? &usual
                             : &chunks,
             0 == game % 3 ? &faults : &no_faults, 20000, crew_random(&random));
    }
}

/* ---- single cases ---- */

static const struct mcp_pattern anything = {.open = MCP_OPEN_SOURCE | MCP_OPEN_TAG};

/* If there are no receives, a sender may send a bounded number of messages, and further ones
 * wait at the sender. Each arrives when it is requested by a receive or a probe. */
TEST(bounded_unexpected_messages)
{
    const struct myr_tagged_options options = {
        .direct = true, .buffer_bytes = BUFFER, .messages = 100};
    for (uint32_t way = 0; way < 4; ++way) {
        const uint32_t to = 1 + way % 2; /* on another node, or on the same */
        const bool probes = way >= 2;
        struct game *g = begin_with(&options, crew_seed());
        uint32_t eager = 0;
        for (uint32_t i = 0; i < 150; ++i) {
            eager += send_one(g, 0, to, (struct mcp_envelope){0, 0, i}, 1500, false)->done;
            progress_all(g, 1);
        }
        progress_all(g, 10000);
        assert_true(eager <= 100);
        assert_int_equal(mcp_match_messages(g->t[to]->match), 100);
        for (uint32_t i = 150; i > 0; --i) { /* the last one first, which is still at its sender */
            const struct mcp_pattern pattern = {{0, 0, i - 1}, 0};
            struct mcp_envelope envelope;
            uint64_t bytes;
            bool there = !probes;
            for (uint32_t n = 0; n < 100000 && !there; ++n) {
                there = myr_tagged_probe(g->t[to], &pattern, &envelope, &bytes);
                progress_all(g, 1);
            }
            assert_true(there);
            const struct receiving *receiving = receive_one(g, to, pattern, 1500);
            await_receive(g, receiving);
        }
        await_all(g);
        assert_int_equal(g->received, 150);
        end(g);
    }
}

static bool all_sent(const struct game *g, const struct sending *but)
{
    bool all = true;
    for (uint32_t i = 0; i < g->nsendings; ++i) {
        all = all && (g->sendings[i]->done || but == g->sendings[i]);
    }
    return all;
}

/* Two processes send each other short messages before they receive any. Their sends complete,
 * except a synchronous one. */
TEST(short_sends_complete_without_receives)
{
    enum { MANY = 120 };
    static const uint64_t bytes[] = {0, 8, 1000, 4095};
    const struct mcp_envelope envelope = {0, 0, 1};
    const struct myr_tagged_options options = {.direct = true, .buffers = 8};
    for (uint32_t i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); ++i) {
        struct game *g = begin_with(&options, crew_seed());
        /* on another node, or on the same */
        const uint32_t to = 0 == i % 2 || !g->peer[0][2]->direct ? 1 : 2;
        const struct sending *synchronous = send_one(g, 0, to, envelope, bytes[i / 2], true);
        for (uint32_t n = 0; n < MANY; ++n) {
            (void)send_one(g, 0, to, envelope, bytes[i / 2], false);
            (void)send_one(g, to, 0, envelope, bytes[i / 2], false);
        }
        for (uint32_t n = 0; n < 100000 && !all_sent(g, synchronous); ++n) {
            progress_all(g, 1);
        }
        assert_true(all_sent(g, synchronous));
        assert_false(synchronous->done);
        receive_rest(g, bytes[i / 2]);
        check_order(g);
        for (uint32_t e = 0; e < ENDPOINTS; ++e) {
            assert_int_equal(g->peer[e][0]->kept + g->peer[e][to]->kept, 0);
        }
        end(g);
    }
}

/* A process copies an offered message, and its answer has to wait, because the sender's inlet is
 * full. The receive waits for the answer. */
TEST(early_answers_leave_before_the_receive_completes)
{
    const struct myr_tagged_options options = {.direct = true, .buffer_bytes = BUFFER};
    struct game *g = begin_with(&options, crew_seed());
    const struct sending *sending = send_one(g, 0, 2, (struct mcp_envelope){0, 0, 1}, 3000, false);
    for (uint32_t i = 0; i < MYR_INLET_SLOTS; ++i) {
        (void)send_one(g, 2, 0, (struct mcp_envelope){0, 0, 2}, 8, false);
    }
    progress(g, 2);
    if (g->peer[0][2]->direct) {
        assert_int_equal(g->peer[2][0]->kept, 3000);
        const struct receiving *receiving =
            receive_one(g, 2, (struct mcp_pattern){{0, 0, 1}, 0}, 3000);
        progress(g, 2);
        assert_false(receiving->done);
        await_receive(g, receiving);
        for (uint32_t n = 0; n < 100 && !sending->done; ++n) {
            progress(g, 0);
        }
        assert_true(sending->done);
    }
    receive_rest(g, 3000);
    end(g);
}

/* A process stores only a limited number of bytes of unexpected messages. */
TEST(stored_bytes_are_bounded)
{
    const struct {
        uint32_t to, messages;
        uint64_t bytes;
        uint32_t least, most; /* number of complete sends */
    } cases[] = {
        {1, 120, 20000, MYR_TAGGED_CREDITS / 5, MYR_TAGGED_CREDITS / 5},
        {2, 350, 4000, MYR_TAGGED_KEPT / 4000, MYR_TAGGED_KEPT / 4000 + TAGGED_BUFFERS / 2},
        {2, 100, 4097, 1, TAGGED_BUFFERS / 2}, /* not stored */
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct game *g = begin_with(
            &(struct myr_tagged_options){.direct = true, .buffers = TAGGED_BUFFERS}, crew_seed());
        uint32_t complete = 0;
        for (uint32_t n = 0; n < cases[i].messages; ++n) {
            (void)send_one(g, 0, cases[i].to, (struct mcp_envelope){0, 0, 1}, cases[i].bytes,
                           false);
            progress_all(g, 10);
        }
        progress_all(g, 10000);
        for (uint32_t n = 0; n < cases[i].messages; ++n) {
            complete += g->sendings[n]->done;
        }
        assert_in_range(complete, cases[i].least, cases[i].most);
        assert_true(g->peer[cases[i].to][0]->kept <= MYR_TAGGED_KEPT);
        receive_rest(g, cases[i].bytes);
        end(g);
    }
}

/* Messages that are stored in their sender's buffers leave some buffers for short and long messages
 * to another node, and for the data of a message that cannot be read from the sender's memory. */
TEST(stored_messages_leave_buffers)
{
    enum { STORED = 1, OTHER, MANY = 40 };
    struct game *g = begin_with(
        &(struct myr_tagged_options){.direct = false, .buffer_bytes = BUFFER, .buffers = 8},
        crew_seed());
    const struct mcp_pattern other = {{0, 0, OTHER}, 0};
    for (uint32_t i = 0; i < MANY; ++i) {
        (void)send_one(g, 0, 2, (struct mcp_envelope){0, 0, STORED}, 0 == i % 2 ? 900 : 1500,
                       false);
    }
    assert_true(g->t[0]->counted.stored > 0);
    for (uint32_t to = 1; to < 3; ++to) {
        static const uint64_t bytes[] = {8, 1500, 100000};
        for (uint32_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); ++i) {
            (void)send_one(g, 0, to, (struct mcp_envelope){0, 0, OTHER}, bytes[i], false);
            const struct receiving *receiving = receive_one(g, to, other, bytes[i]);
            await_receive(g, receiving);
        }
    }
    receive_rest(g, 1500);
    end(g);
}

/* Messages to a process that does not receive them take three quarters of the buffers. */
TEST(one_receiver_leaves_buffers_to_others)
{
    struct game *g = begin_with(
        &(struct myr_tagged_options){.direct = false, .buffer_bytes = BUFFER, .buffers = 8},
        crew_seed());
    g->w->wire.nics[1].unplugged = true;
    for (uint32_t i = 0; i < 10; ++i) { /* of 4 large and 8 small buffers */
        (void)send_one(g, 0, 1, (struct mcp_envelope){0, 0, 1}, 1500, false);
        (void)send_one(g, 0, 3, (struct mcp_envelope){0, 0, 1}, 8, false);
    }
    assert_int_equal(g->t[0]->pool[TAGGED_LARGE_POOL].left, 1);
    assert_int_equal(g->t[0]->pool[TAGGED_SMALL_POOL].left, 2);
    g->w->wire.nics[1].unplugged = false;
    receive_rest(g, 1500);
    end(g);
}

/* Messages to many processes that make no calls do not delay messages to others. */
TEST(busy_receivers_delay_no_others)
{
    enum { BUSY = 8, MANY = 30 };
    static uint8_t data[1500];
    const struct myr_tagged_options options = {
        .direct = false, .buffer_bytes = BUFFER, .buffers = 8};
    struct game *g = begin_with(&options, crew_seed());
    struct myr_tagged *busy[BUSY];
    g->unchecked = calloc((size_t)BUSY * MANY, sizeof(*g->unchecked));
    g->nunchecked = BUSY * MANY;
    assert_non_null(g->unchecked);
    for (uint32_t b = 0; b < BUSY; ++b) {
        const uint32_t e = ENDPOINTS + 1 + NICS * b; /* on another node */
        struct myr_tagged_peer *peer;
        struct myr_tagged_name name;
        busy[b] = open_one(g, e, options);
        myr_tagged_get_name(busy[b], &name);
        assert_int_equal(myr_tagged_connect(g->t[0], 1000 + e, &name, &peer, NULL), MYR_OK);
        for (uint32_t i = 0; i < MANY; ++i) {
            const struct mcp_envelope envelope = {0, 0, 1};
            (void)myr_tagged_send(g->t[0], peer, &envelope, data, 0 == i % 2 ? 8 : sizeof(data),
                                  false, &g->unchecked[b * MANY + i]);
        }
    }
    for (uint32_t i = 0; i < 1000; ++i) { /* their NIC accepts what their buffers hold */
        progress_all(g, 1);
    }
    static const uint64_t bytes[] = {8, 1500, 100000};
    for (uint32_t i = 0; i < 2 * sizeof(bytes) / sizeof(bytes[0]); ++i) {
        const uint64_t each = bytes[i / 2];
        (void)send_one(g, 0, 1 + 2 * (i % 2), (struct mcp_envelope){0, 0, 2}, each, false);
        await_receive(g, receive_one(g, 1 + 2 * (i % 2), (struct mcp_pattern){{0, 0, 2}, 0}, each));
    }
    for (uint32_t b = 0; b < BUSY; ++b) {
        myr_tagged_close(busy[b]);
    }
    struct myr_tagged_request *const unchecked = g->unchecked;
    end(g);
    free(unchecked);
}

/* A process may end before its stored messages are received. Processes that start later do not
 * write into their buffers. */
TEST(stored_messages_outlive_their_sender)
{
    enum { MANY = 8 };
    const struct myr_tagged_options options = {
        .direct = false, .buffer_bytes = BUFFER, .buffers = MANY};
    struct game *g = begin_with(&options, crew_seed());
    (void)send_one(g, 0, 2, (struct mcp_envelope){0, 0, 1}, 1500, false);
    assert_int_equal(g->t[0]->counted.stored, 1);
    myr_tagged_close(g->t[0]);
    g->t[0] = open_one(g, 0, options);
    struct myr_tagged_name name;
    myr_tagged_get_name(g->t[2], &name);
    assert_int_equal(myr_tagged_connect(g->t[0], 1002, &name, &g->peer[0][2], NULL), MYR_OK);
    for (uint32_t i = 0; i < MANY; ++i) {
        (void)send_one(g, 0, 2, (struct mcp_envelope){0, 0, 2}, 1500, false);
    }
    await_receive(g, receive_one(g, 2, (struct mcp_pattern){{0, 0, 1}, 0}, 1500));
    end(g);
}

/* Some messages were received, so that their slots must be returned to the sender, and others
 * are queued. Whatever their numbers are, another message arrives as long as a slot is free. */
TEST(all_slots_are_used)
{
    enum { SLOTS = 6 };
    const struct myr_tagged_options options = {.direct = true, .messages = SLOTS};
    const struct mcp_pattern wanted = {{0, 0, 1}, 0};
    for (uint32_t game = 0; game < 2 * SLOTS; ++game) {
        struct game *g = begin_with(&options, crew_seed());
        const uint32_t to = 1 + game % 2; /* on another node, or on the same */
        const uint32_t waiting = game / 2;
        for (uint32_t owed = 0; owed <= SLOTS; ++owed) {
            for (uint32_t i = 0; i < owed + waiting + 1; ++i) {
                const bool waits = i >= owed && i < owed + waiting;
                (void)send_one(g, 0, to, (struct mcp_envelope){0, 0, waits ? 2 : 1}, 8, false);
                const uint32_t received = g->received;
                const struct receiving *receiving = waits ? NULL : receive_one(g, to, wanted, 8);
                for (uint32_t n = 0; n < 10000 && NULL != receiving && received == g->received;
                     ++n) {
                    progress_all(g, 1);
                }
                assert_int_equal(g->received, received + !waits);
            }
            for (uint32_t i = 0; i < waiting; ++i) {
                (void)receive_one(g, to, anything, 8);
            }
            await_all(g);
        }
        end(g);
    }
}

/* Only memory limits the number of posted receives, and of messages before the one that a receive
 * waits for. */
TEST(a_million)
{
    enum { MILLION = 1100000 };
    if (sizeof(size_t) < 8) {
        skip();
    }
    struct game *g = begin_with(&(struct myr_tagged_options){.direct = true}, crew_seed());
    struct myr_tagged_request *requests = calloc(MILLION, sizeof(*requests)), unused, last;
    const struct mcp_pattern wanted = {.envelope = {7, 0, 1}};
    assert_non_null(requests);
    for (uint32_t i = 0; i < MILLION; ++i) {
        const struct mcp_pattern pattern = {.envelope = {5, 0, i}};
        assert_false(myr_tagged_receive(g->t[2], &pattern, NULL, 0, &requests[i]));
    }
    for (uint32_t i = 0; i < MILLION; ++i) {
        assert_true(myr_tagged_cancel(g->t[2], &requests[i]));
    }
    while (NULL != myr_tagged_done(g->t[2])) {
    }
    for (uint32_t i = 0; i < MILLION; ++i) {
        (void)myr_tagged_send(g->t[0], g->peer[0][2], &(struct mcp_envelope){6, 0, 1}, NULL, 0,
                              false, &requests[i]);
    }
    (void)myr_tagged_send(g->t[0], g->peer[0][2], &wanted.envelope, NULL, 0, false, &unused);
    assert_false(myr_tagged_receive(g->t[2], &wanted, NULL, 0, &last));
    for (uint32_t n = 0; n < MILLION && NULL == g->t[2]->done.first; ++n) {
        (void)myr_tagged_progress(g->t[0]);
        (void)myr_tagged_progress(g->t[2]);
    }
    assert_ptr_equal(myr_tagged_done(g->t[2]), &last);
    free(requests);
    end(g);
}

/* For an unresponsive node, one of its endpoints is reported. */
TEST(unresponsive_node)
{
    struct game *g = begin_with(&(struct myr_tagged_options){.direct = false}, crew_seed());
    struct myr_unresponsive unresponsive;
    uint64_t id;
    g->w->wire.nics[1].unplugged = true;
    (void)send_one(g, 0, 3, (struct mcp_envelope){0, 0, 1}, 8, false);
    wire_pass(&g->w->wire, UINT64_C(31) * 1000000000);
    assert_false(
        myr_tagged_unresponsive(g->t[2], 7, 30, &unresponsive, &id)); /* it has sent nothing */
    assert_true(myr_tagged_unresponsive(g->t[0], 7, 30, &unresponsive, &id));
    assert_true(1001 == id || 1003 == id);
    assert_false(myr_tagged_unresponsive(g->t[0], 7, 30, &unresponsive, &id));
    g->w->wire.nics[1].unplugged = false;
    (void)receive_one(g, 3, anything, 8);
    await_all(g);
    end(g);
}

/* If a process of the same node continually sends short messages, it does not delay messages of
 * other nodes, which arrive through the NIC, nor long ones of the same node. No other process
 * runs the NICs. */
TEST(short_messages_cause_no_starvation)
{
    enum { ROUNDS = 1000, AT_ONCE = 16 /* the maximum that one call receives */ };
    const uint32_t from[] = {1, 2}; /* on another node, or on the same */
    for (uint32_t i = 0; i < 2; ++i) {
        struct game *g =
            begin_with(&(struct myr_tagged_options){.buffer_bytes = BUFFER}, crew_seed());
        const struct mcp_envelope flood = {CONTEXTS, 0, 0}, single = {0, 0, 1};
        struct myr_tagged_request unused;
        (void)receive_one(g, 0, anything, 3 * BUFFER);
        (void)send_one(g, from[i], 0, single, 3 * BUFFER, false);
        for (uint32_t round = 0; round < ROUNDS && 0 == g->received; ++round) {
            for (uint32_t n = 0; n < AT_ONCE; ++n) {
                assert_true(
                    myr_tagged_send(g->t[2], g->peer[2][0], &flood, NULL, 0, false, &unused));
            }
            progress(g, 0);
            progress(g, from[i]);
        }
        assert_int_equal(g->received, 1);
        end(g);
    }
}

/* For any number of peers, there is memory for all messages that they may send. */
TEST(memory_for_all_peers)
{
    static const uint32_t peers[] = {0, 1, 64, 65, 1000, 300000, MCP_MATCH_MOST};
    struct nics_fake *w = nics_begin(crew_seed());
    for (uint32_t i = 0; i < sizeof(peers) / sizeof(peers[0]); ++i) {
        struct myr_tagged *t = NULL;
        struct myr_tagged_name name;
        const struct myr_tagged_options options = {.peers = peers[i]};
        assert_int_equal(myr_tagged_open(&w->nics[0], &options, &t, NULL), MYR_OK);
        myr_tagged_get_name(t, &name);
        assert_in_range(name.messages, 1, 16384);
        const uint64_t at_first = (uint64_t)name.messages * peers[i];
        assert_true(at_first <= MCP_MATCH_MOST);
        assert_true(1 == name.messages || at_first + t->spare <= MCP_MATCH_MOST);
        myr_tagged_close(t);
    }
    nics_end(w);
}

/* Endpoints use less memory if there is less, except if the number of buffers is given. */
TEST(memory_depends_on_the_share)
{
    enum { LARGE = 64 << 10, OPEN = 3 };
    struct nics_fake *w = nics_begin(crew_seed());
    struct myr_segment *segment = w->nics[0].segment;
    struct myr_tagged *t[OPEN], *none = NULL;
    const size_t share = (size_t)24 * LARGE;
    struct myr_tagged_options options = {.buffer_bytes = LARGE, .share = share};
    for (uint32_t i = 0; i < OPEN; ++i) {
        const size_t before = myr_segment_bytes(segment);
        assert_int_equal(myr_tagged_open(&w->nics[0], &options, &t[i], NULL), MYR_OK);
        assert_true(myr_segment_bytes(segment) - before <= 2 * share); /* a power of two */
        options.share = 1;                                             /* less than the minimum */
    }
    options.buffers = 2 * (uint32_t)(myr_segment_size(segment) / LARGE);
    assert_int_equal(myr_tagged_open(&w->nics[0], &options, &none, NULL), MYR_ERR_FULL);
    for (uint32_t i = 0; i < OPEN; ++i) {
        myr_tagged_close(t[i]);
    }
    nics_end(w);
}
