/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests messages between ports, on NICs whose wire loses, duplicates, reorders and corrupts
 * packets. A failure means that a program's message is lost, duplicated or corrupted, or that an
 * unknown sender can send one.
 *
 * Invariants:
 *
 * - Each message is delivered intact, once, and in order between two ports, or its sender gets a
 *   failure.
 * - Each token is returned.
 * - No message for a closed port reaches the next port with its number.
 * - No port blocks another port's messages.
 * - The table of connections has room for a new NIC when another one has left.
 * - Whatever a process writes into its rings, the NIC accesses only the process's memory, and
 *   continues.
 *
 * The test simulates the hosts, with the rings of firmware/port.h. tests/fuzz/messages_fuzz.c
 * covers invalid tokens and packets, ports that close at any time, and full tables.
 */
#include "firmware/connection.h"
#include "tests/unit/crew.h"
#include "tests/unit/test.h"
#include "tests/unit/wire_fake.h"

enum {
    SENDS = 8,    /* number of send tokens of a port */
    RECEIVES = 4, /* number of receive tokens of a port */
    LONGEST = 100 << 10,
    MEMORY = 8 << 20,
    HOSTS = 10,          /* maximum number of ports on all NICs of a test */
    PAYLOAD = 1500 - 76, /* size of a packet's payload */
    PACKETS = (LONGEST + PAYLOAD - 1) / PAYLOAD,
};

/* Identifies a message and its contents. */
struct content {
    uint32_t from_key, to_key; /* keys of the ports */
    uint32_t index;            /* number of earlier messages between these two */
    uint32_t bytes;
};

/* A port and its process. */
struct host {
    struct wire_nic *nic;
    uint32_t number, key;
    struct mcp_port shape;
    struct mcp_rings *rings;
    uint32_t sends, provides, events;
    bool sending[SENDS];
    bool provided[RECEIVES];
    struct content content[SENDS]; /* contents of the messages in flight */
    uint8_t *out[SENDS], *in[RECEIVES];
    uint32_t under_way, waiting; /* send and receive tokens in use */
    uint32_t sent, failed, received;
    uint8_t why; /* reason of the last failure */
    uint32_t last_bytes;
    uint32_t next_to[HOSTS], next_from[HOSTS]; /* next index of messages to and from each host */
    uint32_t connection[HOSTS];
};

struct world {
    struct wire wire;
    struct host hosts[HOSTS];
    uint32_t nhosts;
    uint64_t random;
    uint32_t largest; /* maximum size of random messages */
    uint64_t think_ns;
    /* what handles received messages instead of take_message() */
    void (*receive)(struct world *w, struct host *host, const struct mcp_event *event);
};

static struct mcp_secret secret; /* the secret of all connections of the current test */

/* ---- hosts ---- */

/* Messages begin with their description if they are long enough. */
static void fill(uint8_t *memory, const struct content *content)
{
    uint64_t state = (uint64_t)content->from_key << 32 ^ content->to_key;
    state = crew_random(&state) ^ content->index;
    for (uint32_t i = 0; i < content->bytes; i += 8) {
        const uint64_t word = crew_random(&state);
        memcpy(memory + i, &word, content->bytes - i < 8 ? content->bytes - i : 8);
    }
    if (content->bytes >= sizeof(*content)) {
        memcpy(memory, content, sizeof(*content));
    }
}

static bool holds(const uint8_t *memory, const struct content *content)
{
    static uint8_t wanted[LONGEST];
    fill(wanted, content);
    return 0 == memcmp(memory, wanted, content->bytes);
}

static void open_port(struct world *w, uint32_t h, uint32_t number)
{
    struct host *host = &w->hosts[h];
    size_t bytes;
    assert_true(mcp_port_shape(&host->shape, SENDS, RECEIVES, &bytes));
    if (NULL == host->rings) {
        host->rings = wire_memory(host->nic, bytes);
        for (int i = 0; i < SENDS; ++i) {
            host->out[i] = wire_memory(host->nic, LONGEST);
        }
        for (int i = 0; i < RECEIVES; ++i) {
            host->in[i] = wire_memory(host->nic, LONGEST);
        }
    }
    memset(host->rings, 0, bytes);
    const struct mcp_port_wish wish = {
        .number = number,
        .key = (uint32_t)crew_random(&w->random) | 1,
        .owner = 1,
        .rings = mcp_offset_of(&host->nic->board, host->rings),
        .send_tokens = SENDS,
        .receive_tokens = RECEIVES,
    };
    host->key = wish.key;
    host->sends = host->provides = host->events = host->under_way = host->waiting = 0;
    memset(host->sending, 0, sizeof(host->sending));
    memset(host->provided, 0, sizeof(host->provided));
    memset(host->next_to, 0, sizeof(host->next_to));
    memset(host->next_from, 0, sizeof(host->next_from));
    host->number = mcp_port_open(host->nic->mcp, &host->nic->board, &wish);
    assert_int_not_equal(host->number, MCP_NO_PORT);
}

static void close_port(struct host *host)
{
    mcp_port_close(host->nic->mcp, &host->nic->board, host->number);
    host->key = 0;
    for (int i = 0; i < SENDS; ++i) { /* no longer accessed */
        memset(host->out[i], 0xee, 64);
    }
}

/* Distribute ports over the NICs, and connect them all. */
static uint32_t connect_nics(struct wire_nic *nic, const struct wire_nic *other)
{
    return mcp_connect(nic->mcp, &nic->board, other->mcp->key, wire_hold(nic, other->link), 0,
                       &secret);
}

