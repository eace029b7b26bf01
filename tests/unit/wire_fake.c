/* SPDX-License-Identifier: BSD-3-Clause */
/* See wire_fake.h. */
#include "tests/unit/wire_fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/crew.h"

enum {
    LONGEST = 65507, /* maximum size of a UDP packet's payload */
    MOST_IDLE_TIMERS = 100000,
};

struct wire_event {
    uint64_t at_ns;
    struct wire_nic *nic;
    wire_call call; /* NULL for a packet */
    void *context;
    mcp_link from;
    size_t bytes;
    uint8_t packet[];
};

static void fail(const char *why)
{
    fprintf(stderr, "the fake wire: %s\n", why);
    abort();
}

uint64_t wire_between(struct wire *wire, uint64_t least, uint64_t most)
{
    return least + (most > least ? crew_random(&wire->random) % (most - least + 1) : 0);
}

static bool chance(struct wire *wire, uint32_t of_thousand)
{
    return 0 != of_thousand && crew_below(&wire->random, 1000) < of_thousand;
}

/* ---- events ---- */

static void put_event(struct wire *wire, struct wire_event *event)
{
    if (!sim_events_put(&wire->events, event->at_ns, 0, 0, event)) {
        crew_require(NULL);
    }
}

static struct wire_event *new_event(struct wire_nic *nic, uint64_t at_ns, size_t bytes)
{
    struct wire_event *event = crew_require(malloc(sizeof(*event) + bytes));
    *event = (struct wire_event){.at_ns = at_ns, .nic = nic, .bytes = bytes};
    return event;
}

void wire_after(struct wire *wire, uint64_t after_ns, struct wire_nic *nic, wire_call call,
                void *context)
{
    struct wire_event *event = new_event(nic, wire->now_ns + after_ns, 0);
    event->call = call;
    event->context = context;
    put_event(wire, event);
}

/* ---- packets ---- */

/* Valid links begin after MCP_LINK_SENDER. */
static struct wire_nic *nic_at(const struct wire *wire, mcp_link link)
{
    return link - 1 < wire->nnics ? &wire->nics[link - 1] : NULL;
}

/* Make a copy with flipped bits, or truncated, or with trailing bytes. */
static struct wire_event *damaged(struct wire *wire, const struct wire_event *whole)
{
    const uint32_t kind = crew_below(&wire->random, 4);
    size_t bytes = whole->bytes;
    if (0 == kind) {
        bytes = crew_below(&wire->random, (uint32_t)bytes);
    } else if (1 == kind) {
        bytes += 1 + crew_below(&wire->random, 64);
    }
    struct wire_event *event = new_event(whole->nic, whole->at_ns, bytes);
    event->from = whole->from;
    memcpy(event->packet, whole->packet, bytes < whole->bytes ? bytes : whole->bytes);
    for (size_t i = whole->bytes; i < bytes; ++i) {
        event->packet[i] = (uint8_t)crew_random(&wire->random);
    }
    const uint32_t bit = crew_below(&wire->random, 8 * (uint32_t)whole->bytes);
    for (uint32_t flips = kind < 2 ? 0 : kind; flips > 0; --flips) { /* adjacent bits */
        const uint32_t one = (bit + flips) % (8 * (uint32_t)whole->bytes);
        event->packet[one / 8] ^= (uint8_t)(1 << one % 8);
    }
    return event;
}

static void send_copy(struct wire *wire, const struct wire_nic *from, struct wire_nic *to,
                      struct wire_event *event, bool detour)
{
    const struct wire_faults *faults = &wire->faults;
    uint64_t *order_ns = &wire->order_ns[from->number * wire->nnics + to->number];
    event->at_ns = wire->now_ns + wire_between(wire, faults->delay_least_ns, faults->delay_most_ns);
    if (detour) {
        event->at_ns += wire_between(wire, 0, faults->detour_most_ns);
    } else {
        event->at_ns = event->at_ns > *order_ns ? event->at_ns : *order_ns;
        *order_ns = event->at_ns;
    }
    if (chance(wire, faults->damage)) {
        ++wire->tally.damaged;
        put_event(wire, damaged(wire, event));
        free(event);
    } else {
        put_event(wire, event);
    }
}

static struct wire_event *new_packet(const struct wire_nic *from, struct wire_nic *to,
                                     const void *head, size_t head_bytes, const void *payload,
                                     size_t payload_bytes)
{
    struct wire_event *event = new_event(to, 0, head_bytes + payload_bytes);
    event->from = from->link;
    memcpy(event->packet, head, head_bytes);
    if (0 != payload_bytes) {
        memcpy(event->packet + head_bytes, payload, payload_bytes);
    }
    return event;
}

