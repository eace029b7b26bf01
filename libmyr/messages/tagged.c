/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints for tagged messages: opening, peers, receives; see tagged.h.
 *
 * Invariants: a request that is not done is in exactly one place: the matching table, a list, the
 * table of numbers, or the queue of a peer. Numbers identify requests and buffers in messages. A
 * number consists of an index in its lower bits and a generation in its upper bits, so that a stale
 * number is not mistaken for a new number with the same index. */
#include "libmyr/messages/tagged_inside.h"

#include <stdlib.h>
#include <string.h>

#include "libmyr/node/segment.h"

enum {
    MESSAGES = 16384,           /* default limit of a peer's messages that wait */
    MESSAGES_MOST = UINT16_MAX, /* maximum of that limit */
    MESSAGES_OF_ALL = 1 << 19,  /* sum of these limits, if there are many peers */
    TABLE_FIRST = 256,          /* initial limit of receives, and of messages, in the table */
    BUFFER_BYTES = 32768,       /* default size of a buffer */
    INDEX_BITS = 24,            /* of a number; the others are its generation */
    NUMBERS_FIRST = 64,         /* initial size of the table of numbers */
    BURST = 16,                 /* messages from the inlet, and from the port, per call */
};

/* ---- lists of requests ---- */

void tagged_clear(struct tagged_requests *list)
{
    list->first = NULL;
    list->last = &list->first;
}

void tagged_append(struct tagged_requests *list, struct myr_tagged_request *request)
{
    request->next = NULL;
    *list->last = request;
    list->last = &request->next;
}

struct myr_tagged_request *tagged_first(struct tagged_requests *list)
{
    struct myr_tagged_request *request = list->first;
    if (NULL != request) {
        list->first = request->next;
        if (NULL == list->first) {
            list->last = &list->first;
        }
    }
    return request;
}

/* ---- numbers ---- */

static uint32_t index_of(uint32_t number)
{
    return number & ((UINT32_C(1) << INDEX_BITS) - 1);
}

static bool grow_numbers(struct myr_tagged *t)
{
    const uint32_t numbers = 0 == t->numbers ? NUMBERS_FIRST : 2 * t->numbers;
    if (numbers > UINT32_C(1) << INDEX_BITS) {
        return false;
    }
    struct tagged_number *grown = realloc(t->number, numbers * sizeof(*grown));
    if (NULL == grown) {
        return false;
    }
    for (uint32_t i = t->numbers; i < numbers; ++i) {
        grown[i] = (struct tagged_number){.next = i + 1 < numbers ? i + 2 : 0};
    }
    t->free_number = t->numbers + 1;
    t->number = grown;
    t->numbers = numbers;
    return true;
}

bool tagged_number_give(struct myr_tagged *t, enum tagged_owner kind, void *owner, uint32_t *number)
{
    if (0 == t->free_number && !grow_numbers(t)) {
        return false;
    }
    const uint32_t index = t->free_number - 1;
    struct tagged_number *entry = &t->number[index];
    t->free_number = entry->next;
    entry->owner = owner;
    entry->kind = (uint8_t)kind;
    *number = index | entry->generation << INDEX_BITS;
    return true;
}

void *tagged_number_owner(const struct myr_tagged *t, enum tagged_owner kind, uint32_t number)
{
    const uint32_t index = index_of(number);
    if (index >= t->numbers) {
        return NULL;
    }
    const struct tagged_number *entry = &t->number[index];
    return kind == entry->kind && (index | entry->generation << INDEX_BITS) == number ? entry->owner
                                                                                      : NULL;
}

void tagged_number_end(struct myr_tagged *t, uint32_t number)
{
    struct tagged_number *entry = &t->number[index_of(number)];
    ++entry->generation;
    entry->kind = TAGGED_NOBODY;
    entry->next = t->free_number;
    t->free_number = index_of(number) + 1;
}

/* ---- open and close ---- */

static void set_default(uint32_t *option, uint32_t usual)
{
    if (0 == *option) {
        *option = usual;
    }
}

/* Returns the number of messages per peer, at least one. */
static uint32_t messages_per_peer(uint32_t messages, uint32_t peers)
{
    const uint32_t most = 0 == peers ? messages : (uint32_t)MESSAGES_OF_ALL / peers;
    return most > messages ? messages : most > 0 ? most : 1;
}