static void begin_with(struct world *w, uint32_t nnics, uint32_t nhosts, uint64_t seed,
                       struct mcp_secret of_all)
{
    memset(w, 0, sizeof(*w));
    secret = of_all;
    w->random = seed;
    w->nhosts = nhosts;
    w->largest = 3 * PAYLOAD;
    w->think_ns = 20 * MICROSECOND;
    wire_begin(&w->wire, nnics, MEMORY, seed);
    for (uint32_t h = 0; h < nhosts; ++h) {
        w->hosts[h].nic = &w->wire.nics[h % nnics];
        open_port(w, h, h / nnics);
    }
    for (uint32_t h = 0; h < nhosts; ++h) {
        for (uint32_t to = 0; to < nhosts; ++to) {
            struct wire_nic *other = w->hosts[to].nic;
            w->hosts[h].connection[to] = other == w->hosts[h].nic
                                             ? (uint32_t)MCP_SAME_NIC
                                             : connect_nics(w->hosts[h].nic, other);
        }
    }
}

/* Begin a test in which all connections are signed. */
static void begin(struct world *w, uint32_t nnics, uint32_t nhosts, uint64_t seed)
{
    uint64_t state = seed;
    const uint64_t word = crew_random(&state);
    begin_with(w, nnics, nhosts, seed, (struct mcp_secret){{word, crew_random(&state)}});
}

/* Begin a test in which no connection is signed, so that packets may create connections. */
static void begin_open(struct world *w, uint32_t nnics, uint32_t nhosts, uint64_t seed)
{
    begin_with(w, nnics, nhosts, seed, mcp_open_secret);
}

static void end(struct world *w)
{
    wire_end(&w->wire);
}

static void put_token(struct host *host, const struct mcp_send_token *token)
{
    struct mcp_send_token *slot = mcp_send_slot(&host->shape, host->rings, host->sends);
    *slot = *token;
    myr_store_release(&slot->sequence, ++host->sends);
    mcp_messages_sdma(host->nic->mcp, &host->nic->board, host->number);
}

/* Post a receive token with this buffer. */
static void put_buffer(struct host *host, uint32_t memory, uint32_t bytes)
{
    struct mcp_receive_token *slot = mcp_receive_slot(&host->shape, host->rings, host->provides);
    slot->memory = memory;
    slot->bytes = bytes;
    myr_store_seq_cst(&slot->sequence, ++host->provides);
    if (0 != myr_load_seq_cst(&host->rings->hungry)) {
        mcp_messages_provided(host->nic->mcp, &host->nic->board, host->number);
    }
}

static bool provide(struct host *host, uint32_t bytes)
{
    for (uint32_t i = 0; i < RECEIVES; ++i) {
        if (!host->provided[i]) {
            host->provided[i] = true;
            ++host->waiting;
            memset(host->in[i], 0xdd, bytes);
            put_buffer(host, mcp_offset_of(&host->nic->board, host->in[i]), bytes);
            return true;
        }
    }
    return false;
}

/* Returns a free send token, or SENDS if there is none. */
static uint32_t free_token(const struct host *host)
{
    uint32_t token = 0;
    while (token < SENDS && host->sending[token]) {
        ++token;
    }
    return token;
}

/* Send the contents of this token's memory. */
static void send_token(struct world *w, struct host *host, uint32_t token, uint32_t to)
{
    const struct mcp_send_token one = {
        .token = token,
        .memory = mcp_offset_of(&host->nic->board, host->out[token]),
        .bytes = host->content[token].bytes,
        .connection = host->connection[to],
        .to_key = w->hosts[to].key,
        .to_port = (uint16_t)w->hosts[to].number,
    };
    host->sending[token] = true;
    ++host->under_way;
    put_token(host, &one);
}

/* Send the next message to host `to`. Returns false if there is no token. */
static bool send(struct world *w, uint32_t from, uint32_t to, uint32_t bytes)
{
    struct host *host = &w->hosts[from];
    const uint32_t token = free_token(host);
    if (SENDS == token) {
        return false;
    }
    host->content[token] =
        (struct content){host->key, w->hosts[to].key, host->next_to[to]++, bytes};
    fill(host->out[token], &host->content[token]);
    send_token(w, host, token, to);
    return true;
}

static uint32_t sender_of(struct world *w, const struct mcp_event *event)
{
    uint32_t from = 0;
    while (from < w->nhosts && (event->from_nic != w->hosts[from].nic->mcp->key ||
                                event->from_port != w->hosts[from].number)) {
        ++from;
    }
    assert_true(from < w->nhosts);
    return from;
}

/* Find the buffer that has received a message. */
static const uint8_t *take_buffer(struct host *host, const struct mcp_event *event)
{
    uint32_t i = 0;
    while (i < RECEIVES && mcp_offset_of(&host->nic->board, host->in[i]) != event->what) {
        ++i;
    }
    assert_true(i < RECEIVES && host->provided[i]);
    host->provided[i] = false;
    --host->waiting;
    return host->in[i];
}

static void take_message(struct world *w, struct host *host, const struct mcp_event *event)
{
    const uint32_t from = sender_of(w, event);
    const uint8_t *in = take_buffer(host, event);
    const struct content content = {w->hosts[from].key, host->key, host->next_from[from]++,
                                    event->bytes};
    if (!holds(in, &content)) {
        fail_msg("message %u from host %u to host %td, %u bytes, is corrupted", content.index, from,
                 host - w->hosts, event->bytes);
    }
    host->last_bytes = event->bytes;
    ++host->received;
}

/* Process all events. */
static void process_events(struct world *w, struct host *host)
{
    for (;;) {
        const struct mcp_event *slot = mcp_event_slot(&host->shape, host->rings, host->events);
        if (myr_load_acquire(&slot->sequence) != host->events + 1) {
            return;
        }
        const struct mcp_event event = *slot;
        ++host->events;
        if (MCP_RECEIVED == event.type) {
            (NULL == w->receive ? take_message : w->receive)(w, host, &event);
            continue;
        }
        assert_true(MCP_SENT == event.type || MCP_FAILED == event.type);
        assert_true(event.what < SENDS && host->sending[event.what]);
        host->sending[event.what] = false;
        --host->under_way;
        /* The buffer of a sent message belongs to the sender again, and is unchanged. */
        assert_true(holds(host->out[event.what], &host->content[event.what]));
        memset(host->out[event.what], 0xcc, 64);
        host->sent += MCP_SENT == event.type;
        host->failed += MCP_FAILED == event.type;
        host->why = event.why;
    }
}

