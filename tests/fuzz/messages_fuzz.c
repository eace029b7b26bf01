/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzzes the messages between ports (firmware/port_table.c, connection.c, sdma.c, send.c, recv.c,
 * rdma.c) over the fake wire, to find input with which messages are lost, damaged or delivered to
 * another process. run.sh builds and runs it.
 *
 * Two NICs have two hosts each, which follow the rules unless a step says otherwise. A third NIC is
 * a malicious peer that knows all keys and sends anything: packets that are nearly correct, changed
 * copies of others' packets, and raw bytes. An input is a sequence of steps (see `enum step`).
 *
 * Invariants after each step:
 *
 * - a message is delivered whole, once and in order, and before its sender is notified;
 * - each token is returned once;
 * - the NICs access no memory but the rings of open ports, provided buffers, and messages in
 *   transit: all other memory is poisoned for AddressSanitizer;
 * - each connection's numbers, queues, links and deadlines are possible;
 * - each packet that a NIC sends is valid, and its destination is the NIC whose key it contains.
 *
 * At the end the wire becomes lossless, and all messages to open ports must arrive. The malicious
 * peer does not know the secret of the two NICs, so that packets that it sends in their name have
 * no effect.
 */
#include <sanitizer/asan_interface.h>

#include "firmware/connection.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/wire_fake.h"

enum {
    NICS = 3,
    PEER = 2,        /* the malicious NIC */
    HOSTS = 4,       /* host h is on NIC h % 2 */
    CONNECTIONS = 2, /* few, so that the table is soon full */
    SENDS = 4,       /* number of tokens of a port */
    RECEIVES = 4,
    LONGEST = 9000, /* maximum size of a message: four of these fill a window */
    MTU = 576,
    MEMORY = 256 << 10,
    RECORDED = 8, /* number of packets that can be repeated */
    STEPS_MOST = 400,
};

#define HEALING_MS 3000 /* number of iterations of a millisecond each */

/* The header of each message, as far as it fits; the rest of the contents depends on it. */
struct letter {
    uint32_t from_key, to_key; /* keys of the ports */
    uint32_t index;            /* number of earlier messages between these two */
    uint32_t bytes;
};

struct host {
    struct wire_nic *nic;
    uint32_t number, key; /* key 0 if the port is closed */
    struct mcp_port shape;
    struct mcp_rings *rings;
    size_t rings_bytes;
    uint32_t sends, provides, events;
    bool wild; /* it has posted an invalid token, so that its own messages are not checked */
    uint8_t *out[SENDS], *in[RECEIVES];
    uint8_t *own; /* memory of a wild host */
    struct {
        bool used, arrived;
        struct letter letter;
        uint32_t to; /* the destination host */
    } sending[SENDS];
    uint32_t provided[RECEIVES]; /* size of the buffer plus 1; 0: not provided */
    uint32_t next_to[HOSTS];     /* index of the next message to each host */
    uint32_t next_from[HOSTS];   /* the smallest index that may arrive next */
    uint32_t connection[2], to_peer;
};

static struct {
    struct wire wire;
    struct host hosts[HOSTS];
    uint32_t keys;        /* number of ports that were opened */
    bool tainted[2];      /* one of its hosts was wild, and its messages may still arrive */
    uint32_t rejected[2]; /* invalid tokens, as far as its hosts know */
    uint8_t lose;         /* bit n is set if the nth packet from now on is lost */
    uint32_t nrecorded;
    struct {
        struct mcp_header header;
        uint8_t payload[MCP_MTU];
        uint32_t bytes, to;
    } recorded[RECORDED];
} w;

static const struct mcp_secret secret_of_two = {{UINT64_C(0x0123456789abcdef), 1}};

/* ---- memory ---- */

/* Allocate memory followed by a cache line that must not be accessed. */
static uint8_t *get_memory(struct wire_nic *nic, size_t bytes)
{
    uint8_t *memory = wire_memory(nic, bytes + MYR_LINE);
    ASAN_POISON_MEMORY_REGION(memory, bytes + MYR_LINE);
    return memory;
}

static mcp_offset offset_of(const struct host *host, const void *memory)
{
    return mcp_offset_of(&host->nic->board, memory);
}

/* Returns the rest of a message after its header: a part of one long text, which is fast to
 * write and to compare. */
static const uint8_t *body_of(const struct letter *letter)
{
    enum { OFFSETS = 4096 };
    static uint8_t text[LONGEST + OFFSETS];
    static bool written;
    for (uint32_t i = 0; !written && i < sizeof(text); ++i) {
        text[i] = (uint8_t)((i * UINT32_C(0x9e3779b1)) >> 19);
    }
    written = true;
    return text + (letter->from_key * 131 + letter->to_key * 17 + letter->index * 7) % OFFSETS;
}

static uint32_t head_bytes(const struct letter *letter)
{
    return letter->bytes < sizeof(*letter) ? letter->bytes : (uint32_t)sizeof(*letter);
}

static void write_letter(uint8_t *memory, const struct letter *letter)
{
    const uint32_t head = head_bytes(letter);
    memcpy(memory, letter, head);
    memcpy(memory + head, body_of(letter), letter->bytes - head);
}