/* Replaces the table by one of this size, and moves its entries. Returns false if out of memory. */
static bool resize_table(struct myr_tagged *t, uint32_t receives, uint32_t messages)
{
    const size_t bytes = mcp_match_bytes(receives, messages);
    if (0 == bytes) {
        return false;
    }
    /* Indices of entries are preserved, so `waiting` stays valid. */
    void **waiting = realloc(t->waiting, ((size_t)receives + messages) * sizeof(*t->waiting));
    if (NULL == waiting) {
        return false;
    }
    t->waiting = waiting;
    /* The table must initially be zero. calloc() is used because it obtains large blocks as new
     * mappings, which it need not clear. Since it aligns them only to 16 bytes, a cache line is
     * added for the alignment. */
    void *table = calloc(1, bytes + MYR_LINE);
    if (NULL == table) {
        return false;
    }
    struct mcp_match *match = (struct mcp_match *)myr_whole_lines((uintptr_t)table);
    mcp_match_init(match, receives, messages);
    if (NULL != t->match) {
        mcp_match_move(match, t->match);
    }
    free(t->table);
    t->table = table;
    t->match = match;
    t->receives = receives;
    t->messages = messages;
    return true;
}

bool tagged_grow(struct myr_tagged *t, bool messages)
{
    const uint32_t now = messages ? t->messages : t->receives;
    return now < MCP_MATCH_MOST &&
           resize_table(t, messages ? t->receives : 2 * now, messages ? 2 * now : t->messages);
}

static enum myr_status open_endpoint(struct myr_tagged *t, struct myr_error *error)
{
    const uint32_t buffers = t->options.buffers;
    const struct myr_port_options options = {
        .number = MYR_ANY_PORT,
        .send_tokens = 3 * ((buffers + 1) / 2) + TAGGED_ADDED, /* one per buffer */
        .receive_tokens = buffers,
        .inlet = true,
        .watch = t->options.watch,
    };
    if (t->options.messages > MESSAGES_MOST) {
        return myr_fail(error, MYR_ERR_FULL, 0, "at most %d messages of a peer may be queued",
                        (int)MESSAGES_MOST);
    }
    if (!resize_table(t, TABLE_FIRST, TABLE_FIRST)) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const enum myr_status status = myr_port_open(t->nic, &options, &t->port, error);
    if (MYR_OK != status) {
        t->port = NULL;
        return status;
    }
    t->intake = myr_port_intake(t->port);
    return tagged_buffers_open(t, error) ? MYR_OK : MYR_ERR_FULL;
}

enum myr_status myr_tagged_open(struct myr_soft_nic *nic, const struct myr_tagged_options *options,
                                struct myr_tagged **tagged, struct myr_error *error)
{
    struct myr_tagged *t = calloc(1, sizeof(*t));
    if (NULL == t) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    t->nic = nic;
    t->options = *options;
    set_default(&t->options.messages, MESSAGES);
    t->options.messages = messages_per_peer(t->options.messages, options->peers);
    t->spare = MCP_MATCH_MOST - MESSAGES_OF_ALL;
    set_default(&t->options.buffers, TAGGED_BUFFERS);
    t->least_buffers = 0 != options->buffers ? options->buffers : TAGGED_BUFFERS_LEAST;
    set_default(&t->options.buffer_bytes, BUFFER_BYTES);
    t->base = myr_segment_base(myr_soft_segment(nic));
    t->segment_bytes = myr_segment_size(myr_soft_segment(nic));
    if (t->options.direct) {
        myr_direct_describe(&t->own);
    }
    tagged_clear(&t->done);
    tagged_clear(&t->reads);
    const enum myr_status status = open_endpoint(t, error);
    if (MYR_OK != status) {
        myr_tagged_close(t);
        return status;
    }
    *tagged = t;
    return MYR_OK;
}

static void free_outs(struct tagged_out *out)
{
    while (NULL != out) {
        struct tagged_out *next = out->next;
        free(out);
        out = next;
    }
}

static void free_peers(struct myr_tagged_peer *peer)
{
    while (NULL != peer) {
        struct myr_tagged_peer *next = peer->next;
        free_outs(peer->answers.first);
        free_outs(peer->messages.first);
        free(peer);
        peer = next;
    }
}

/* Frees the unexpected messages. */
static void free_messages(struct myr_tagged *t)
{
    for (uint32_t index = 0; NULL != t->match && index < mcp_match_used(t->match); ++index) {
        if (mcp_match_is_message(t->match, index)) {
            free(t->waiting[index]);
        }
    }
}

/* Returns whether a message in one of this endpoint's buffers has not been received yet. */
static bool has_stored_message(const struct myr_tagged *t)
{
    for (uint32_t i = 0; i < t->numbers; ++i) {
        if (TAGGED_BUFFER == t->number[i].kind) {
            return true;
        }
    }
    return false;
}

/* A stored message stays in a buffer of its sender until its receiver reads it, and the sender may
 * have ended by then, for example if it has spawned the receiver. If there is such a message, the
 * buffers are not freed, because another process could otherwise allocate and overwrite them. */