static void process_all_events(struct world *w)
{
    for (uint32_t h = 0; h < w->nhosts; ++h) {
        if (0 != w->hosts[h].key) {
            process_events(w, &w->hosts[h]);
        }
    }
}

static void pass(struct world *w, uint64_t span_ns)
{
    wire_pass(&w->wire, span_ns);
    process_all_events(w);
}

static struct mcp_connection *connection(struct world *w, uint32_t from, uint32_t to)
{
    const struct host *host = &w->hosts[from];
    return &mcp_connections(host->nic->mcp)[host->connection[to]];
}

/* Check that no packets or messages are in flight, set aside, or unacknowledged. */
static void check_idle(struct world *w)
{
    assert_false(wire_next(&w->wire));
    for (uint32_t n = 0; n < w->wire.nnics; ++n) {
        struct mcp_nic *nic = w->wire.nics[n].mcp;
        for (uint32_t i = 0; i < nic->messages.connections; ++i) {
            const struct mcp_connection *c = &mcp_connections(nic)[i];
            assert_true(c->base == c->highest && 0 == c->nvoids);
            assert_true(0 == c->queue.first && 0 == c->aside.first && 0 == c->acknowledge_ns);
        }
        assert_int_equal(nic->counters.bad_tokens, 0);
    }
    for (uint32_t h = 0; h < w->nhosts; ++h) {
        assert_int_equal(w->hosts[h].under_way, 0);
    }
}

/* ---- single cases ---- */

/* A message and its reply take one packet each. A message without a reply is acknowledged a bit
 * later. */
TEST(answers_acknowledge)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    for (uint32_t i = 0; i < 100; ++i) {
        const uint32_t from = i % 2, to = 1 - from;
        provide(&w.hosts[to], 8);
        assert_true(send(&w, from, to, 8));
        pass(&w, 20 * MICROSECOND);
        assert_int_equal(w.hosts[to].received, i / 2 + 1);
    }
    assert_int_equal(w.wire.tally.sent, 100);
    pass(&w, SECOND);
    assert_int_equal(w.wire.tally.sent, 101);
    check_idle(&w);
    end(&w);
}

/* A long stream needs few acknowledgements, and is limited only by the window. */
TEST(stream)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    const uint64_t begun_ns = w.wire.now_ns;
    while (w.hosts[1].received < 200) {
        while (provide(&w.hosts[1], LONGEST)) {
        }
        while (w.hosts[0].under_way < RECEIVES && send(&w, 0, 1, LONGEST)) {
        }
        assert_true(wire_next(&w.wire));
        process_all_events(&w);
    }
    const struct mcp_counters *sender = &w.hosts[0].nic->mcp->counters,
                              *receiver = &w.hosts[1].nic->mcp->counters;
    assert_int_equal(sender->retransmissions, 0);
    assert_in_range(sender->packets_sent, 200 * PACKETS, 210 * PACKETS); /* and acknowledgements */
    assert_in_range(sender->messages_sent, 195, 205);
    assert_true(receiver->packets_sent < sender->packets_sent / (MCP_ACK_EVERY - 2));
    assert_int_equal(connection(&w, 0, 1)->window, MCP_WINDOW_MOST);
    /* 14,400 packets with a window of at least 64 for each round trip of 2 us leave no idle
     * time. */
    assert_true(w.wire.now_ns - begun_ns < 1000 * MICROSECOND);
    end(&w);
}

TEST(receiver_without_tokens)
{
    struct world w;
    begin(&w, 2, 6, crew_seed()); /* 0, 2, 4 on one NIC, 1, 3, 5 on the other */
    for (uint32_t i = 0; i < 4; ++i) {
        assert_true(send(&w, 0, 1, 3000 + i)); /* 1 will have no tokens for a long time */
        assert_true(send(&w, 2, 1, 10 + i));
        assert_true(send(&w, 0, 2, 100 + i)); /* host 2, on the same NIC, will have none either */
    }
    for (uint32_t i = 0; i < 100; ++i) { /* others are not delayed, in either direction */
        provide(&w.hosts[3], LONGEST);
        provide(&w.hosts[4], LONGEST);
        assert_true(send(&w, 4, 3, 5000));
        assert_true(send(&w, 3, 4, 20));
        pass(&w, 1000 * MICROSECOND);
        assert_int_equal(w.hosts[3].received, i + 1);
        assert_int_equal(w.hosts[4].received, i + 1);
    }
    const uint64_t before = w.wire.tally.sent;
    pass(&w, 10 * SECOND);
    assert_true(w.wire.tally.sent - before < 1000); /* only occasional retries */
    assert_int_equal(w.hosts[1].received + w.hosts[2].received, 0);
    assert_int_equal(w.hosts[0].under_way, 8);
    for (uint32_t i = 0; i < 8; ++i) { /* it is notified immediately when there is a token */
        assert_true(provide(&w.hosts[1], LONGEST));
        pass(&w, 100 * MICROSECOND);
        assert_int_equal(w.hosts[1].received, i + 1);
        if (i < 4) {
            assert_true(provide(&w.hosts[2], LONGEST));
            process_all_events(&w);
            assert_int_equal(w.hosts[2].received, i + 1);
        }
    }
    pass(&w, SECOND);
    check_idle(&w);
    end(&w);
}

/* Close host 0's port after this many events, with messages to host 1 in flight. */
static void close_after(struct world *w, uint32_t events)
{
    for (uint32_t i = 0; i < events; ++i) {
        wire_next(&w->wire);
    }
    close_port(&w->hosts[0]);
    w->hosts[0].under_way = 0;
}

/* If the sender's port is closed and no further messages follow, the receiver is notified that
 * the rest will not arrive. */