static bool holds(const uint8_t *memory, const struct letter *letter)
{
    const uint32_t head = head_bytes(letter);
    return 0 == memcmp(memory, letter, head) &&
           0 == memcmp(memory + head, body_of(letter), letter->bytes - head);
}

/* ---- hosts ---- */

static void open_port(struct host *host, uint32_t number)
{
    ASAN_UNPOISON_MEMORY_REGION(host->rings, host->rings_bytes);
    memset(host->rings, 0, host->rings_bytes);
    struct mcp_port_wish wish = {
        .number = number,
        .key = ++w.keys,
        .owner = 1,
        .rings = offset_of(host, host->rings),
        .send_tokens = SENDS,
        .receive_tokens = RECEIVES,
    };
    host->key = wish.key;
    host->wild = false;
    host->sends = host->provides = host->events = 0;
    memset(host->sending, 0, sizeof(host->sending));
    memset(host->provided, 0, sizeof(host->provided));
    for (uint32_t h = 0; h < HOSTS; ++h) {
        host->next_to[h] = host->next_from[h] = 0;
        w.hosts[h].next_to[host - w.hosts] = w.hosts[h].next_from[host - w.hosts] = 0;
    }
    host->number = mcp_port_open(host->nic->mcp, &host->nic->board, &wish);
    if (MCP_NO_PORT == host->number) { /* another host uses this number now */
        wish.number = MCP_ANY_PORT;
        host->number = mcp_port_open(host->nic->mcp, &host->nic->board, &wish);
    }
    CHECK(MCP_NO_PORT != host->number);
}

static void close_port(struct host *host)
{
    mcp_port_close(host->nic->mcp, &host->nic->board, host->number);
    host->key = 0;
    ASAN_POISON_MEMORY_REGION(host->rings, host->rings_bytes);
    for (uint32_t i = 0; i < SENDS; ++i) {
        ASAN_POISON_MEMORY_REGION(host->out[i], LONGEST);
    }
    for (uint32_t i = 0; i < RECEIVES; ++i) {
        ASAN_POISON_MEMORY_REGION(host->in[i], LONGEST);
    }
    ASAN_POISON_MEMORY_REGION(host->own, LONGEST);
}

static void make_host(uint32_t h)
{
    struct host *host = &w.hosts[h];
    host->nic = &w.wire.nics[h % 2];
    CHECK(mcp_port_shape(&host->shape, SENDS, RECEIVES, &host->rings_bytes));
    host->rings = (struct mcp_rings *)get_memory(host->nic, host->rings_bytes);
    for (uint32_t i = 0; i < SENDS; ++i) {
        host->out[i] = get_memory(host->nic, LONGEST);
    }
    for (uint32_t i = 0; i < RECEIVES; ++i) {
        host->in[i] = get_memory(host->nic, LONGEST);
    }
    host->own = get_memory(host->nic, LONGEST);
    open_port(host, MCP_ANY_PORT);
}

static void ring(struct host *host)
{
    mcp_messages_sdma(host->nic->mcp, &host->nic->board, host->number);
}

static void put_token(struct host *host, const struct mcp_send_token *token)
{
    struct mcp_send_token *slot = mcp_send_slot(&host->shape, host->rings, host->sends);
    *slot = *token;
    myr_store_release(&slot->sequence, ++host->sends);
}

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

/* Provide a buffer. Returns false if the host has none left, or if its port is wild, since the
 * rings of a wild port may be full of invalid tokens. */
static bool provide(struct host *host, uint32_t bytes)
{
    for (uint32_t i = 0; 0 != host->key && !host->wild && i < RECEIVES; ++i) {
        if (0 == host->provided[i]) {
            host->provided[i] = bytes + 1;
            ASAN_UNPOISON_MEMORY_REGION(host->in[i], bytes);
            put_buffer(host, offset_of(host, host->in[i]), bytes);
            return true;
        }
    }
    return false;
}

static void send_letter(struct host *host, uint32_t to, uint32_t bytes, bool rings)
{
    const struct host *receiver = &w.hosts[to];
    uint32_t token = 0;
    while (token < SENDS && host->sending[token].used) {
        ++token;
    }
    if (0 == host->key || host->wild || SENDS == token) {
        return;
    }
    const uint32_t index = host->next_to[to]++;
    const struct letter letter = {host->key, receiver->key, index, bytes};
    host->sending[token].used = true;
    host->sending[token].arrived = false;
    host->sending[token].letter = letter;
    host->sending[token].to = to;
    ASAN_UNPOISON_MEMORY_REGION(host->out[token], bytes);
    write_letter(host->out[token], &letter);
    put_token(host, &(struct mcp_send_token){
                        .token = token,
                        .memory = offset_of(host, host->out[token]),
                        .bytes = bytes,
                        .connection = host->nic == receiver->nic ? (uint32_t)MCP_SAME_NIC
                                                                 : host->connection[to % 2],
                        .to_key = 0 == receiver->key ? UINT32_MAX : receiver->key,
                        .to_port = (uint16_t)receiver->number,
                    });
    if (rings) {
        ring(host);
    }
}

/* ---- events ---- */