void myr_tagged_close(struct myr_tagged *t)
{
    if (NULL != t->port) {
        if (has_stored_message(t)) {
            myr_port_forget(t->port, t->memory);
        }
        myr_port_close(t->port);
    }
    free_messages(t);
    for (uint32_t b = 0; b < TAGGED_BUCKETS; ++b) {
        free_peers(t->bucket[b]);
    }
    free_outs(t->free_out);
    free(t->buffers);
    free(t->number);
    free(t->waiting);
    free(t->table);
    free(t);
}

void myr_tagged_get_name(const struct myr_tagged *t, struct myr_tagged_name *name)
{
    memset(name, 0, sizeof(*name));
    name->format = MYR_TAGGED_FORMAT;
    myr_port_get_name(t->port, &name->port);
    name->direct = t->own;
    name->buffer_bytes = t->options.buffer_bytes;
    name->messages = t->options.messages;
}

/* ---- peers ---- */

static struct myr_tagged_peer **bucket_of(const struct myr_tagged *t, uint64_t id)
{
    const uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);
    return (struct myr_tagged_peer **)&t->bucket[hash >> 32 & (TAGGED_BUCKETS - 1)];
}

struct myr_tagged_peer *myr_tagged_peer(const struct myr_tagged *t, uint64_t id)
{
    struct myr_tagged_peer *peer = *bucket_of(t, id);
    while (NULL != peer && id != peer->id) {
        peer = peer->next;
    }
    return peer;
}

bool myr_tagged_is_near(const struct myr_tagged_peer *peer)
{
    return peer->remote.same_nic;
}

enum myr_status myr_tagged_connect(struct myr_tagged *t, uint64_t id,
                                   const struct myr_tagged_name *name,
                                   struct myr_tagged_peer **connected, struct myr_error *error)
{
    if (MYR_TAGGED_FORMAT != name->format) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "its nicbarr is of another version, or its CPU has another byte order");
    }
    if (name->buffer_bytes != t->options.buffer_bytes) {
        return myr_fail(error, MYR_ERR_FOREIGN, 0,
                        "its message buffers have %u bytes, but those of this process have %u",
                        name->buffer_bytes, t->options.buffer_bytes);
    }
    struct myr_tagged_peer *peer = calloc(1, sizeof(*peer));
    if (NULL == peer) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const enum myr_status status = myr_port_connect(t->port, &name->port, &peer->remote, error);
    if (MYR_OK != status) {
        free(peer);
        return status;
    }
    peer->id = id;
    peer->pid = name->direct.pid;
    peer->near = NULL != peer->remote.outlet.inlet;
    peer->direct = peer->near && myr_direct_possible(&t->own, &name->direct);
    peer->credits = MYR_TAGGED_CREDITS;
    peer->slots = name->messages;
    peer->granted = t->options.messages;
    tagged_clear(&peer->pulled);
    peer->next = *bucket_of(t, id);
    *bucket_of(t, id) = peer;
    *connected = peer;
    return MYR_OK;
}

void myr_tagged_met_other_job(struct myr_tagged *t)
{
    myr_port_met_other_job(t->port);
}

/* ---- receives ---- */

static void begin_receive(struct myr_tagged_request *request, void *buffer, uint64_t room)
{
    request->cancelled = false;
    request->posted = false;
    request->buffer = buffer;
    request->wanted = room;
}

/* Delivers an unexpected message to a receive. Returns true if that completes the request. */
static bool deliver_unexpected(struct myr_tagged *t, struct myr_tagged_request *request,
                               struct myr_tagged_message *message)
{
    if (NULL != message->peer) {
        --message->peer->waiting;
        message->peer->kept -= message->kept;
    }
    const bool done = tagged_deliver(t, request, message);
    free(message);
    return done;
}

/* Posts a receive. Returns true if the request is complete. */
static bool post_receive(struct myr_tagged *t, struct myr_tagged_request *request,
                         const struct mcp_pattern *pattern)
{
    switch (mcp_match_post(t->match, pattern, &request->index)) {
    case MCP_MATCHED:
        return deliver_unexpected(t, request, t->waiting[request->index]);
    case MCP_WAITS:
        t->waiting[request->index] = request;
        request->posted = true;
        return false;
    default:
        if (tagged_grow(t, false)) {
            return post_receive(t, request, pattern);
        }
        request->status = MYR_ERR_OUT_OF_MEMORY;
        return true;
    }
}

bool myr_tagged_receive(struct myr_tagged *t, const struct mcp_pattern *pattern, void *buffer,
                        uint64_t room, struct myr_tagged_request *request)
{
    begin_receive(request, buffer, room);
    return post_receive(t, request, pattern);
}

bool myr_tagged_cancel(struct myr_tagged *t, struct myr_tagged_request *request)
{
    if (!request->posted) {
        return false;
    }
    mcp_match_remove(t->match, request->index);
    request->posted = false;
    request->cancelled = true;
    request->status = MYR_OK;
    request->bytes = 0;
    tagged_append(&t->done, request);
    return true;
}