TEST(closed_during_a_transfer)
{
    for (uint32_t events = 0; events < 80; ++events) {
        struct world w;
        begin(&w, 2, 2, crew_seed() + events);
        w.wire.faults.loss = events % 3 * 100;
        while (provide(&w.hosts[1], LONGEST)) {
        }
        assert_true(send(&w, 0, 1, 100000));
        close_after(&w, events);
        wire_pass(&w.wire, 10 * SECOND);
        assert_int_equal(connection(&w, 1, 0)->incoming.port, 0);
        assert_true(0 == w.hosts[1].received);
        check_idle(&w);
        end(&w);
    }
}

/* ---- single packets are lost ---- */

/* Selects a packet: the first match, or all. */
struct victim {
    uint8_t type, flags;
    uint32_t sequence;
    uint32_t more; /* number of further matches before the selection ends */
    bool always, done;
};

static bool drop_victim(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    struct victim *victim = context;
    (void)from;
    (void)to;
    (void)payload;
    (void)payload_bytes;
    const bool match = header->type == victim->type &&
                       (header->message.flags & victim->flags) == victim->flags &&
                       (0 == victim->sequence || header->message.sequence == victim->sequence) &&
                       (victim->always || !victim->done);
    victim->done = victim->done || (match && 0 == victim->more);
    victim->more -= match && 0 != victim->more;
    return !match;
}

/* The packets after a lost one reveal the loss, so that recovery does not take a timeout, even
 * if the retransmission is lost. */
TEST(gaps_are_filled)
{
    for (uint32_t i = 0; i < 2 * 69; ++i) { /* all but the last of 71 */
        const uint32_t packet = i / 2;
        struct world w;
        begin(&w, 2, 2, crew_seed());
        struct victim victim = {
            .type = MCP_DATA, .sequence = MCP_FIRST_SEQUENCE + packet, .more = i % 2};
        w.wire.transmitted = drop_victim;
        w.wire.context = &victim;
        provide(&w.hosts[1], LONGEST);
        assert_true(send(&w, 0, 1, 100000));
        pass(&w, MCP_RETRY_NS / 2);
        assert_true(victim.done);
        assert_int_equal(w.hosts[1].received, 1);
        assert_int_equal(w.hosts[0].sent, 1);
        end(&w);
    }
}

/* Two ports whose numbers have the same bit in `refused_ports` are both reported to the sender when
 * they have tokens. */
TEST(ports_with_the_same_bit)
{
    enum { PORTS = 65 };
    struct world w;
    begin(&w, 2, 4, crew_seed());
    struct wire_nic *nic = w.hosts[1].nic;
    nic->mcp = wire_memory(nic, mcp_nic_bytes(PORTS, WIRE_CONNECTIONS));
    mcp_init(nic->mcp, crew_random(&w.random), PORTS, WIRE_CONNECTIONS);
    open_port(&w, 1, 0);
    open_port(&w, 3, PORTS - 1);
    (void)connect_nics(nic, w.hosts[0].nic);
    w.hosts[0].connection[1] = w.hosts[0].connection[3] = connect_nics(w.hosts[0].nic, nic);
    assert_true(send(&w, 0, 1, 100));
    assert_true(send(&w, 0, 3, 100));
    pass(&w, SECOND);
    for (uint32_t to = 1; to < 4; to += 2) {
        struct victim victim = {.type = MCP_ACK, .flags = MCP_READY, .always = true};
        w.wire.transmitted = drop_victim;
        w.wire.context = &victim;
        assert_true(provide(&w.hosts[to], LONGEST));
        assert_true(victim.done);
    }
    w.wire.transmitted = NULL;
    pass(&w, SECOND);
    assert_int_equal(w.hosts[1].received, 1);
    assert_int_equal(w.hosts[3].received, 1);
    check_idle(&w);
    end(&w);
}

/* A process has posted a token, but not yet notified the NIC, when another message arrives:
 * messages stay in order. */
TEST(messages_stay_in_order)
{
    struct world w;
    begin(&w, 1, 2, crew_seed());
    assert_true(send(&w, 0, 1, 100));
    struct host *host = &w.hosts[1];
    struct mcp_receive_token *slot = mcp_receive_slot(&host->shape, host->rings, 0);
    slot->memory = mcp_offset_of(&host->nic->board, host->in[0]);
    slot->bytes = LONGEST;
    host->provided[0] = true;
    ++host->waiting;
    myr_store_seq_cst(&slot->sequence, ++host->provides);
    assert_true(send(&w, 0, 1, 200));
    process_all_events(&w);
    assert_int_equal(host->received, 0);
    mcp_messages_provided(host->nic->mcp, &host->nic->board, host->number);
    process_all_events(&w);
    assert_int_equal(host->last_bytes, 100);
    provide(host, LONGEST);
    process_all_events(&w);
    assert_int_equal(host->received, 2);
    check_idle(&w);
    end(&w);
}

/* ---- invalid data ---- */

static bool is_unresponsive(struct world *w, uint32_t h, uint32_t asker, uint32_t least_s,
                            struct mcp_unresponsive *unresponsive)
{
    struct host *host = &w->hosts[h];
    return mcp_messages_unresponsive(host->nic->mcp, &host->nic->board, host->number, asker,
                                     1000 * least_s, unresponsive);
}

static void expect_unresponsive(struct world *w, uint32_t h, uint32_t asker, uint32_t least_s,
                                uint32_t from)
{
    struct mcp_unresponsive unresponsive;
    assert_true(is_unresponsive(w, h, asker, least_s, &unresponsive));
    assert_int_equal(unresponsive.connection, w->hosts[h].connection[from]);
    assert_int_equal(unresponsive.link, w->hosts[from].nic->link);
    assert_true(unresponsive.silence_ms >= 1000 * least_s);
    assert_false(is_unresponsive(w, h, asker, least_s, &unresponsive)); /* already reported */
}

