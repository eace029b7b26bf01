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
 * covers invalid tokens and packets, ports that close at any time, connections that packets create,
 * and full tables.
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

struct content {
    uint32_t from_key, to_key; /* keys of the ports */
    uint32_t index;            /* number of earlier messages between these ports */
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
    uint32_t under_way; /* number of send tokens in use */
    uint32_t sent, failed, received;
    uint32_t connection[HOSTS];
};

struct world {
    struct wire wire;
    struct host hosts[HOSTS];
    uint32_t nhosts;
    uint64_t random;
};

static struct mcp_secret secret; /* the secret of all connections of the current test */

/* The progress between each pair of ports ever opened in the current test, by a hash of their keys.
 * (The next port with the same number has another key.) */
enum { PAIRS = 1 << 16 };

static struct pair {
    uint32_t digest; /* of the keys; 0: none */
    uint32_t sent, received;
} pairs[PAIRS];

static struct pair *pair_of(uint32_t from_key, uint32_t to_key)
{
    const uint32_t digest = (from_key * 0x9e3779b9u ^ to_key) | 1;
    uint32_t i = digest >> 8 & (PAIRS - 1);
    while (0 != pairs[i].digest && digest != pairs[i].digest) {
        i = (i + 1) & (PAIRS - 1);
    }
    pairs[i].digest = digest;
    return &pairs[i];
}

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
    host->sends = host->provides = host->events = host->under_way = 0;
    memset(host->sending, 0, sizeof(host->sending));
    memset(host->provided, 0, sizeof(host->provided));
    host->number = mcp_port_open(host->nic->mcp, &host->nic->board, &wish);
    assert_int_not_equal(host->number, MCP_NO_PORT);
}

static void close_port(struct host *host)
{
    mcp_port_close(host->nic->mcp, &host->nic->board, host->number);
    host->key = 0;
    for (int i = 0; i < SENDS; ++i) { /* the NIC no longer accesses them */
        memset(host->out[i], 0xee, 64);
    }
}

static uint32_t connect_nics(struct wire_nic *nic, const struct wire_nic *other)
{
    return mcp_connect(nic->mcp, &nic->board, other->mcp->key, wire_hold(nic, other->link), 0,
                       &secret);
}