/* Check that a delivered message is the next one of an open port. */
static void record_arrival(struct host *host, const uint8_t *memory, const struct mcp_event *event)
{
    struct letter letter;
    uint32_t from = 0, nic = 0;
    while (nic < 2 && event->from_nic != w.wire.nics[nic].mcp->key) {
        ++nic;
    }
    if (2 == nic || w.tainted[nic] || event->bytes < sizeof(letter)) {
        return; /* from another sender, or too short to check */
    }
    memcpy(&letter, memory, sizeof(letter));
    CHECK(letter.to_key == host->key && letter.bytes == event->bytes && holds(memory, &letter));
    while (from < HOSTS && letter.from_key != w.hosts[from].key) {
        ++from;
    }
    if (HOSTS == from) {
        return; /* its sender's port was closed meanwhile */
    }
    struct host *sender = &w.hosts[from];
    CHECK(sender->nic->number == nic && sender->number == event->from_port);
    CHECK(letter.index >= host->next_from[from]);
    host->next_from[from] = letter.index + 1;
    bool found = false;
    for (uint32_t t = 0; t < SENDS; ++t) {
        if (sender->sending[t].used && sender->sending[t].letter.index == letter.index &&
            sender->sending[t].letter.to_key == letter.to_key) {
            found = sender->sending[t].arrived = true;
        }
    }
    CHECK(found); /* the sender has not been notified before the delivery */
}

static void take_message(struct host *host, const struct mcp_event *event)
{
    uint32_t i = 0;
    while (i < RECEIVES &&
           (0 == host->provided[i] || offset_of(host, host->in[i]) != event->what)) {
        ++i;
    }
    if (RECEIVES == i) {
        CHECK(host->wild);
        return;
    }
    CHECK(event->bytes < host->provided[i]);
    record_arrival(host, host->in[i], event);
    host->provided[i] = 0;
    ASAN_POISON_MEMORY_REGION(host->in[i], LONGEST);
}

static void take_end(struct host *host, const struct mcp_event *event)
{
    CHECK(event->what < SENDS && (MCP_SENT == event->type || event->why <= MCP_FAILED_BAD_TOKEN));
    w.rejected[host->nic->number] +=
        MCP_FAILED == event->type && MCP_FAILED_BAD_TOKEN == event->why;
    if (host->wild && !host->sending[event->what].used) {
        return;
    }
    CHECK(host->sending[event->what].used);
    host->sending[event->what].used = false;
    const struct letter *letter = &host->sending[event->what].letter;
    const struct host *receiver = &w.hosts[host->sending[event->what].to];
    if (!host->wild) {
        CHECK(holds(host->out[event->what], letter));
        if (!w.tainted[host->nic->number] && !receiver->wild && letter->bytes >= sizeof(*letter)) {
            CHECK(MCP_SENT != event->type || receiver->key != letter->to_key ||
                  host->sending[event->what].arrived);
            CHECK(MCP_SENT == event->type || !host->sending[event->what].arrived);
        }
    }
    ASAN_POISON_MEMORY_REGION(host->out[event->what], LONGEST);
}

/* Take a host's events: either those of received messages, or the others. */
static void poll_host(struct host *host, bool arrivals)
{
    for (uint32_t e = host->events;; ++e) {
        const struct mcp_event *slot = mcp_event_slot(&host->shape, host->rings, e);
        if (myr_load_acquire(&slot->sequence) != e + 1) {
            host->events = arrivals ? host->events : e;
            return;
        }
        if (MCP_UNFIT == slot->type) {
            CHECK(host->wild);
            w.rejected[host->nic->number] += !arrivals;
        } else if ((MCP_RECEIVED == slot->type) == arrivals) {
            CHECK(MCP_SENT == slot->type || MCP_FAILED == slot->type || MCP_RECEIVED == slot->type);
            arrivals ? take_message(host, slot) : take_end(host, slot);
        }
    }
}

/* Take all hosts' events, received messages first, because no sender may be notified before its
 * message is delivered. */
static void poll_all_hosts(void)
{
    for (int arrivals = 1; arrivals >= 0; --arrivals) {
        for (uint32_t h = 0; h < HOSTS; ++h) {
            if (0 != w.hosts[h].key) {
                poll_host(&w.hosts[h], 0 != arrivals);
            }
        }
    }
}

/* ---- the peer that sends anything ---- */

static void inject_copy(uint32_t to, const struct mcp_header *header, const void *payload,
                        uint32_t bytes)
{
    uint8_t packet[sizeof(*header) + 4 * MTU];
    CHECK(bytes <= 4 * MTU);
    const size_t head = mcp_header_bytes(header->type);
    memcpy(packet, header, head);
    memcpy(packet + head, payload, bytes);
    wire_inject(&w.wire, &w.wire.nics[PEER], &w.wire.nics[to], packet, head + bytes);
}

/* Inject a packet of the malicious peer, which seals its own packets without a secret. */
static void inject_own(uint32_t to, struct mcp_header *header, const void *payload, uint32_t bytes)
{
    mcp_seal(header, &mcp_open_secret, payload, bytes);
    inject_copy(to, header, payload, bytes);
}

static uint64_t take_source(struct input *in, uint32_t to)
{
    const uint32_t kind = take_below(in, 24);
    const uint64_t own = w.wire.nics[PEER].mcp->key;
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return w.wire.nics[to].mcp->key;
    case 2: /* impersonate the other NIC */
        return w.wire.nics[1 - to].mcp->key;
    default: /* its own name or another NIC's, so that the table of connections is soon full */
        return own + (kind < 8 ? 0 : kind);
    }
}