/* An unreachable NIC is reported once to each caller that has messages for it, which remain
 * queued. The silence is measured while packets are retransmitted, not by time alone. */
TEST(unresponsive_nics)
{
    struct world w;
    struct mcp_unresponsive unresponsive;
    begin(&w, 3, 6, crew_seed());
    assert_true(provide(&w.hosts[1], LONGEST) && provide(&w.hosts[1], LONGEST));
    assert_true(send(&w, 0, 1, 100000));
    assert_true(send(&w, 0, 4, 100)); /* it has no token: it refuses, which counts as a response */
    pass(&w, 5 * SECOND);
    assert_false(is_unresponsive(&w, 0, 1, 1, &unresponsive));
    assert_int_equal(w.hosts[0].under_way, 1);

    w.wire.nics[1].unplugged = true;
    assert_true(send(&w, 0, 1, 10000));
    pass(&w, 9 * SECOND);
    assert_false(is_unresponsive(&w, 0, 1, 10, &unresponsive));
    pass(&w, 2 * SECOND);
    expect_unresponsive(&w, 0, 1, 10, 1);
    expect_unresponsive(&w, 0, 2, 10, 1);                       /* another job */
    assert_false(is_unresponsive(&w, 3, 3, 10, &unresponsive)); /* another port without messages */
    assert_true(send(&w, 0, 1, 1));
    pass(&w, 60 * SECOND);
    assert_false(is_unresponsive(&w, 0, 1, 10, &unresponsive));
    assert_int_equal(w.hosts[0].failed, 0);

    w.wire.nics[1].unplugged = false; /* they were not lost */
    while (provide(&w.hosts[1], LONGEST)) {
    }
    assert_true(provide(&w.hosts[4], LONGEST));
    pass(&w, SECOND);
    assert_int_equal(w.hosts[0].under_way, 0);
    assert_int_equal(w.hosts[1].received + w.hosts[4].received, 4);

    w.wire.nics[1].unplugged = true; /* unresponsive again */
    assert_true(send(&w, 0, 1, 1));
    pass(&w, 11 * SECOND);
    expect_unresponsive(&w, 0, 1, 10, 1);

    w.wire.nics[1].unplugged = false;
    pass(&w, SECOND);
    w.wire.nics[1].unplugged = true;
    assert_true(send(&w, 0, 1, 1));
    w.wire.now_ns += 60 * SECOND; /* this NIC was not run, and therefore did not retransmit */
    pass(&w, SECOND);
    assert_false(is_unresponsive(&w, 0, 1, 10, &unresponsive));
    close_port(&w.hosts[0]);
    assert_false(is_unresponsive(&w, 0, 1, 1, &unresponsive));
    end(&w);
}

/* Send a packet of 64 bytes to host 1 from the NIC of host 0, which is defective. The other
 * fields are valid. */
static void send_defective(struct world *w, struct mcp_message_part part)
{
    struct {
        struct mcp_header header;
        uint8_t payload[64];
    } packet = {.header = {.type = MCP_DATA, .key = w->hosts[1].nic->mcp->key}};
    part.source = w->hosts[0].nic->mcp->key;
    part.expected = MCP_FIRST_SEQUENCE;
    part.to_port = (uint16_t)w->hosts[1].number;
    part.port_key = w->hosts[1].key;
    packet.header.message = part;
    mcp_seal(&packet.header, &secret, packet.payload, sizeof(packet.payload));
    wire_inject(&w->wire, w->hosts[0].nic, w->hosts[1].nic, &packet, sizeof(packet));
    pass(w, SECOND);
}

/* A defective NIC sends more than a message's length: nothing is written beyond its end. */
TEST(more_than_the_length)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    while (provide(&w.hosts[1], LONGEST)) {
    }
    for (uint32_t i = 0; i < 100; ++i) {
        const uint32_t missing = 1 + crew_below(&w.random, 63);
        for (uint32_t second = 0; second < 2; ++second) {
            send_defective(&w,
                           (struct mcp_message_part){.sequence = MCP_FIRST_SEQUENCE + i + second,
                                                     .length = 64 + missing,
                                                     .round = (uint16_t)(MCP_FIRST_ROUND + i),
                                                     .flags = 0 == second ? MCP_FIRST : 0});
        }
        assert_int_equal(connection(&w, 1, 0)->expected, MCP_FIRST_SEQUENCE + i + 1);
        assert_int_equal(w.hosts[1].nic->mcp->counters.refusals, i + 1);
    }
    assert_int_equal(w.hosts[1].received, 0);
    end(&w);
}

/* ---- random traffic, in which senders of messages may have been closed ---- */

static uint32_t random_size(struct world *w)
{
    const uint32_t kind = crew_below(&w->random, 10);
    return kind < 6   ? crew_below(&w->random, 200)
           : kind < 9 ? crew_below(&w->random, w->largest / 8 + 1)
                      : crew_below(&w->random, w->largest + 1);
}

static const struct wire_faults none = {.delay_least_ns = 5000, .delay_most_ns = 9000};
static const struct wire_faults loss_10 = {
    .loss = 100, .delay_least_ns = 5000, .delay_most_ns = 9000};
static const struct wire_faults loss_30 = {
    .loss = 300, .delay_least_ns = 5000, .delay_most_ns = 50000};
static const struct wire_faults disorder = {.duplication = 100,
                                            .reordering = 200,
                                            .delay_least_ns = 5000,
                                            .delay_most_ns = 30000,
                                            .detour_most_ns = 3000000};
static const struct wire_faults everything = {.loss = 100,
                                              .duplication = 100,
                                              .reordering = 100,
                                              .damage = 100,
                                              .delay_least_ns = 1000,
                                              .delay_most_ns = 200000,
                                              .detour_most_ns = 20000000};

/* The progress of each pair of ports ever opened, by a hash of their keys. */
enum { PAIRS = 1 << 16 };