/* Distribute ports over the NICs, and connect them all. */
static void begin(struct world *w, uint32_t nnics, uint32_t nhosts, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    memset(pairs, 0, sizeof(pairs));
    w->random = seed;
    w->nhosts = nhosts;
    secret = (struct mcp_secret){{crew_random(&w->random), 1}};
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

static void end(struct world *w)
{
    wire_end(&w->wire);
}

/* Post a receive token. Returns false if all are in use. */
static bool post(struct host *host, uint32_t bytes)
{
    for (uint32_t i = 0; i < RECEIVES; ++i) {
        if (!host->provided[i]) {
            struct mcp_receive_token *slot =
                mcp_receive_slot(&host->shape, host->rings, host->provides);
            host->provided[i] = true;
            memset(host->in[i], 0xdd, bytes);
            slot->memory = mcp_offset_of(&host->nic->board, host->in[i]);
            slot->bytes = bytes;
            myr_store_seq_cst(&slot->sequence, ++host->provides);
            return true;
        }
    }
    return false;
}

/* Notify the NIC of posted tokens if it waits for them. */
static void notify(struct host *host)
{
    if (0 != myr_load_seq_cst(&host->rings->hungry)) {
        mcp_messages_provided(host->nic->mcp, &host->nic->board, host->number);
    }
}

static bool provide(struct host *host, uint32_t bytes)
{
    const bool posted = post(host, bytes);
    notify(host);
    return posted;
}

/* Send the next message to host `to`. Returns false if there is no token. */
static bool send(struct world *w, uint32_t from, uint32_t to, uint32_t bytes)
{
    struct host *host = &w->hosts[from];
    uint32_t token = 0;
    while (token < SENDS && host->sending[token]) {
        ++token;
    }
    if (SENDS == token) {
        return false;
    }
    const uint32_t to_key = w->hosts[to].key;
    host->content[token] =
        (struct content){host->key, to_key, pair_of(host->key, to_key)->sent++, bytes};
    fill(host->out[token], &host->content[token]);
    host->sending[token] = true;
    ++host->under_way;
    struct mcp_send_token *slot = mcp_send_slot(&host->shape, host->rings, host->sends);
    *slot = (struct mcp_send_token){
        .token = token,
        .memory = mcp_offset_of(&host->nic->board, host->out[token]),
        .bytes = bytes,
        .connection = host->connection[to],
        .to_key = to_key,
        .to_port = (uint16_t)w->hosts[to].number,
    };
    myr_store_release(&slot->sequence, ++host->sends);
    mcp_messages_sdma(host->nic->mcp, &host->nic->board, host->number);
    return true;
}

/* Returns the key of the open port from which a message came. */
static uint32_t sender_of(const struct world *w, const struct mcp_event *event)
{
    for (uint32_t h = 0; h < w->nhosts; ++h) {
        if (event->from_nic == w->hosts[h].nic->mcp->key &&
            event->from_port == w->hosts[h].number) {
            return w->hosts[h].key;
        }
    }
    fail_msg("a message from an unknown port");
    return 0;
}

static bool is_open(const struct world *w, uint32_t key)
{
    uint32_t h = 0;
    while (h < w->nhosts && key != w->hosts[h].key) {
        ++h;
    }
    return h < w->nhosts;
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
    return host->in[i];
}

static void take_message(struct world *w, struct host *host, const struct mcp_event *event)
{
    const uint8_t *in = take_buffer(host, event);
    struct content content;
    if (event->bytes >= sizeof(content)) {
        memcpy(&content, in, sizeof(content));
    } else { /* too short for its description: it must be the next one */
        const uint32_t from_key = sender_of(w, event);
        content = (struct content){from_key, host->key, pair_of(from_key, host->key)->received,
                                   event->bytes};
    }
    struct pair *pair = pair_of(content.from_key, content.to_key);
    assert_int_equal(content.to_key, host->key); /* for this instance of the port */
    assert_int_equal(content.bytes, event->bytes);
    assert_true(holds(in, &content));
    /* If the sender's port was closed, any messages that were in flight may be missing. */
    assert_true(content.index == pair->received ||
                (content.index > pair->received && !is_open(w, content.from_key)));
    pair->received = content.index + 1;
    ++host->received;
}

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
            take_message(w, host, &event);
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

/* A reply also acknowledges the message, so that both take one packet each. A message without a
 * reply is acknowledged a bit later. */
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

/* If the RTT is longer than the initial timeout, the sender retransmits only the first packets. */
TEST(long_round_trips)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    w.wire.faults.delay_least_ns = w.wire.faults.delay_most_ns = 5 * MILLISECOND;
    for (uint32_t i = 0; i < 50; ++i) {
        assert_true(provide(&w.hosts[1], 8));
        assert_true(send(&w, 0, 1, 8));
        pass(&w, SECOND);
        assert_int_equal(w.hosts[1].received, i + 1);
    }
    assert_true(w.hosts[0].nic->mcp->counters.retransmissions < 10);
    assert_true(connection(&w, 0, 1)->rto_ns > 10 * MILLISECOND);
    check_idle(&w);
    end(&w);
}