static uint32_t take_length(struct input *in)
{
    static const uint32_t lengths[] = {0,   1,    15,   16,   40,      499,     500,        501,
                                       999, 1000, 2000, 4001, LONGEST, 1 << 20, UINT32_MAX, 100};
    const uint8_t byte = take_byte(in);
    return byte < 16 ? lengths[byte] : byte < 64 ? byte : byte * UINT32_C(37);
}

/* Send a packet that would nearly be correct now. */
static void send_nearly(struct input *in)
{
    static const uint8_t nothing[4 * MTU];
    const uint32_t to = take_below(in, 2);
    struct mcp_nic *nic = w.wire.nics[to].mcp;
    const uint64_t source = take_source(in, to);
    static const struct mcp_connection fresh = {
        .base = MCP_FIRST_SEQUENCE,
        .expected = MCP_FIRST_SEQUENCE,
        .round = MCP_FIRST_ROUND,
        .incoming_round = MCP_FIRST_ROUND,
    };
    const struct mcp_connection *c = mcp_connection_find(nic, source);
    c = NULL == c ? &fresh : c;
    const uint8_t kind = take_byte(in), off = take_byte(in);
    struct mcp_header header = {.type = (uint8_t)(MCP_DATA + kind % 3), .key = nic->key};
    struct mcp_message_part *part = &header.message;
    const bool data = MCP_DATA == header.type;
    const struct host *host = &w.hosts[to + 2 * (kind >> 2 & 1)];
    const bool goes_on = data && 0 != c->incoming.port && 0 == (kind & 8);
    if (goes_on && c->incoming.port - 1 != host->number) {
        host = &w.hosts[to + 2 * (1 - (kind >> 2 & 1))];
    }
    part->source = source;
    part->sequence = (data ? c->expected : c->base) + (0 != (off & 1) ? take_step(in) : 0);
    part->expected = (0 != (off & 2) ? c->highest : c->base) + (0 != (off & 4) ? take_step(in) : 0);
    part->round =
        (uint16_t)((data ? c->incoming_round : c->round) + (0 != (off & 8) ? take_step(in) : 0));
    part->to_port = (uint16_t)(host->number + (0 != (off & 16) ? take_step(in) : 0));
    part->from_port = (uint16_t)take_below(in, 4);
    part->port_key = host->key + (0 != (off & 32) ? take_step(in) : 0);
    part->detail =
        (uint8_t)(MCP_ACK == header.type && 0 == (off & 64) ? c->attempt : take_byte(in));
    uint32_t bytes = 0;
    if (data) {
        part->length = goes_on ? c->incoming.length : take_length(in);
        bytes = take_length(in);
        bytes = bytes < part->length ? bytes : part->length;
        bytes = bytes < sizeof(nothing) ? bytes : sizeof(nothing);
        part->flags = kind & 8 ? MCP_FIRST : kind & 16 ? MCP_VOID : 0;
        part->flags |= kind & 32 ? MCP_PLEASE : 0;
        if (0 != (part->flags & MCP_VOID)) {
            part->length = bytes = 0;
        }
    } else if (MCP_ACK == header.type) {
        static const uint8_t leaving[] = {0, 0, MCP_SEEN, MCP_LEFT};
        part->flags =
            (uint8_t)((kind & 8 ? MCP_GAP : 0) | (kind & 16 ? MCP_READY : 0) | leaving[kind >> 6]);
        part->length = take_below(in, 8);
    } else if (0 == (kind & 8)) {
        part->detail = (uint8_t)(MCP_NOT_READY + part->detail % 3);
    }
    inject_own(to, &header, nothing, bytes);
}

/* Repeat a packet, perhaps with one field changed and sealed again. */
static void send_again(struct input *in)
{
    if (0 == w.nrecorded) {
        return;
    }
    const uint8_t which = take_byte(in);
    const uint32_t end = w.nrecorded < RECORDED ? w.nrecorded : RECORDED;
    struct mcp_header header = w.recorded[which % end].header;
    const uint32_t to = w.recorded[which % end].to;
    uint32_t bytes = w.recorded[which % end].bytes;
    struct mcp_message_part *part = &header.message;
    const uint32_t field = which >> 4, by = 0 == field ? 0 : take_step(in);
    part->sequence += 1 == field ? by : 0;
    part->expected += 2 == field ? by : 0;
    part->to_port = (uint16_t)(part->to_port + (3 == field ? by : 0));
    part->port_key += 4 == field ? by : 0;
    part->length += 5 == field ? by : 0;
    part->round = (uint16_t)(part->round + (6 == field ? by : 0));
    part->flags ^= (uint8_t)(7 == field ? by : 0);
    part->detail = (uint8_t)(part->detail + (8 == field ? by : 0));
    part->source += 9 == field ? by : 0;
    header.type = (uint8_t)(header.type + (10 == field ? by : 0)) % MCP_TYPES;
    header.type += 0 == header.type;
    if (11 == field && bytes > 0) {
        bytes -= by % bytes;
    }
    if (0 == field) {
        inject_copy(to, &header, w.recorded[which % end].payload, bytes);
    } else {
        inject_own(to, &header, w.recorded[which % end].payload, bytes);
    }
}