/* ---- probing ---- */

static mcp_match_index find_message(struct myr_tagged *t, const struct mcp_pattern *pattern,
                                    struct mcp_envelope *envelope, uint64_t *bytes)
{
    const mcp_match_index index = mcp_match_probe(t->match, pattern);
    if (MCP_NO_MATCH != index) {
        const struct myr_tagged_message *message = t->waiting[index];
        *envelope = message->head.envelope;
        *bytes = message->more.bytes;
    } else {
        t->missed = true;
    }
    return index;
}

bool myr_tagged_probe(struct myr_tagged *t, const struct mcp_pattern *pattern,
                      struct mcp_envelope *envelope, uint64_t *bytes)
{
    return MCP_NO_MATCH != find_message(t, pattern, envelope, bytes);
}

struct myr_tagged_message *myr_tagged_take(struct myr_tagged *t, const struct mcp_pattern *pattern,
                                           struct mcp_envelope *envelope, uint64_t *bytes)
{
    const mcp_match_index index = find_message(t, pattern, envelope, bytes);
    if (MCP_NO_MATCH == index) {
        return NULL;
    }
    mcp_match_remove(t->match, index);
    return t->waiting[index];
}

bool myr_tagged_receive_taken(struct myr_tagged *t, struct myr_tagged_message *message,
                              void *buffer, uint64_t room, struct myr_tagged_request *request)
{
    begin_receive(request, buffer, room);
    return deliver_unexpected(t, request, message);
}

/* ---- progress ---- */

/* Returns whether a receive may be waiting for a message that its sender cannot send for lack of
 * slots. */
static bool wants_slots(const struct myr_tagged *t)
{
    return t->crowded && (t->missed || 0 != mcp_match_receives(t->match));
}

static uint32_t run_endpoint(struct myr_tagged *t)
{
    uint32_t steps = 0, last = BURST;
    while (steps < last && tagged_take_short(t)) {
        ++steps;
    }
    last = steps + BURST; /* neither path starves the other */
    while (steps < last && tagged_take_long(t)) {
        ++steps;
    }
    if (wants_slots(t)) {
        tagged_make_room(t);
    }
    t->missed = false;
    if (NULL != t->waiting_peers) {
        tagged_send_waiting(t);
    }
    if (myr_pace_polls(&t->pace, steps) && 0 != myr_pace_poll(&t->pace, t->nic) &&
        tagged_take_long(t)) {
        ++steps;
    }
    return steps;
}

uint32_t myr_tagged_progress(struct myr_tagged *t)
{
    t->by_host = true;
    const uint32_t steps = run_endpoint(t);
    t->by_host = false;
    if (MYR_OK != t->lost) {
        const enum myr_status lost = t->lost;
        t->lost = MYR_OK;
        t->options.lost(t->options.context, t->lost_id, lost);
    }
    return steps;
}

uint32_t myr_tagged_run(struct myr_tagged *t)
{
    return run_endpoint(t);
}

void myr_tagged_nap(struct myr_tagged *t)
{
    myr_inlet_nap(t->intake.inlet);
}

bool myr_tagged_sleep(struct myr_tagged *t, uint32_t timeout_us)
{
    return myr_inlet_sleep(t->intake.inlet, timeout_us);
}

void myr_tagged_wake(struct myr_tagged *t)
{
    myr_inlet_wake(t->intake.inlet);
}

const struct myr_tagged_counters *myr_tagged_count(const struct myr_tagged *t)
{
    return &t->counted;
}

struct myr_tagged_request *myr_tagged_done(struct myr_tagged *t)
{
    return tagged_first(&t->done);
}

bool myr_tagged_broken(const struct myr_tagged *t)
{
    return myr_pace_broken(&t->pace, t->nic);
}

/* Returns the id of a peer on the NIC at the other end of this connection, or 0 if there is none.
 * If there are several, any of them may be returned. */
static uint64_t peer_id_of(const struct myr_tagged *t, uint32_t connection)
{
    for (uint32_t b = 0; b < TAGGED_BUCKETS; ++b) {
        for (const struct myr_tagged_peer *peer = t->bucket[b]; NULL != peer; peer = peer->next) {
            if (!peer->remote.same_nic && connection == peer->remote.connection) {
                return peer->id;
            }
        }
    }
    return 0;
}

bool myr_tagged_unresponsive(struct myr_tagged *t, uint32_t recipient, uint32_t least_s,
                             struct myr_unresponsive *unresponsive, uint64_t *id)
{
    const bool any = myr_port_unresponsive(t->port, recipient, least_s, unresponsive);
    *id = any ? peer_id_of(t, unresponsive->connection) : 0;
    return any;
}

bool myr_tagged_expects(const struct myr_tagged *t)
{
    return myr_pace_expects(&t->pace) || 0 != t->pulls;
}