TEST(receiver_without_tokens)
{
    struct world w;
    begin(&w, 2, 6, crew_seed()); /* 0, 2, 4 on one NIC, 1, 3, 5 on the other */
    for (uint32_t i = 0; i < 4; ++i) {
        assert_true(send(&w, 0, 1, 3000 + i)); /* host 1 has no tokens for a long time */
        assert_true(send(&w, 2, 1, 10 + i));
        assert_true(send(&w, 0, 2, 100 + i)); /* nor has host 2, on the NIC of 0 */
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
    for (uint32_t i = 0; i < 8; ++i) { /* host 0 is notified of a token at once */
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
        for (uint32_t i = 0; i < events; ++i) {
            wire_next(&w.wire);
        }
        close_port(&w.hosts[0]);
        w.hosts[0].under_way = 0;
        wire_pass(&w.wire, 10 * SECOND);
        assert_int_equal(connection(&w, 1, 0)->incoming.port, 0);
        assert_true(0 == w.hosts[1].received);
        check_idle(&w);
        end(&w);
    }
}

/* ---- single packets are lost ---- */

/* Packets that the wire drops. */
struct victim {
    uint8_t type, flags;
    uint32_t sequence; /* 0: any */
    uint32_t most;     /* maximum number of packets to drop */
    uint32_t dropped;  /* number of packets dropped so far */
};

static bool drop_victim(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    struct victim *victim = context;
    (void)from, (void)to, (void)payload, (void)payload_bytes;
    const bool drops = header->type == victim->type &&
                       (header->message.flags & victim->flags) == victim->flags &&
                       (0 == victim->sequence || header->message.sequence == victim->sequence) &&
                       victim->dropped < victim->most;
    victim->dropped += drops;
    return !drops;
}

static void drop(struct world *w, struct victim *victim)
{
    w->wire.transmitted = drop_victim;
    w->wire.context = victim;
}

/* The packets after a lost one reveal the loss, so that recovery does not take a timeout, even
 * if the retransmission is lost. */
TEST(gaps_are_filled)
{
    for (uint32_t i = 0; i < 2 * 69; ++i) { /* all but the last of 71 */
        struct world w;
        begin(&w, 2, 2, crew_seed());
        struct victim victim = {
            .type = MCP_DATA, .sequence = MCP_FIRST_SEQUENCE + i / 2, .most = 1 + i % 2};
        drop(&w, &victim);
        provide(&w.hosts[1], LONGEST);
        assert_true(send(&w, 0, 1, 100000));
        pass(&w, MCP_RETRY_NS / 2);
        assert_int_equal(victim.dropped, victim.most);
        assert_int_equal(w.hosts[1].received, 1);
        assert_int_equal(w.hosts[0].sent, 1);
        end(&w);
    }
}

/* When a message that has arrived in part is dropped, its token is free again. A message of the
 * same NIC gets it, which no other token would deliver. */
TEST(waiting_messages_get_the_token_of_a_dropped_one)
{
    struct world w;
    begin(&w, 2, 4, crew_seed()); /* 0 and 2 on one NIC, 1 and 3 on the other */
    struct victim victim = {
        .type = MCP_DATA, .sequence = MCP_FIRST_SEQUENCE + 2, .most = UINT32_MAX};
    drop(&w, &victim);
    assert_true(provide(&w.hosts[1], LONGEST));
    assert_true(send(&w, 0, 1, 10000));
    pass(&w, 10 * MILLISECOND);
    assert_true(send(&w, 3, 1, 10));
    assert_int_equal(w.hosts[3].under_way, 1);
    close_port(&w.hosts[0]);
    w.hosts[0].under_way = 0;
    w.wire.transmitted = NULL;
    pass(&w, SECOND);
    assert_int_equal(w.hosts[1].received, 1);
    check_idle(&w);
    end(&w);
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
        struct victim victim = {.type = MCP_ACK, .flags = MCP_READY, .most = UINT32_MAX};
        drop(&w, &victim);
        assert_true(provide(&w.hosts[to], LONGEST));
        assert_int_not_equal(victim.dropped, 0);
    }
    w.wire.transmitted = NULL;
    pass(&w, SECOND);
    assert_int_equal(w.hosts[1].received, 1);
    assert_int_equal(w.hosts[3].received, 1);
    check_idle(&w);
    end(&w);
}

/* ---- unreachable NICs ---- */