static void send_raw(struct input *in)
{
    uint8_t packet[80];
    const uint32_t to = take_below(in, 2);
    const size_t count = take_bytes(in, packet, take_below(in, sizeof(packet) + 1));
    wire_inject(&w.wire, &w.wire.nics[PEER], &w.wire.nics[to], packet, count);
}

/* ---- the wire ---- */

static bool transmitted(void *context, const struct wire_nic *from, mcp_link to,
                        const struct mcp_header *header, const void *payload, size_t bytes)
{
    struct mcp_header parsed;
    static uint8_t packet[sizeof(*header) + MCP_MTU];
    (void)context;
    CHECK(bytes <= MCP_MTU - MCP_DATAGRAM_BYTES - MCP_MESSAGE_BYTES && to - 1 < NICS);
    memcpy(packet, header, sizeof(*header));
    if (0 != bytes) {
        memcpy(packet + sizeof(*header), payload, bytes);
    }
    CHECK(mcp_parse(packet, sizeof(*header) + bytes, &parsed));
    const bool of_peer = PEER == to - 1 || &w.wire.nics[PEER] == from;
    CHECK(mcp_genuine(&parsed, of_peer ? &mcp_open_secret : &secret_of_two,
                      packet + sizeof(*header)));
    CHECK(from->mcp->key == header->message.source);
    CHECK(PEER == to - 1 || w.wire.nics[to - 1].mcp->key == header->key);
    const uint32_t entry = w.nrecorded++ % RECORDED;
    w.recorded[entry].header = *header;
    w.recorded[entry].bytes = (uint32_t)bytes;
    w.recorded[entry].to = to - 1;
    if (PEER == to - 1) { /* the peer sends it back */
        w.recorded[entry].header.key = from->mcp->key;
        w.recorded[entry].header.message.source = w.wire.nics[PEER].mcp->key;
        w.recorded[entry].to = from->number;
        mcp_seal(&w.recorded[entry].header, &mcp_open_secret, payload, bytes);
    }
    memcpy(w.recorded[entry].payload, packet + sizeof(*header), bytes);
    const bool lost = 0 != (w.lose & 1);
    w.lose >>= 1;
    return !lost;
}

static void connect_to(uint32_t n, uint32_t to, uint32_t mtu)
{
    struct wire_nic *nic = &w.wire.nics[n];
    const struct wire_nic *other = &w.wire.nics[to];
    const uint32_t connection =
        mcp_connect(nic->mcp, &nic->board, other->mcp->key, wire_hold(nic, other->link), mtu,
                    PEER == to ? NULL : &secret_of_two);
    for (uint32_t h = n; h < HOSTS; h += 2) {
        if (MCP_NO_CONNECTION == connection) {
            CHECK(NULL == mcp_connection_find(nic->mcp, other->mcp->key));
            CHECK(CONNECTIONS == nic->mcp->messages.connections);
        } else if (PEER == to) {
            w.hosts[h].to_peer = connection;
        } else {
            w.hosts[h].connection[to] = connection;
        }
    }
}

/* The malicious peer's NIC leaves, as far as this NIC knows. */
static void leave_as_peer(uint32_t to)
{
    struct wire_nic *peer = &w.wire.nics[PEER];
    const struct wire_nic *nic = &w.wire.nics[to];
    (void)mcp_connect(peer->mcp, &peer->board, nic->mcp->key, wire_hold(peer, nic->link), 0, NULL);
    (void)mcp_messages_leave(peer->mcp, &peer->board);
}

static void begin(void)
{
    memset(&w, 0, sizeof(w));
    wire_begin(&w.wire, NICS, MEMORY, 1);
    w.wire.transmitted = transmitted;
    w.wire.nics[PEER].unplugged = true;
    for (uint32_t n = 0; n < 2; ++n) {
        struct wire_nic *nic = &w.wire.nics[n];
        CHECK(nic->taken + MYR_LINE < MEMORY);
        (void)get_memory(nic, 0);
        nic->mcp->messages.nconnections = CONNECTIONS;
    }
    for (uint32_t h = 0; h < HOSTS; ++h) {
        make_host(h);
        w.hosts[h].to_peer = MCP_NO_CONNECTION;
    }
    w.wire.nics[1].mcp->messages.known_only = true;
    connect_to(0, 1, MTU);
    connect_to(1, 0, MTU);
}

static void end(void)
{
    for (uint32_t n = 0; n < NICS; ++n) {
        struct wire_nic *nic = &w.wire.nics[n];
        ASAN_UNPOISON_MEMORY_REGION(nic->board.memory, nic->board.memory_bytes);
    }
    wire_end(&w.wire);
}

/* ---- invariants ---- */

static uint32_t check_queue(const struct mcp_board *board, const struct mcp_queue *queue,
                            uint32_t connection, uint32_t state, mcp_offset current)
{
    uint32_t count = 0;
    bool found = 0 == current;
    mcp_offset last = 0;
    for (mcp_offset o = queue->first; 0 != o; ++count) {
        const struct mcp_sending *sending = mcp_sending_at(board, o);
        CHECK(count < HOSTS * SENDS && state == sending->state);
        CHECK(connection == sending->connection);
        found = found || o == current;
        last = o;
        o = sending->next;
    }
    CHECK(found && (0 == queue->first || last == queue->last));
    return count;
}