static void send_packet(struct mcp_board *board, mcp_link link, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    struct wire_nic *from = (struct wire_nic *)board; /* the first member */
    const mcp_link to = MCP_LINK_SENDER == link ? from->sender : link;
    struct wire *wire = from->wire;
    const uint8_t *bytes = payload;
    if (0 == header->type || header->type >= MCP_TYPES) {
        fail("a sent packet has an invalid type");
    }
    if (mcp_header_bytes(header->type) + payload_bytes > LONGEST) {
        fail("a sent packet is too long");
    }
    if (0 != payload_bytes && (bytes < board->memory || payload_bytes > board->memory_bytes ||
                               bytes > board->memory + board->memory_bytes - payload_bytes)) {
        fail("a sent payload is outside its NIC's memory");
    }
    ++from->mcp->counters.packets_sent; /* counted by the board */
    ++wire->tally.sent;
    const bool passes = NULL == wire->transmitted ||
                        wire->transmitted(wire->context, from, to, header, payload, payload_bytes);
    struct wire_nic *receiver = nic_at(wire, to);
    if (NULL == receiver || !passes || from->unplugged || chance(wire, wire->faults.loss)) {
        return;
    }
    const size_t head_bytes = mcp_header_bytes(header->type);
    if (chance(wire, wire->faults.duplication)) {
        send_copy(wire, from, receiver,
                  new_packet(from, receiver, header, head_bytes, payload, payload_bytes), true);
    }
    const bool detour = chance(wire, wire->faults.reordering);
    send_copy(wire, from, receiver,
              new_packet(from, receiver, header, head_bytes, payload, payload_bytes), detour);
}

/* ---- links ---- */

static mcp_link hold_sender(struct mcp_board *board)
{
    return wire_hold((struct wire_nic *)board, ((struct wire_nic *)board)->sender);
}

static void drop(struct mcp_board *board, mcp_link link)
{
    struct wire_nic *nic = (struct wire_nic *)board;
    if (NULL == nic_at(nic->wire, link) || 0 == nic->held[link - 1]--) {
        fail("a dropped link was not held");
    }
}

mcp_link wire_hold(struct wire_nic *nic, mcp_link link)
{
    if (NULL == nic_at(nic->wire, link)) {
        fail("a held link does not exist");
    }
    ++nic->held[link - 1];
    return link;
}

void wire_inject(struct wire *wire, const struct wire_nic *from, const struct wire_nic *to,
                 const void *packet, size_t bytes)
{
    struct wire_event *event = new_packet(from, &wire->nics[to->number], packet, bytes, NULL, 0);
    event->at_ns = wire->now_ns + wire->faults.delay_least_ns;
    put_event(wire, event);
}

/* ---- the rest of the board ---- */

static uint64_t now_ns(struct mcp_board *board)
{
    return ((struct wire_nic *)board)->wire->now_ns;
}

static void wake(struct mcp_board *board, myr_word *word)
{
    struct wire_nic *nic = (struct wire_nic *)board;
    const uint8_t *address = (const uint8_t *)word;
    if (address < board->memory || address >= board->memory + board->memory_bytes) {
        fail("a woken word is outside its NIC's memory");
    }
    ++nic->wakes;
    if (NULL != nic->wire->woken) {
        nic->wire->woken(nic->wire->context, nic, word);
    }
}

void *wire_memory(struct wire_nic *nic, size_t bytes)
{
    const size_t whole = myr_whole_lines(bytes);
    if (whole > nic->board.memory_bytes - nic->taken) {
        fail("a NIC's memory is too small for the test");
    }
    void *memory = nic->board.memory + nic->taken;
    nic->taken += (uint32_t)whole;
    return memory;
}