/* Returns whether a host's NIC reports to this caller that the NIC of host 1 is unresponsive. */
static bool reports(struct world *w, uint32_t h, uint32_t asker, uint32_t least_s)
{
    struct host *host = &w->hosts[h];
    struct mcp_unresponsive unresponsive;
    const bool is = mcp_messages_unresponsive(host->nic->mcp, &host->nic->board, host->number,
                                              asker, 1000 * least_s, &unresponsive);
    if (is) {
        assert_int_equal(unresponsive.connection, host->connection[1]);
        assert_int_equal(unresponsive.link, w->hosts[1].nic->link);
        assert_true(unresponsive.silence_ms >= 1000 * least_s);
    }
    return is;
}

/* An unreachable NIC is reported once to each caller that has messages for it, which remain queued.
 * Only time in which packets were retransmitted counts as silence. */
TEST(unresponsive_nics)
{
    struct world w;
    begin(&w, 3, 6, crew_seed());
    assert_true(provide(&w.hosts[1], LONGEST) && provide(&w.hosts[1], LONGEST));
    assert_true(send(&w, 0, 1, 100000));
    assert_true(send(&w, 0, 4, 100)); /* host 4 has no token, and its NIC refuses: a response */
    pass(&w, 5 * SECOND);
    assert_false(reports(&w, 0, 1, 1));
    assert_int_equal(w.hosts[0].under_way, 1);

    w.wire.nics[1].unplugged = true;
    assert_true(send(&w, 0, 1, 10000));
    pass(&w, 9 * SECOND);
    assert_false(reports(&w, 0, 1, 10));
    pass(&w, 2 * SECOND);
    assert_true(reports(&w, 0, 1, 10));
    assert_true(reports(&w, 0, 2, 10));  /* another caller */
    assert_false(reports(&w, 0, 1, 10)); /* already reported */
    assert_false(reports(&w, 3, 3, 10)); /* a port that has no messages for it */
    assert_true(send(&w, 0, 1, 1));
    pass(&w, 60 * SECOND);
    assert_false(reports(&w, 0, 1, 10));
    assert_int_equal(w.hosts[0].failed, 0);

    w.wire.nics[1].unplugged = false; /* the queued messages were not lost */
    while (provide(&w.hosts[1], LONGEST)) {
    }
    assert_true(provide(&w.hosts[4], LONGEST));
    pass(&w, SECOND);
    assert_int_equal(w.hosts[0].under_way, 0);
    assert_int_equal(w.hosts[1].received + w.hosts[4].received, 4);

    w.wire.nics[1].unplugged = true; /* unresponsive again */
    assert_true(send(&w, 0, 1, 1));
    pass(&w, 11 * SECOND);
    assert_true(reports(&w, 0, 1, 10));

    w.wire.nics[1].unplugged = false;
    pass(&w, SECOND);
    w.wire.nics[1].unplugged = true;
    assert_true(send(&w, 0, 1, 1));
    w.wire.now_ns += 60 * SECOND; /* this NIC was not run, and therefore did not retransmit */
    pass(&w, SECOND);
    assert_false(reports(&w, 0, 1, 10));
    close_port(&w.hosts[0]);
    assert_false(reports(&w, 0, 1, 1));
    end(&w);
}

/* ---- invalid data ---- */

/* A defective NIC sends more than a message's length: nothing is written beyond its end. */
TEST(more_than_the_length)
{
    struct world w;
    begin(&w, 2, 2, crew_seed());
    struct host *from = &w.hosts[0], *to = &w.hosts[1];
    while (provide(to, LONGEST)) {
    }
    for (uint32_t i = 0; i < 200; ++i) { /* two packets of 64 bytes for each message */
        struct {
            struct mcp_header header;
            uint8_t payload[64];
        } packet = {.header = {.type = MCP_DATA, .key = to->nic->mcp->key}};
        packet.header.message =
            (struct mcp_message_part){.source = from->nic->mcp->key,
                                      .expected = MCP_FIRST_SEQUENCE,
                                      .to_port = (uint16_t)to->number,
                                      .port_key = to->key,
                                      .sequence = MCP_FIRST_SEQUENCE + (i + 1) / 2,
                                      .length = 65 + i / 2 % 63,
                                      .round = (uint16_t)(MCP_FIRST_ROUND + i / 2),
                                      .flags = 0 == i % 2 ? MCP_FIRST : 0};
        mcp_seal(&packet.header, &secret, packet.payload, sizeof(packet.payload));
        wire_inject(&w.wire, from->nic, to->nic, &packet, sizeof(packet));
        pass(&w, SECOND);
        assert_int_equal(connection(&w, 1, 0)->expected, MCP_FIRST_SEQUENCE + i / 2 + 1);
        assert_int_equal(to->nic->mcp->counters.refusals, (i + 1) / 2);
    }
    assert_int_equal(to->received, 0);
    end(&w);
}