static bool in_time(const struct mcp_nic *nic, const struct mcp_connection *c, uint64_t at_ns)
{
    return 0 == at_ns ||
           (c->active && 0 != nic->messages.deadline_ns && nic->messages.deadline_ns <= at_ns);
}

static uint32_t check_connection(const struct wire_nic *nic, const struct mcp_connection *c)
{
    uint32_t voids = 0;
    const struct mcp_messages *m = &nic->mcp->messages;
    for (uint32_t i = 0; i < MCP_VOIDS / 32; ++i) {
        voids += (uint32_t)__builtin_popcount(c->voids[i]);
    }
    CHECK(voids == c->nvoids && c->highest - c->base <= MCP_VOIDS);
    CHECK(c->next - c->base <= c->highest - c->base);
    CHECK(c->window >= MCP_WINDOW_LEAST && c->window <= MCP_WINDOW_MOST);
    CHECK(c->threshold >= MCP_WINDOW_LEAST && c->threshold <= MCP_WINDOW_MOST);
    CHECK(c->credit < c->window + MCP_WINDOW_MOST && 0 != c->fragment);
    CHECK(in_time(nic->mcp, c, c->retry_ns) && in_time(nic->mcp, c, c->resume_ns));
    CHECK(in_time(nic->mcp, c, c->acknowledge_ns));
    CHECK(c->base == c->next || 0 != c->retry_ns);
    CHECK(0 == c->aside.first || 0 != c->resume_ns);
    if (0 != c->incoming.port) {
        CHECK(c->incoming.port <= m->nports && 0 != mcp_ports(nic->mcp)[c->incoming.port - 1].key);
        CHECK(c->incoming.received <= c->incoming.length);
        CHECK(c->incoming.length <= c->incoming.room);
        CHECK(mcp_in_memory(&nic->board, c->incoming.memory, c->incoming.room));
    }
    const uint32_t handle = mcp_connection_handle(nic->mcp, c);
    const uint32_t messages = check_queue(&nic->board, &c->queue, handle, MCP_QUEUED, c->current) +
                              check_queue(&nic->board, &c->aside, handle, MCP_ASIDE, 0);
    if (0 != c->departure) {
        CHECK(0 == messages && 0 == c->incoming.port && c->base == c->highest);
        CHECK(0 == c->retry_ns && 0 == c->resume_ns && 0 == c->acknowledge_ns);
    }
    return messages;
}

/* Returns the NIC to which a message goes. */
static struct wire_nic *destination_of(struct wire_nic *nic, const struct mcp_sending *sending)
{
    const uint32_t c = sending->connection;
    return MCP_SAME_NIC == c ? nic : &w.wire.nics[mcp_connection_at(nic->mcp, c)->link - 1];
}

/* Checks that no message counts as undeliverable whose port is open. (The peer may refuse any.) */
static void check_deliverable(struct wire_nic *nic, const struct mcp_sending *sending)
{
    if (MCP_STRANDED == sending->state) {
        const struct mcp_connection *c = mcp_connection_at(nic->mcp, sending->connection);
        CHECK(NULL == c || 0 != c->departure);
        return;
    }
    struct wire_nic *other = destination_of(nic, sending);
    const struct mcp_port *port = mcp_port_at(other->mcp, sending->to_port);
    const bool open = NULL != port && 0 != port->key && port->key == sending->to_key;
    const struct mcp_destination to = {
        .connection = sending->connection, .key = sending->to_key, .port = sending->to_port};
    const bool not =
        mcp_messages_undeliverable(nic->mcp, &nic->board, sending->port, &to, UINT32_MAX);
    CHECK(other == &w.wire.nics[PEER] || !not || !open);
    CHECK(nic != other || not != open);
}

/* Returns the number of the port's messages that are in a queue. */
static uint32_t check_port(struct wire_nic *nic, struct mcp_port *port)
{
    uint32_t under_way = 0, stranded = 0;
    const struct mcp_sending *sendings = mcp_sendings(port, mcp_at(&nic->board, port->rings));
    for (uint32_t t = 0; t < port->send_tokens; ++t) {
        if (MCP_IDLE != sendings[t].state) {
            ++under_way;
            stranded += MCP_STRANDED == sendings[t].state;
            check_deliverable(nic, &sendings[t]);
        }
    }
    CHECK(under_way == port->under_way && port->spares <= port->receive_slots);
    return under_way - stranded;
}