void wire_begin(struct wire *wire, uint32_t nnics, uint32_t memory_bytes, uint64_t seed)
{
    *wire = (struct wire){.random = seed, .nnics = nnics};
    wire->faults.delay_least_ns = wire->faults.delay_most_ns = 1000;
    wire->now_ns = wire_between(wire, 1, UINT64_C(1) << 40);
    wire->nics = crew_require(calloc(nnics, sizeof(*wire->nics)));
    wire->order_ns = crew_require(calloc((size_t)nnics * nnics, sizeof(*wire->order_ns)));
    memory_bytes = memory_bytes / MYR_LINE * MYR_LINE;
    for (uint32_t n = 0; n < nnics; ++n) {
        struct wire_nic *nic = &wire->nics[n];
        *nic = (struct wire_nic){.wire = wire, .number = n, .taken = MYR_LINE};
        nic->link = n + 1;
        nic->held = crew_require(calloc(nnics, sizeof(*nic->held)));
        nic->board = (struct mcp_board){.ops = {.send = send_packet,
                                                .hold_sender = hold_sender,
                                                .drop = drop,
                                                .now_ns = now_ns,
                                                .wake = wake},
                                        .memory_bytes = memory_bytes};
        nic->board.memory = crew_require(aligned_alloc(MYR_LINE, memory_bytes));
        memset(nic->board.memory, 0, memory_bytes);
        nic->mcp = wire_memory(nic, mcp_nic_bytes(WIRE_PORTS, WIRE_CONNECTIONS));
        mcp_init(nic->mcp, crew_random(&wire->random), WIRE_PORTS, WIRE_CONNECTIONS);
    }
}

void wire_end(struct wire *wire)
{
    struct sim_event event;
    while (sim_events_take(&wire->events, &event)) {
        free(event.what);
    }
    sim_events_free(&wire->events);
    for (uint32_t n = 0; n < wire->nnics; ++n) {
        free(wire->nics[n].board.memory);
        free(wire->nics[n].held);
    }
    free(wire->nics);
    free(wire->order_ns);
    *wire = (struct wire){.nnics = 0};
}

/* ---- processing events ---- */

/* Returns NULL if no NIC has a deadline. */
static struct wire_nic *next_timer(struct wire *wire, uint64_t *at_ns)
{
    struct wire_nic *next = NULL;
    for (uint32_t n = 0; n < wire->nnics; ++n) {
        const uint64_t deadline_ns = mcp_deadline_ns(wire->nics[n].mcp);
        if (0 != deadline_ns && (NULL == next || deadline_ns < *at_ns)) {
            next = &wire->nics[n];
            *at_ns = deadline_ns;
        }
    }
    if (NULL != next && *at_ns < wire->now_ns) { /* the deadline was set in the past */
        *at_ns = wire->now_ns;
    }
    return next;
}

static void run_timer(struct wire *wire, struct wire_nic *nic)
{
    wire->touched = nic;
    mcp_timer(nic->mcp, &nic->board);
    if (++wire->idle_timers > MOST_IDLE_TIMERS) {
        fail("mcp_timer() did not advance its deadline");
    }
}

static void run_event(struct wire *wire, struct wire_event *event)
{
    struct wire_nic *nic = event->nic;
    wire->touched = nic;
    if (NULL != event->call) {
        event->call(nic, event->context);
    } else if (!nic->unplugged) {
        nic->sender = event->from;
        mcp_receive(nic->mcp, &nic->board, event->packet, event->bytes);
        nic->sender = MCP_LINK_SENDER;
    }
    free(event);
}

static void advance_clock(struct wire *wire, uint64_t to_ns)
{
    if (to_ns > wire->now_ns) {
        wire->now_ns = to_ns;
        wire->idle_timers = 0;
    }
}

static bool next_until(struct wire *wire, uint64_t end_ns)
{
    uint64_t timer_ns = UINT64_MAX;
    struct wire_nic *nic = next_timer(wire, &timer_ns);
    if (0 != wire->events.count && wire->events.heap[0].at_ps <= timer_ns) {
        struct sim_event event;
        if (wire->events.heap[0].at_ps > end_ns) {
            return false;
        }
        (void)sim_events_take(&wire->events, &event);
        advance_clock(wire, event.at_ps);
        run_event(wire, event.what);
        return true;
    }
    if (NULL == nic || timer_ns > end_ns) {
        return false;
    }
    advance_clock(wire, timer_ns);
    run_timer(wire, nic);
    return true;
}

bool wire_next(struct wire *wire)
{
    return next_until(wire, UINT64_MAX);
}

bool wire_run(struct wire *wire, bool (*until)(void *context), void *context, uint64_t limit_ns)
{
    const uint64_t end_ns = wire->now_ns + limit_ns;
    while (!until(context)) {
        if (!next_until(wire, end_ns)) {
            return false;
        }
    }
    return true;
}

void wire_pass(struct wire *wire, uint64_t span_ns)
{
    const uint64_t end_ns = wire->now_ns + span_ns;
    while (next_until(wire, end_ns)) {
    }
    advance_clock(wire, end_ns);
}