/* ---- random traffic, in which senders of messages may have been closed ---- */

enum { NO_FAULTS, LOSS_10, LOSS_30, DISORDER, EVERYTHING, FAULTS };

static const struct wire_faults faults[FAULTS] = {
    [NO_FAULTS] = {.delay_least_ns = 5000, .delay_most_ns = 9000},
    [LOSS_10] = {.loss = 100, .delay_least_ns = 5000, .delay_most_ns = 9000},
    [LOSS_30] = {.loss = 300, .delay_least_ns = 5000, .delay_most_ns = 50000},
    [DISORDER] = {.duplication = 100,
                  .reordering = 200,
                  .delay_least_ns = 5000,
                  .delay_most_ns = 30000,
                  .detour_most_ns = 3000000},
    [EVERYTHING] = {.loss = 100,
                    .duplication = 100,
                    .reordering = 100,
                    .damage = 100,
                    .delay_least_ns = 1000,
                    .delay_most_ns = 200000,
                    .detour_most_ns = 20000000},
};

enum manner { BUSY, LAZY, LEAVING }; /* lazy hosts rarely provide receive tokens */

/* Most messages are short. */
static uint32_t random_size(struct world *w)
{
    const uint32_t kind = crew_below(&w->random, 10);
    const uint32_t most = kind < 6 ? 200 : kind < 9 ? LONGEST / 8 : LONGEST;
    return (uint32_t)sizeof(struct content) +
           crew_below(&w->random, most - (uint32_t)sizeof(struct content));
}

/* Let a random host make a step. Returns whether it has closed its port. */
static bool random_step(struct world *w, enum manner manner, bool may_send)
{
    const uint32_t h = crew_below(&w->random, w->nhosts), to = crew_below(&w->random, w->nhosts);
    struct host *host = &w->hosts[h];
    if (0 == host->key) {
        if (0 == crew_below(&w->random, 10)) {
            open_port(w, h, host->number);
        }
        return false;
    }
    process_events(w, host);
    if (LEAVING == manner && may_send && 0 == crew_below(&w->random, 60)) {
        close_port(host);
        return true;
    }
    notify(host);
    if (may_send && 0 != w->hosts[to].key) {
        (void)send(w, h, to, random_size(w));
    }
    while ((LAZY != manner || 0 == crew_below(&w->random, 50)) && post(host, LONGEST) &&
           0 != crew_below(&w->random, 4)) {
    }
    if (0 != crew_below(&w->random, 4)) { /* else messages may arrive before the NIC is notified */
        notify(host);
    }
    return false;
}

/* Returns whether all messages between open ports have arrived. */
static bool all_arrived(const struct world *w)
{
    for (uint32_t h = 0; h < w->nhosts; ++h) {
        for (uint32_t to = 0; to < w->nhosts; ++to) {
            const struct pair *pair = pair_of(w->hosts[h].key, w->hosts[to].key);
            if (0 != w->hosts[h].key && 0 != w->hosts[to].key && pair->sent != pair->received) {
                return false;
            }
        }
    }
    return true;
}

/* Check that no connection sends what was acknowledged, or was never sent. */
static void check_next(const struct world *w)
{
    for (uint32_t n = 0; n < w->wire.nnics; ++n) {
        struct mcp_nic *nic = w->wire.nics[n].mcp;
        for (uint32_t i = 0; i < nic->messages.connections; ++i) {
            const struct mcp_connection *c = &mcp_connections(nic)[i];
            assert_true(c->next - c->base <= c->highest - c->base);
        }
    }
}