static void check_nic(struct wire_nic *nic)
{
    uint32_t queued = 0, of_ports = 0, held[NICS] = {0};
    CHECK(nic->mcp->messages.connections <= CONNECTIONS);
    CHECK(w.rejected[nic->number] <= nic->mcp->counters.bad_tokens);
    CHECK(w.tainted[nic->number] || 0 == nic->mcp->counters.bad_tokens);
    for (uint32_t i = 0; i < nic->mcp->messages.connections; ++i) {
        const struct mcp_connection *c = &mcp_connections(nic->mcp)[i];
        queued += check_connection(nic, c);
        CHECK(c->link - 1 < NICS && c == mcp_connection_find(nic->mcp, c->key));
        ++held[c->link - 1];
    }
    for (uint32_t number = 0; number < WIRE_PORTS; ++number) {
        struct mcp_port *port = mcp_port_at(nic->mcp, number);
        queued += check_queue(&nic->board, &port->waiting, MCP_SAME_NIC, MCP_WAITING, 0);
        of_ports += 0 != port->key ? check_port(nic, port) : 0;
    }
    CHECK(queued == of_ports);
    for (uint32_t n = 0; n < NICS; ++n) {
        CHECK(held[n] == nic->held[n]);
    }
}

/* ---- healing ---- */

static bool all_is_done(void)
{
    for (uint32_t h = 0; h < HOSTS; ++h) {
        const struct host *host = &w.hosts[h];
        for (uint32_t t = 0; 0 != host->key && !host->wild && t < SENDS; ++t) {
            const struct host *to = &w.hosts[host->sending[t].to];
            if (host->sending[t].used && !to->wild && to->key != 0 &&
                to->key == host->sending[t].letter.to_key) {
                return false;
            }
        }
    }
    return true;
}

static void drop_messages_of_peer(struct wire_nic *nic)
{
    for (uint32_t i = 0; i < nic->mcp->messages.connections; ++i) {
        struct mcp_connection *c = &mcp_connections(nic->mcp)[i];
        if (w.wire.nics[PEER].link == c->link) {
            mcp_incoming_drop(nic->mcp, &nic->board, c);
        }
    }
}

/* Stop the loss of packets and provide tokens, so that all messages to open ports arrive. A
 * message that the peer has begun would hold a token until its end. */
static void heal(void)
{
    w.wire.faults = (struct wire_faults){.delay_least_ns = 1000, .delay_most_ns = 1000};
    w.lose = 0;
    for (uint32_t n = 0; n < 2; ++n) {
        drop_messages_of_peer(&w.wire.nics[n]);
    }
    for (uint32_t h = 0; h < HOSTS; ++h) {
        if (0 != w.hosts[h].key) {
            ring(&w.hosts[h]);
        }
    }
    poll_all_hosts();
    for (uint32_t ms = 0; !all_is_done(); ++ms) {
        CHECK(ms < HEALING_MS);
        for (uint32_t h = 0; h < HOSTS; ++h) {
            while (provide(&w.hosts[h], LONGEST)) {
            }
        }
        wire_pass(&w.wire, MILLISECOND);
        poll_all_hosts();
    }
}

/* ---- steps ---- */

enum step {
    SEND,
    SEND_UNRUNG,
    PROVIDE,
    EVENTS,
    TIME,
    SEND_NEARLY,
    SEND_AGAIN,
    SEND_RAW,
    LOSE,
    FAULTS,
    PORT, /* closes or opens the port */
    SEND_TO_PEER,
    BAD_TOKEN,
    BAD_BUFFER,
    BELLS,
    CONNECT,
    FIND_UNRESPONSIVE,
    STEPS
};

static void go_wild(struct host *host)
{
    host->wild = w.tainted[host->nic->number] = true;
    ASAN_UNPOISON_MEMORY_REGION(host->own, LONGEST);
}

static mcp_offset take_offset(struct input *in, const struct host *host)
{
    static const mcp_offset nowhere[] = {0, MEMORY - 1, MEMORY, UINT32_MAX, UINT32_MAX - 500};
    const uint32_t kind = take_below(in, 10);
    return kind < 5 ? nowhere[kind] : offset_of(host, host->own);
}

static void put_bad_token(struct input *in, struct host *host)
{
    const struct host *to = &w.hosts[take_below(in, HOSTS)];
    const uint8_t kind = take_byte(in);
    if (0 == host->key) {
        return;
    }
    go_wild(host);
    ring(host); /* so that its ring has space */
    const mcp_offset memory = take_offset(in, host);
    const uint32_t bytes = take_length(in);
    put_token(host,
              &(struct mcp_send_token){
                  .token = kind % (SENDS + 1),
                  .memory = memory,
                  /* Only a part of its own memory, because other memory may be in use. */
                  .bytes = offset_of(host, host->own) == memory && bytes < MEMORY ? bytes % LONGEST
                                                                                  : bytes | 1 << 19,
                  .connection = kind & 0x40 ? kind % 4 : (uint32_t)MCP_SAME_NIC - (kind & 0x20),
                  .to_key = to->key,
                  .to_port = (uint16_t)(kind & 0x80 ? to->number : WIRE_PORTS - 1u + kind % 3),
              });
    w.rejected[host->nic->number] += SENDS == kind % (SENDS + 1); /* there is no such token */
    ring(host);
}

/* Ring the doorbells of any port without a reason, and close it if it is not open. */
static void disturb_port(struct wire_nic *nic, uint32_t number)
{
    const struct mcp_port *port = mcp_port_at(nic->mcp, number);
    mcp_messages_sdma(nic->mcp, &nic->board, number);
    mcp_messages_provided(nic->mcp, &nic->board, number);
    if (NULL == port || 0 == port->key) {
        mcp_port_close(nic->mcp, &nic->board, number);
    }
}