struct traffic_state {
    struct world w;
    uint32_t pair[PAIRS];                       /* a digest of the keys */
    uint32_t expected[PAIRS];                   /* index of the next message */
    enum manner { BUSY, LAZY, LEAVING } manner; /* lazy hosts rarely provide receive tokens */
    uint32_t letters, closings;
    uint64_t until_ns;
};

static uint32_t *expected_of(struct traffic_state *traffic_state, uint32_t from_key,
                             uint32_t to_key)
{
    const uint32_t digest = (from_key * 0x9e3779b9u ^ to_key) | 1;
    uint32_t i = digest >> 8 & (PAIRS - 1);
    while (0 != traffic_state->pair[i] && digest != traffic_state->pair[i]) {
        i = (i + 1) & (PAIRS - 1);
    }
    traffic_state->pair[i] = digest;
    return &traffic_state->expected[i];
}

static bool is_open(const struct world *w, uint32_t key)
{
    uint32_t h = 0;
    while (h < w->nhosts && key != w->hosts[h].key) {
        ++h;
    }
    return h < w->nhosts;
}

static void receive_message(struct world *w, struct host *host, const struct mcp_event *event)
{
    struct traffic_state *traffic_state = (struct traffic_state *)w; /* its first member */
    const uint8_t *in = take_buffer(host, event);
    struct content letter;
    memcpy(&letter, in, sizeof(letter));
    assert_int_equal(letter.to_key, host->key); /* for this instance of the port */
    assert_int_equal(letter.bytes, event->bytes);
    uint32_t *expected = expected_of(traffic_state, letter.from_key, letter.to_key);
    /* Of the messages in flight when their sender was closed, any may be missing. */
    assert_true(letter.index == *expected ||
                (letter.index > *expected && !is_open(w, letter.from_key)));
    *expected = letter.index + 1;
    assert_true(holds(in, &letter));
    ++traffic_state->letters;
}

static void random_step(struct wire_nic *nic, void *context)
{
    struct traffic_state *traffic_state = context;
    struct world *w = &traffic_state->w;
    (void)nic;
    const uint32_t h = crew_below(&w->random, w->nhosts), to = crew_below(&w->random, w->nhosts);
    struct host *host = &w->hosts[h];
    if (0 == host->key) {
        if (0 == crew_below(&w->random, 10)) {
            open_port(w, h, host->number);
            for (uint32_t from = 0; from < w->nhosts; ++from) {
                w->hosts[from].next_to[h] = 0;
            }
        }
    } else if (LEAVING == traffic_state->manner && w->wire.now_ns < traffic_state->until_ns &&
               0 == crew_below(&w->random, 60)) {
        process_events(w, host);
        close_port(host);
        ++traffic_state->closings;
    } else {
        process_events(w, host);
        if (w->wire.now_ns < traffic_state->until_ns && 0 != w->hosts[to].key) {
            const uint32_t bytes = (uint32_t)sizeof(struct content) + random_size(w);
            (void)send(w, h, to, bytes < LONGEST ? bytes : LONGEST);
        }
        while ((LAZY != traffic_state->manner || 0 == crew_below(&w->random, 50)) &&
               provide(host, LONGEST) && 0 != crew_below(&w->random, 4)) {
        }
    }
    wire_after(&w->wire, wire_between(&w->wire, 1, w->think_ns), NULL, random_step, traffic_state);
}

/* Messages to closed ports stay in flight, and all others have arrived. */
static bool traffic_is_done(void *context)
{
    struct traffic_state *traffic_state = context;
    struct world *w = &traffic_state->w;
    for (uint32_t h = 0; h < w->nhosts; ++h) {
        struct host *host = &w->hosts[h];
        for (uint32_t to = 0; 0 != host->key && to < w->nhosts; ++to) {
            if (0 != w->hosts[to].key && 0 != host->next_to[to] &&
                *expected_of(traffic_state, host->key, w->hosts[to].key) != host->next_to[to]) {
                return false;
            }
        }
    }
    return w->wire.now_ns > traffic_state->until_ns;
}

/* Returns the number of messages that have arrived. */
static uint32_t run_traffic(uint32_t nnics, uint32_t nhosts, enum manner manner,
                            const struct wire_faults *faults)
{
    static uint64_t runs;
    struct traffic_state *traffic_state = calloc(1, sizeof(*traffic_state));
    struct world *w = &traffic_state->w;
    begin(w, nnics, nhosts, crew_seed() + 7000 * ++runs);
    w->wire.faults = *faults;
    w->largest = LEAVING == manner ? 60000 : LONGEST;
    w->think_ns = 50 * MICROSECOND;
    w->receive = receive_message;
    traffic_state->manner = manner;
    traffic_state->until_ns = w->wire.now_ns + SECOND / 5;
    wire_after(&w->wire, 0, NULL, random_step, traffic_state);
    if (!wire_run(&w->wire, traffic_is_done, traffic_state, 1000 * SECOND)) {
        fail_msg("%u NICs, %u ports, run %u: messages are missing", nnics, nhosts, (unsigned)runs);
    }
    for (uint32_t h = 0; h < nhosts; ++h) {
        assert_int_equal(w->hosts[h].failed, 0);
    }
    assert_true(LEAVING != manner || traffic_state->closings > 20);
    if (2 == nhosts) { /* enough for their sequence numbers to wrap around */
        assert_true(connection(w, 0, 1)->base < MCP_FIRST_SEQUENCE);
    }
    end(w);
    const uint32_t letters = traffic_state->letters;
    free(traffic_state);
    return letters;
}

TEST(traffic)
{
    uint32_t letters = 0;
    static const struct wire_faults *const all[] = {&none, &loss_10, &loss_30, &disorder,
                                                    &everything};
    for (size_t f = 0; f < sizeof(all) / sizeof(all[0]); ++f) {
        letters += run_traffic(2, 2, BUSY, all[f]);
        letters += run_traffic(3, 5, LAZY, all[f]);
        letters += run_traffic(2 + (uint32_t)f % 4, 4 + (uint32_t)f % 7, LEAVING, all[f]);
    }
    assert_true(letters > 10000);
}