/* Returns the number of messages that have arrived. */
static uint32_t run_traffic(uint32_t nnics, uint32_t nhosts, enum manner manner,
                            const struct wire_faults *wire_faults)
{
    static uint64_t runs;
    struct world w;
    uint32_t received = 0, closings = 0;
    begin(&w, nnics, nhosts, crew_seed() + 7000 * ++runs);
    w.wire.faults = *wire_faults;
    const uint64_t until_ns = w.wire.now_ns + SECOND / 5;
    while (w.wire.now_ns < until_ns || !all_arrived(&w)) {
        closings += random_step(&w, manner, w.wire.now_ns < until_ns);
        wire_pass(&w.wire, crew_below(&w.random, 50 * MICROSECOND));
        check_next(&w);
        assert_true(w.wire.now_ns < until_ns + 1000 * SECOND); /* else messages are missing */
    }
    for (uint32_t h = 0; h < nhosts; ++h) {
        assert_int_equal(w.hosts[h].failed, 0);
        received += w.hosts[h].received;
    }
    assert_true(LEAVING != manner || closings > 20);
    if (2 == nhosts) { /* enough for their sequence numbers to wrap around */
        assert_true(connection(&w, 0, 1)->base < MCP_FIRST_SEQUENCE);
    }
    end(&w);
    return received;
}

TEST(traffic)
{
    uint32_t received = 0;
    for (uint32_t f = 0; f < FAULTS; ++f) {
        received += run_traffic(2, 2, BUSY, &faults[f]);
        received += run_traffic(3, 5, LAZY, &faults[f]);
        received += run_traffic(2 + f % 4, 4 + f % 7, LEAVING, &faults[f]);
    }
    assert_true(received > 10000);
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
    pass(&w, 10 * MICROSECOND); /* the sender is notified before its timeout */
    assert_int_equal(w.hosts[0].received, 1);
    pass(&w, SECOND);
    check_idle(&w);
    assert_true(connection(&w, 1, 0)->window >=
                MCP_WINDOW_FIRST); /* as if there had been no delay */
    assert_int_equal(connection(&w, 1, 0)->threshold, MCP_WINDOW_MOST);
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
    }
}

/* Both send some messages, and receive them in any order. */
static void talk(struct world *w, uint32_t one, uint32_t other)
{
    const uint32_t number[] = {one, other}, messages = crew_below(&w->random, 4);
    const uint32_t received[] = {w->hosts[one].received, w->hosts[other].received};
    for (uint32_t m = 0; m < messages; ++m) {
        assert_true(send(w, one, other, crew_below(&w->random, 3 * PAYLOAD)));
        assert_true(send(w, other, one, crew_below(&w->random, 3 * PAYLOAD)));
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
    w.wire.faults = faults[EVERYTHING];
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
        /* The new connection uses the same table entry, but has another handle. */
        assert_int_not_equal(host->connection[next], old);
        assert_int_equal(mcp_index_of(host->connection[next]), mcp_index_of(old));
        assert_true(is_undeliverable(&w, 0, one, old));
        assert_true(send(&w, 0, one, 100));
        pass(&w, crew_below(&w.random, 2) * MILLISECOND);
        assert_int_equal(host->under_way, stranded + 2);
        for (uint32_t n = 1; n <= OTHERS; ++n) {
            assert_int_equal(host->nic->held[n], n != one);
        }
        /* The tokens of the stranded messages are returned when the port is closed. */
        for (uint32_t other = 1; other <= OTHERS; ++other) {
            if (other != one) {
                await_sent(&w, &w.hosts[other]);
            }
        }
        close_port(host);
        open_port(&w, 0, 0);
    }
    assert_int_equal(host->nic->mcp->counters.bad_tokens, 0);
    end(&w);
}

/* A full table has room for a new NIC only if another one has left. The one that left first is
 * replaced, so that late packets of the others are recognized as long as possible. */
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
    drop(&w, &(struct victim){.type = MCP_ACK, .most = UINT32_MAX});
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