/* Check that unresponsive peers are reported only to a port that sends to them, and once. */
static void find_unresponsive(struct wire_nic *nic, uint8_t argument)
{
    const uint32_t number = argument / 2 % (WIRE_PORTS + 1), who = 1 + argument % 5;
    const uint32_t least_ms = argument / 32 * 10;
    struct mcp_unresponsive unresponsive;
    for (uint32_t reported = 0;
         mcp_messages_unresponsive(nic->mcp, &nic->board, number, who, least_ms, &unresponsive);
         ++reported) {
        CHECK(reported < nic->mcp->messages.connections);
        CHECK(NULL != mcp_connection_at(nic->mcp, unresponsive.connection));
        CHECK(unresponsive.link - 1 < NICS && unresponsive.silence_ms >= least_ms);
    }
}

static void send_to_peer(struct input *in, struct host *host)
{
    uint32_t token = 0;
    while (token < SENDS && host->sending[token].used) {
        ++token;
    }
    const uint32_t bytes = take_length(in) % LONGEST;
    if (0 == host->key || host->wild || MCP_NO_CONNECTION == host->to_peer || SENDS == token) {
        return;
    }
    host->sending[token].used = true;
    /* The key is no host's, so that no arrival is expected. The peer may also refuse a message
     * that it has accepted. */
    host->sending[token].to = (uint32_t)(host - w.hosts);
    host->sending[token].arrived = false;
    host->sending[token].letter = (struct letter){host->key, UINT32_MAX, 0, bytes};
    ASAN_UNPOISON_MEMORY_REGION(host->out[token], bytes);
    write_letter(host->out[token], &host->sending[token].letter);
    put_token(host, &(struct mcp_send_token){
                        .token = token,
                        .memory = offset_of(host, host->out[token]),
                        .bytes = bytes,
                        .connection = host->to_peer,
                        .to_key = take_below(in, 3),
                        .to_port = (uint16_t)take_below(in, 3),
                    });
    ring(host);
}

static void take_one(struct input *in)
{
    const uint32_t kind = take_below(in, STEPS);
    const uint8_t argument = take_byte(in);
    struct host *host = &w.hosts[argument % HOSTS];
    struct wire_nic *nic = &w.wire.nics[argument % 2];
    switch ((enum step)kind) {
    case SEND:
    case SEND_UNRUNG:
        send_letter(host, argument / HOSTS % HOSTS, take_length(in) % LONGEST, SEND == kind);
        break;
    case PROVIDE:
        (void)provide(host, take_length(in) % (LONGEST + 1));
        while (argument >= 0x80 && provide(host, LONGEST)) {
        }
        break;
    case EVENTS:
        for (uint32_t count = argument % 32; count > 0 && wire_next(&w.wire); --count) {
        }
        break;
    case TIME:
        wire_pass(&w.wire, MICROSECOND << argument % 18);
        break;
    case SEND_NEARLY:
        for (uint32_t n = 1 + argument % 4; n > 0; --n) {
            send_nearly(in);
        }
        (void)(argument & 0x80 ? wire_next(&w.wire) : false);
        break;
    case SEND_AGAIN:
        send_again(in);
        break;
    case SEND_RAW:
        send_raw(in);
        break;
    case LOSE:
        w.lose = argument;
        break;
    case FAULTS:
        w.wire.faults = (struct wire_faults){
            .loss = (argument & 3) * 100,
            .duplication = (argument >> 2 & 3) * 100,
            .reordering = (argument >> 4 & 3) * 100,
            .damage = (argument >> 6) * 50,
            .delay_least_ns = 1000,
            .delay_most_ns = 3000,
            .detour_most_ns = MILLISECOND,
        };
        break;
    case PORT:
        if (0 != host->key) {
            close_port(host);
        } else {
            open_port(host, argument & 0x80 ? (uint32_t)MCP_ANY_PORT : host->number);
        }
        break;
    case SEND_TO_PEER:
        send_to_peer(in, host);
        break;
    case BAD_TOKEN:
        put_bad_token(in, host);
        break;
    case BAD_BUFFER:
        if (0 != host->key) {
            go_wild(host);
            const mcp_offset memory = take_offset(in, host);
            put_buffer(host, memory,
                       offset_of(host, host->own) == memory ? take_length(in) % LONGEST : 1 << 19);
        }
        break;
    case BELLS:
        disturb_port(nic, argument / 2 % (WIRE_PORTS + 1));
        break;
    case CONNECT:
        if (argument >= 0xc0) {
            leave_as_peer(argument % 2);
        } else {
            connect_to(argument % 2, argument & 2 ? PEER : 1 - argument % 2,
                       argument & 4 ? 0 : MTU - argument % 16);
        }
        break;
    case FIND_UNRESPONSIVE:
        find_unresponsive(nic, argument);
        break;
    case STEPS:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    begin();
    for (uint32_t step = 0; step < STEPS_MOST && in.left > 0; ++step) {
        take_one(&in);
        poll_all_hosts();
        check_nic(&w.wire.nics[0]);
        check_nic(&w.wire.nics[1]);
    }
    heal();
    check_nic(&w.wire.nics[0]);
    check_nic(&w.wire.nics[1]);
    end();
    return 0;
}