/* ---- connections ---- */

/* A NIC accepts packets only from NICs to which a host has connected, and sets a flag when another
 * one has tried to send. */
TEST(strangers)
{
    struct world w;
    begin(&w, 3, 3, crew_seed());
    struct wire_nic *nic = &w.wire.nics[0];
    struct mcp_messages *messages = &nic->mcp->messages;
    memset(&messages->bucket, 0, sizeof(messages->bucket));
    messages->connections = 0; /* as if only its peers had connected */
    nic->held[1] = nic->held[2] = 0;
    messages->known_only = true;
    assert_true(provide(&w.hosts[0], LONGEST) && send(&w, 1, 0, 10));
    pass(&w, SECOND);
    assert_int_equal(myr_load_acquire(&messages->knocked), 1);
    assert_int_equal(messages->connections, 0);
    assert_int_equal(nic->mcp->counters.packets_sent, 0);
    assert_true(nic->mcp->counters.dropped_foreign > 5);
    assert_int_equal(connect_nics(nic, &w.wire.nics[2]), 0); /* another NIC */
    assert_int_equal(myr_load_acquire(&messages->knocked), 1);
    assert_int_equal(w.hosts[0].received, 0);
    assert_false(mcp_is_connected(nic->mcp, w.wire.nics[1].mcp->key));
    assert_int_equal(connect_nics(nic, &w.wire.nics[1]), 1);
    assert_true(mcp_is_connected(nic->mcp, w.wire.nics[1].mcp->key));
    assert_int_equal(myr_load_acquire(&messages->knocked), 0);
    pass(&w, 10 * MICROSECOND); /* it is notified, and does not wait for its timeout */
    assert_int_equal(w.hosts[0].received, 1);
    pass(&w, SECOND);
    check_idle(&w);
    assert_true(connection(&w, 1, 0)->window >=
                MCP_WINDOW_FIRST); /* as if there had been no delay */
    assert_int_equal(connection(&w, 1, 0)->threshold, MCP_WINDOW_MOST);
    end(&w);
}

/* A packet creates the connection before the host connects. Each connection holds one link. */
TEST(links_are_held_once)
{
    struct world w;
    begin_open(&w, 3, 3, crew_seed());
    for (uint32_t n = 0; n < 3; ++n) {
        for (uint32_t to = 0; to < 3; ++to) {
            assert_int_equal(w.wire.nics[n].held[to], n != to);
        }
    }
    struct wire_nic *nic = &w.wire.nics[0], *other = &w.wire.nics[1];
    memset(&nic->mcp->messages.bucket, 0, sizeof(nic->mcp->messages.bucket));
    nic->mcp->messages.connections = 0; /* as if only its peers had connected */
    nic->held[1] = nic->held[2] = 0;
    assert_true(provide(&w.hosts[0], LONGEST) && send(&w, 1, 0, 10));
    pass(&w, SECOND);
    assert_int_equal(w.hosts[0].received, 1);
    assert_int_equal(nic->held[1], 1);
    assert_int_equal(connect_nics(nic, other), 0);
    assert_int_equal(connect_nics(nic, other), 0);
    assert_int_equal(nic->held[1], 1);
    nic->mcp->messages.nconnections = 1;
    assert_int_equal(connect_nics(nic, &w.wire.nics[2]), MCP_NO_CONNECTION);
    assert_int_equal(nic->held[2], 0);
    end(&w);
}

/* ---- NICs that leave ---- */

/* Close a host's port and its NIC, and tell the others until all of them know. */
static void leave(struct world *w, struct host *host)
{
    struct mcp_nic *nic = host->nic->mcp;
    close_port(host);
    for (int reports = 0; 0 != mcp_messages_leave(nic, &host->nic->board); ++reports) {
        assert_true(reports < 1000);
        wire_pass(&w->wire, wire_between(&w->wire, 0, MILLISECOND));
    }
}

/* Create a host's NIC anew, with a table of this size, and open its port. */
static void come_back(struct world *w, uint32_t h, uint32_t connections)
{
    struct host *host = &w->hosts[h];
    struct mcp_nic *nic = host->nic->mcp;
    memset(nic, 0, mcp_nic_bytes(WIRE_PORTS, WIRE_CONNECTIONS));
    memset(host->nic->held, 0, w->wire.nnics * sizeof(*host->nic->held));
    mcp_init(nic, crew_random(&w->random), WIRE_PORTS, connections);
    nic->messages.known_only = true;
    open_port(w, h, 0);
}

static void meet(struct world *w, uint32_t one, uint32_t other)
{
    struct host *host[] = {&w->hosts[one], &w->hosts[other]};
    const uint32_t number[] = {one, other};
    for (int i = 0; i < 2; ++i) {
        host[i]->connection[number[1 - i]] = connect_nics(host[i]->nic, host[1 - i]->nic);
        assert_int_not_equal(host[i]->connection[number[1 - i]], MCP_NO_CONNECTION);
        host[i]->next_to[number[1 - i]] = host[i]->next_from[number[1 - i]] = 0;
    }
}

/* Both send some messages, and receive them in any order. */
static void talk(struct world *w, uint32_t one, uint32_t other)
{
    const uint32_t number[] = {one, other}, messages = crew_below(&w->random, 4);
    const uint32_t received[] = {w->hosts[one].received, w->hosts[other].received};
    for (uint32_t m = 0; m < messages; ++m) {
        assert_true(send(w, one, other, crew_below(&w->random, w->largest)));
        assert_true(send(w, other, one, crew_below(&w->random, w->largest)));
    }
    for (int steps = 0; w->hosts[one].received != received[0] + messages ||
                        w->hosts[other].received != received[1] + messages;
         ++steps) {
        assert_true(steps < 100000);
        (void)provide(&w->hosts[number[steps % 2]], LONGEST);
        pass(w, MILLISECOND / 10);
    }
}

static void await_sent(struct world *w, const struct host *host)
{
    for (int steps = 0; 0 != host->under_way; ++steps) {
        assert_true(steps < 100000);
        pass(w, MILLISECOND / 10);
    }
}

static bool is_undeliverable(struct world *w, uint32_t from, uint32_t to, uint32_t connection)
{
    struct host *host = &w->hosts[from];
    const struct mcp_destination destination = {
        .connection = connection, .key = w->hosts[to].key, .port = 0};
    return mcp_messages_undeliverable(host->nic->mcp, &host->nic->board, host->number, &destination,
                                      60000);
}

/* A NIC with a table of three meets other NICs again and again. Each of them leaves and is created
 * anew, as when a program spawns processes on other hosts in a loop. Packets of earlier sessions
 * are still on the wire then. */
TEST(nics_come_and_go)
{
    enum { ROOM = 3, OTHERS = 4, SESSIONS = 400 };
    struct world w;
    uint32_t old = 0, stranded = 0;
    begin(&w, OTHERS + 1, OTHERS + 1, crew_seed());
    w.wire.faults = everything;
    for (uint32_t h = 0; h <= OTHERS; ++h) {
        come_back(&w, h, 0 == h ? ROOM : WIRE_CONNECTIONS);
    }
    struct host *host = &w.hosts[0];
    const struct mcp_messages *table = &host->nic->mcp->messages;
    for (uint32_t other = 1; other <= ROOM; ++other) {
        meet(&w, 0, other);
    }
    for (uint32_t session = 0; session < SESSIONS; ++session) {
        const uint32_t one = 1 + session % OTHERS, next = 1 + (session + ROOM) % OTHERS;
        for (uint32_t other = 1; other <= OTHERS; ++other) {
            if (other != next) {
                talk(&w, 0, other);
            }
        }
        await_sent(&w, host);
        old = host->connection[one];
        stranded = crew_below(&w.random, 3);
        for (uint32_t m = 0; m < stranded; ++m) { /* it leaves without having received these */
            assert_true(send(&w, 0, one, 100));
        }
        leave(&w, &w.hosts[one]);
        assert_true(is_undeliverable(&w, 0, one, old));
        assert_true(send(&w, 0, one, 100));
        come_back(&w, next, WIRE_CONNECTIONS);
        meet(&w, 0, next);
        assert_int_equal(table->connections, ROOM);
        assert_int_equal(table->peers, ROOM);
        /* The handle is not taken for the new one, which uses the entry. */
        assert_int_not_equal(host->connection[next], old);
        assert_int_equal(mcp_index_of(host->connection[next]), mcp_index_of(old));
        assert_true(is_undeliverable(&w, 0, one, old));
        assert_true(send(&w, 0, one, 100));
        pass(&w, crew_below(&w.random, 2) * MILLISECOND);
        assert_int_equal(host->under_way, stranded + 2);
        for (uint32_t n = 1; n <= OTHERS; ++n) {
            assert_int_equal(host->nic->held[n], n != one);
        }
        /* Closing the port returns the tokens of these messages. */
        for (uint32_t other = 1; other <= OTHERS; ++other) {
            if (other != one) {
                await_sent(&w, &w.hosts[other]);
            }
        }
        close_port(host);
        open_port(&w, 0, 0);
        for (uint32_t other = 1; other <= OTHERS; ++other) {
            w.hosts[other].next_to[0] = w.hosts[other].next_from[0] = 0;
        }
    }
    assert_int_equal(host->nic->mcp->counters.bad_tokens, 0);
    end(&w);
}

/* While no NIC has left, the table is full. The one that left first is replaced first, so that late
 * packets of the others are recognized as long as possible. */
TEST(the_first_that_left_is_replaced)
{
    struct world w;
    begin(&w, 6, 6, crew_seed());
    come_back(&w, 0, 3);
    struct host *host = &w.hosts[0];
    for (uint32_t other = 1; other <= 3; ++other) {
        come_back(&w, other, WIRE_CONNECTIONS);
        meet(&w, 0, other);
    }
    const uint64_t key[] = {0, w.hosts[1].nic->mcp->key, w.hosts[2].nic->mcp->key,
                            w.hosts[3].nic->mcp->key};
    assert_int_equal(connect_nics(host->nic, w.hosts[4].nic), MCP_NO_CONNECTION);
    leave(&w, &w.hosts[3]);
    leave(&w, &w.hosts[1]);
    assert_int_not_equal(connect_nics(host->nic, w.hosts[4].nic), MCP_NO_CONNECTION);
    assert_false(mcp_is_connected(host->nic->mcp, key[3]));
    assert_true(mcp_is_connected(host->nic->mcp, key[1]));
    assert_int_not_equal(connect_nics(host->nic, w.hosts[5].nic), MCP_NO_CONNECTION);
    assert_false(mcp_is_connected(host->nic->mcp, key[1]));
    assert_true(mcp_is_connected(host->nic->mcp, key[2]));
    assert_int_equal(connect_nics(host->nic, w.hosts[1].nic), MCP_NO_CONNECTION);
    end(&w);
}

/* A message whose acknowledgements were all lost is acknowledged when the receiver leaves. */
TEST(leaving_acknowledges)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    struct victim victim = {.type = MCP_ACK, .flags = 0, .always = true};
    w.wire.transmitted = drop_victim;
    w.wire.context = &victim;
    assert_true(provide(&w.hosts[1], LONGEST) && send(&w, 0, 1, 100));
    pass(&w, MILLISECOND);
    assert_int_equal(w.hosts[1].received, 1);
    assert_int_equal(w.hosts[0].under_way, 1);
    w.wire.transmitted = NULL;
    leave(&w, &w.hosts[1]);
    process_events(&w, &w.hosts[0]);
    assert_int_equal(w.hosts[0].under_way, 0);
    assert_int_equal(w.hosts[0].sent, 1);
    end(&w);
}
