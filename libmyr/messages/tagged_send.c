/* SPDX-License-Identifier: BSD-3-Clause */
/* The sending side of an endpoint. Short messages to processes of the same node are written into
 * their inlets; all other messages are sent through the port.
 *
 * A message for which the receiver has no space waits in the queue of the peer, and so do all later
 * messages to this peer, so that envelopes stay in order.
 *
 * The data of an offer are sent in fragments (DATA), which need no order. Sends take turns after
 * each fragment, and fragments never use the small buffers, so long messages do not delay short
 * ones. */
#include "libmyr/messages/tagged_inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* ---- registered memory ---- */

static void provide_all(struct myr_tagged *t, uint8_t *memory)
{
    for (uint32_t i = 0; i < t->options.buffers; ++i) {
        (void)myr_port_provide(t->port, memory, t->options.buffer_bytes);
        memory += t->options.buffer_bytes;
    }
}

static void init_buffer(struct myr_tagged *t, struct tagged_buffer *buffer, uint8_t *memory,
                        struct tagged_pool *pool)
{
    *buffer =
        (struct tagged_buffer){.pool = pool, .memory = memory, .tagged = t, .next = pool->free};
    pool->free = buffer;
    ++pool->left;
}

/* Returns the number of large send buffers for this number of receive buffers. */
static uint32_t large_buffers(uint32_t buffers)
{
    return (buffers + 1) / 2;
}

/* Returns the number of small send buffers for this number of receive buffers. */
static uint32_t small_buffers(uint32_t buffers)
{
    return 2 * large_buffers(buffers);
}

/* Sets the limits of a pool with this number of buffers. */
static void init_pool(struct tagged_pool *pool, uint32_t buffers)
{
    pool->quarter = (buffers + 3) / 4;
    pool->reserved = (buffers + 7) / 8;
}

static size_t buffer_memory_bytes(const struct myr_tagged *t, uint32_t buffers)
{
    return (size_t)(buffers + large_buffers(buffers)) * t->options.buffer_bytes +
           (size_t)small_buffers(buffers) * TAGGED_SMALL;
}

/* Allocates as many buffers as fit, but at least `least_buffers`. */
static uint8_t *alloc_buffers(struct myr_tagged *t)
{
    uint32_t *buffers = &t->options.buffers;
    const size_t share = 0 != t->options.share ? t->options.share : SIZE_MAX;
    uint8_t *memory = NULL;
    for (;; *buffers /= 2) {
        const bool least = *buffers / 2 < t->least_buffers;
        if (least || buffer_memory_bytes(t, *buffers) + MYR_LINE <= share) {
            memory = myr_port_alloc(t->port, buffer_memory_bytes(t, *buffers));
        }
        if (least || NULL != memory) {
            return memory;
        }
    }
}

bool tagged_buffers_open(struct myr_tagged *t, struct myr_error *error)
{
    uint8_t *memory = t->memory = alloc_buffers(t);
    const uint32_t large = large_buffers(t->options.buffers),
                   small = small_buffers(t->options.buffers);
    t->buffers = calloc(small + large, sizeof(*t->buffers));
    if (NULL == memory || NULL == t->buffers) {
        (void)myr_fail(error, MYR_ERR_FULL, 0,
                       "cannot allocate %zu KiB of shared memory for message buffers",
                       buffer_memory_bytes(t, t->options.buffers) >> 10);
        return false;
    }
    provide_all(t, memory);
    memory += (size_t)t->options.buffers * t->options.buffer_bytes;
    init_pool(&t->pool[TAGGED_LARGE_POOL], large);
    init_pool(&t->pool[TAGGED_SMALL_POOL], small);
    for (uint32_t i = 0; i < large; ++i) {
        init_buffer(t, &t->buffers[i], memory, &t->pool[TAGGED_LARGE_POOL]);
        memory += t->options.buffer_bytes;
    }
    for (uint32_t i = 0; i < small; ++i) {
        init_buffer(t, &t->buffers[large + i], memory, &t->pool[TAGGED_SMALL_POOL]);
        memory += TAGGED_SMALL;
    }
    return true;
}

/* Takes a buffer. Returns NULL if no more than `reserved` are left. */
static struct tagged_buffer *take_buffer(struct myr_tagged *t, struct tagged_pool *pool,
                                         uint32_t reserved)
{
    if (pool->left <= reserved) {
        return NULL;
    }
    struct tagged_buffer *buffer = pool->free;
    pool->free = buffer->next;
    --pool->left;
    ++t->busy_buffers;
    return buffer;
}

/* Takes a buffer for a peer that has none, and allocates an additional buffer if necessary. Returns
 * NULL if there is no memory, or if too many buffers have been added. */
static struct tagged_buffer *take_added(struct myr_tagged *t, enum tagged_pools pool)
{
    const size_t bytes = TAGGED_LARGE_ADDED == pool ? t->options.buffer_bytes : TAGGED_SMALL;
    if (0 == t->pool[pool].left && TAGGED_ADDED != t->nadded) {
        uint8_t *memory = myr_port_alloc(t->port, bytes);
        if (NULL != memory) {
            init_buffer(t, &t->added[t->nadded++], memory, &t->pool[pool]);
        }
    }
    return take_buffer(t, &t->pool[pool], 0);
}

void tagged_buffer_end(struct tagged_buffer *buffer)
{
    --buffer->tagged->busy_buffers;
    buffer->next = buffer->pool->free;
    buffer->pool->free = buffer;
    ++buffer->pool->left;
}

/* ---- transmission ---- */

static bool has_more(uint8_t kind)
{
    return TAGGED_EAGER != kind && TAGGED_CREDIT != kind;
}

/* Writes the headers (`more` may be NULL) and the data. Returns the number of bytes. */
static uint32_t write_out(uint8_t *to, const struct tagged_head *head,
                          const struct tagged_more *more, const void *data, uint32_t bytes)
{
    uint8_t *at = to;
    memcpy(at, head, sizeof(*head));
    at += sizeof(*head);
    if (NULL != more) {
        memcpy(at, more, sizeof(*more));
        at += sizeof(*more);
    }
    if (0 != bytes) {
        memcpy(at, data, bytes);
    }
    return (uint32_t)(at + bytes - to);
}

static void port_sent(struct myr_port *port, void *context, void *memory, enum myr_status status)
{
    (void)port;
    (void)memory;
    struct tagged_buffer *buffer = context;
    struct myr_tagged *t = buffer->tagged;
    if (MYR_OK != status) {
        t->lost = status;
        t->lost_id = buffer->peer->id;
    }
    --buffer->peer->sending[buffer->pool - t->pool];
    buffer->peer->unreceived -= buffer->counts;
    tagged_buffer_end(buffer);
}

/* Sends through the port. Returns false if there is no buffer for this peer. A token is always
 * available, because there are as many tokens as buffers. */
static bool send_by_port(struct myr_tagged *t, struct myr_tagged_peer *peer,
                         const struct tagged_head *head, const struct tagged_more *more,
                         const void *data, uint32_t bytes)
{
    const bool large = TAGGED_DATA == head->kind || TAGGED_HEADS + bytes > TAGGED_SMALL;
    const enum tagged_pools pool = large ? TAGGED_LARGE_POOL : TAGGED_SMALL_POOL;
    const enum tagged_pools added = large ? TAGGED_LARGE_ADDED : TAGGED_SMALL_ADDED;
    const uint32_t for_others =
        t->pool[pool].left > t->pool[pool].quarter ? 0 : peer->sending[pool];
    struct tagged_buffer *buffer = take_buffer(t, &t->pool[pool], for_others);
    if (NULL == buffer && 0 == peer->sending[pool] + peer->sending[added]) {
        buffer = take_added(t, added);
    }
    if (NULL == buffer) {
        return false;
    }
    ++peer->sending[buffer->pool - t->pool];
    buffer->counts = TAGGED_CREDIT != head->kind && TAGGED_DONE != head->kind;
    peer->unreceived += buffer->counts;
    const uint32_t all = write_out(buffer->memory, head, more, data, bytes);
    buffer->peer = peer;
    const enum myr_status status =
        myr_port_send(t->port, &peer->remote, buffer->memory, all, port_sent, buffer);
    if (MYR_OK != status) {
        port_sent(t->port, buffer, buffer->memory, status);
    }
    return true;
}

void tagged_wake_peer(struct myr_tagged_peer *peer)
{
    myr_inlet_wake(peer->remote.outlet.inlet);
}

static bool send_by_inlet(struct myr_tagged_peer *peer, const struct tagged_head *head,
                          const struct tagged_more *more, const void *data, uint32_t bytes)
{
    uint8_t *to = myr_outlet_begin(&peer->remote.outlet);
    if (NULL == to) {
        tagged_wake_peer(peer);
        return false;
    }
    myr_outlet_end(&peer->remote.outlet, write_out(to, head, more, data, bytes));
    return true;
}

static struct tagged_head head_of(const struct myr_tagged *t, uint8_t kind)
{
    return (struct tagged_head){.kind = kind, .from = t->options.id};
}

static bool has_envelope(uint8_t kind)
{
    return kind <= TAGGED_OFFER;
}

/* Sends a message if there is space on both sides. Owed credits are piggybacked. */
static bool send_tagged_message(struct myr_tagged *t, struct myr_tagged_peer *peer,
                                struct tagged_head *head, const struct tagged_more *more,
                                const void *data, uint32_t bytes)
{
    if (has_envelope(head->kind) && 0 == peer->slots) {
        return false;
    }
    head->credits = (uint8_t)MIN(peer->owed_credits, UINT8_MAX);
    head->slots = (uint16_t)MIN(peer->owed_slots, UINT16_MAX);
    if (!(peer->near ? send_by_inlet(peer, head, more, data, bytes)
                     : send_by_port(t, peer, head, more, data, bytes))) {
        return false;
    }
    peer->owed_credits -= head->credits;
    peer->owed_slots -= head->slots;
    peer->slots -= has_envelope(head->kind);
    return true;
}

/* ---- queues ---- */

static struct tagged_out *new_out(struct myr_tagged *t)
{
    struct tagged_out *out = t->free_out;
    if (NULL == out) {
        return malloc(sizeof(*out));
    }
    t->free_out = out->next;
    return out;
}

/* Adds the peer to the list of waiting peers, before anything is queued for it. */
static void add_waiting_peer(struct myr_tagged *t, struct myr_tagged_peer *peer)
{
    if (!tagged_waits(peer)) {
        peer->next_waiting = t->waiting_peers;
        t->waiting_peers = peer;
    }
}

static void enqueue_message(struct myr_tagged *t, struct myr_tagged_peer *peer,
                            struct tagged_out *out)
{
    struct tagged_queue *queue = has_envelope(out->head.kind) ? &peer->messages : &peer->answers;
    add_waiting_peer(t, peer);
    if (NULL == queue->first) {
        queue->last = &queue->first;
    }
    out->next = NULL;
    *queue->last = out;
    queue->last = &out->next;
    ++t->counted.delayed;
}

static bool send_queued(struct myr_tagged *t, struct myr_tagged_peer *peer, struct tagged_out *out)
{
    struct myr_tagged_request *request = out->request;
    const bool eager = TAGGED_EAGER == out->head.kind;
    if (!send_tagged_message(t, peer, &out->head, has_more(out->head.kind) ? &out->more : NULL,
                             eager ? request->buffer : NULL,
                             eager ? (uint32_t)request->wanted : 0)) {
        return false;
    }
    if (NULL != request) {
        tagged_append(&t->done, request);
    }
    return true;
}

static void send_queue(struct myr_tagged *t, struct myr_tagged_peer *peer,
                       struct tagged_queue *queue)
{
    struct tagged_out *out;
    while (NULL != (out = queue->first) && send_queued(t, peer, out)) {
        tagged_wake_peer(peer);
        if (NULL != out->place) {
            *out->place = NULL;
        }
        queue->first = out->next;
        out->next = t->free_out;
        t->free_out = out;
    }
}

/* The result of sending a message. */
enum left { LEFT, WAITS, OUT_OF_MEMORY };

/* Sends the message now, or queues it. If it is queued, `request` is done when it has left, and
 * *place refers to it until then. Both may be NULL. */
static enum left send_or_queue(struct myr_tagged *t, struct myr_tagged_peer *peer,
                               struct tagged_head *head, const struct tagged_more *more,
                               struct myr_tagged_request *request, struct tagged_out **place)
{
    const bool in_order = !has_envelope(head->kind) || NULL == peer->messages.first;
    if (in_order && send_tagged_message(t, peer, head, more, NULL, 0)) {
        return LEFT;
    }
    struct tagged_out *out = new_out(t);
    if (NULL == out) {
        return OUT_OF_MEMORY;
    }
    *out = (struct tagged_out){.head = *head, .request = request, .place = place};
    if (NULL != more) {
        out->more = *more;
    }
    if (NULL != place) {
        *place = out;
    }
    enqueue_message(t, peer, out);
    return WAITS;
}

bool tagged_answer(struct myr_tagged *t, struct myr_tagged_peer *peer, uint8_t kind,
                   const struct tagged_more *more, struct tagged_out **place)
{
    struct tagged_head head = head_of(t, kind);
    return OUT_OF_MEMORY != send_or_queue(t, peer, &head, more, NULL, place);
}

bool tagged_last_answer(struct myr_tagged *t, struct myr_tagged_peer *peer, uint8_t kind,
                        const struct tagged_more *more, struct myr_tagged_request *request)
{
    struct tagged_head head = head_of(t, kind);
    const enum left left = send_or_queue(t, peer, &head, more, request, NULL);
    if (OUT_OF_MEMORY == left) {
        request->status = MYR_ERR_OUT_OF_MEMORY;
    }
    return WAITS != left;
}

/* ---- data of offers ---- */

void tagged_pull(struct myr_tagged *t, struct myr_tagged_request *request, uint32_t other,
                 uint64_t bytes)
{
    request->there = other;
    request->moved = 0;
    if (bytes < request->wanted) {
        request->wanted = bytes;
    }
    if (0 == request->wanted) {
        tagged_append(&t->done, request);
        return;
    }
    add_waiting_peer(t, request->peer);
    tagged_append(&request->peer->pulled, request);
    ++t->pulls;
}

/* Sends one fragment. Returns false if there is no buffer. */
static bool send_chunk(struct myr_tagged *t, struct myr_tagged_request *request)
{
    const uint32_t most = t->options.buffer_bytes - TAGGED_HEADS;
    const uint64_t rest = request->wanted - request->moved;
    const uint32_t bytes = rest < most ? (uint32_t)rest : most;
    const struct tagged_head head = head_of(t, TAGGED_DATA);
    const struct tagged_more more = {.there = request->there, .at = request->moved};
    if (!send_by_port(t, request->peer, &head, &more, request->buffer + request->moved, bytes)) {
        return false;
    }
    request->moved += bytes;
    tagged_wake_peer(request->peer);
    return true;
}

/* Sends one fragment of the first request in `pulled`, the list of sends to this peer whose data
 * were requested. If more fragments remain, the request is moved to the end of the list. Returns
 * false if the list is empty or no buffer is free. */
static bool send_chunk_to(struct myr_tagged *t, struct myr_tagged_peer *peer)
{
    struct myr_tagged_request *request = peer->pulled.first;
    if (NULL == request || !send_chunk(t, request)) {
        return false;
    }
    (void)tagged_first(&peer->pulled);
    if (request->moved == request->wanted) {
        --t->pulls;
        tagged_append(&t->done, request);
    } else {
        tagged_append(&peer->pulled, request);
    }
    return true;
}

/* Sends fragments of pulled requests, one to each peer in turn. */
static void send_chunks(struct myr_tagged *t)
{
    bool any = 0 != t->pulls;
    while (any) {
        any = false;
        struct myr_tagged_peer *peer = t->waiting_peers;
        for (; NULL != peer; peer = peer->next_waiting) {
            any = send_chunk_to(t, peer) || any;
        }
    }
}

void tagged_send_waiting(struct myr_tagged *t)
{
    struct myr_tagged_peer *peer = t->waiting_peers;
    for (; NULL != peer; peer = peer->next_waiting) {
        send_queue(t, peer, &peer->answers);
        send_queue(t, peer, &peer->messages);
    }
    send_chunks(t);
    for (struct myr_tagged_peer **at = &t->waiting_peers; NULL != *at;) {
        if (tagged_waits(*at)) {
            at = &(*at)->next_waiting;
        } else {
            *at = (*at)->next_waiting;
        }
    }
}

/* ---- sends ---- */

/* Sends the whole message eagerly. Returns true if it has left. */
static bool send_eager(struct myr_tagged *t, struct myr_tagged_peer *peer,
                       struct myr_tagged_request *request, struct tagged_head *head)
{
    head->kind = TAGGED_EAGER;
    ++t->counted.eager;
    peer->credits -= peer->near ? 0 : tagged_credits(request->wanted);
    if (NULL == peer->messages.first &&
        send_tagged_message(t, peer, head, NULL, request->buffer, (uint32_t)request->wanted)) {
        return true;
    }
    struct tagged_out *out = new_out(t);
    if (NULL == out) {
        request->status = MYR_ERR_OUT_OF_MEMORY;
        return true;
    }
    *out = (struct tagged_out){.head = *head, .request = request};
    enqueue_message(t, peer, out);
    return false;
}

/* Copies the message into a buffer that the receiver can read, and sends its envelope. The request
 * is not done before the envelope has left, because as soon as it is done, the process may end, or
 * wait outside this library, and would not send the envelope. */
static enum left send_stored(struct myr_tagged *t, struct myr_tagged_peer *peer,
                             struct myr_tagged_request *request, struct tagged_head *head)
{
    struct tagged_pool *pool =
        &t->pool[request->wanted <= TAGGED_SMALL ? TAGGED_SMALL_POOL : TAGGED_LARGE_POOL];
    struct tagged_buffer *buffer = take_buffer(t, pool, pool->reserved);
    if (NULL == buffer) {
        return OUT_OF_MEMORY;
    }
    struct tagged_more more = {.bytes = request->wanted,
                               .at = (uint64_t)(buffer->memory - t->base)};
    head->kind = TAGGED_STORED;
    if (tagged_number_give(t, TAGGED_BUFFER, buffer, &more.other)) {
        memcpy(buffer->memory, request->buffer, request->wanted);
        const enum left left = send_or_queue(t, peer, head, &more, request, NULL);
        if (OUT_OF_MEMORY != left) {
            ++t->counted.stored;
            return left;
        }
        tagged_number_end(t, more.other);
    }
    tagged_buffer_end(buffer);
    return OUT_OF_MEMORY;
}

static bool send_offer(struct myr_tagged *t, struct myr_tagged_peer *peer,
                       struct myr_tagged_request *request, struct tagged_head *head,
                       bool synchronous)
{
    struct tagged_more more = {
        .there = synchronous, .bytes = request->wanted, .at = (uintptr_t)request->buffer};
    head->kind = TAGGED_OFFER;
    ++t->counted.offered;
    if (tagged_number_give(t, TAGGED_SENDER, request, &more.other)) {
        request->here = more.other;
        if (OUT_OF_MEMORY != send_or_queue(t, peer, head, &more, NULL, NULL)) {
            tagged_wake_peer(peer);
            return false;
        }
        tagged_number_end(t, more.other);
    }
    request->status = MYR_ERR_OUT_OF_MEMORY;
    return true;
}

bool myr_tagged_send(struct myr_tagged *t, struct myr_tagged_peer *to,
                     const struct mcp_envelope *envelope, const void *buffer, uint64_t bytes,
                     bool synchronous, struct myr_tagged_request *request)
{
    struct tagged_head head = head_of(t, 0);
    head.envelope = *envelope;
    request->status = MYR_OK;
    request->cancelled = false;
    request->peer = to;
    request->buffer = (uint8_t *)(uintptr_t)buffer;
    request->wanted = bytes;
    request->posted = false;
    t->counted.bytes_sent += bytes;
    if (!to->near) {
        myr_pace_expect(&t->pace);
    }
    if (synchronous) {
        return send_offer(t, to, request, &head, true);
    }
    const bool eager = to->near ? bytes <= MYR_TAGGED_SHORT
                                : bytes <= t->options.buffer_bytes - sizeof(struct tagged_head) &&
                                      tagged_credits(bytes) <= to->credits;
    if (eager) {
        return send_eager(t, to, request, &head);
    }
    const enum left left = to->near && bytes <= t->options.buffer_bytes
                               ? send_stored(t, to, request, &head)
                               : OUT_OF_MEMORY;
    return OUT_OF_MEMORY == left ? send_offer(t, to, request, &head, false) : LEFT == left;
}

/* ---- outstanding messages ---- */

bool myr_tagged_busy(const struct myr_tagged *t)
{
    return 0 != t->busy_buffers || NULL != t->waiting_peers;
}

/* Returns whether a message was offered to this peer and its data have not been requested yet. This
 * may be the case even when the endpoint is drained, if the program has released the request by
 * MPI_Request_free(); Open MPI keeps the memory of such requests until they complete. */
static bool has_offer(const struct myr_tagged *t, const struct myr_tagged_peer *peer)
{
    for (uint32_t i = 0; i < t->numbers; ++i) {
        const struct myr_tagged_request *request = t->number[i].owner;
        if (TAGGED_SENDER == t->number[i].kind && peer == request->peer) {
            return true;
        }
    }
    return false;
}

/* Returns whether the peer still has to receive anything from this endpoint. Credits are not
 * considered, because a process that has ended needs none. Offers are considered only if the peer
 * is on this node. On another node the port of the peer may be closed already, and this process
 * learns of that only when the port refuses a message. */
static bool is_owed(struct myr_tagged *t, const struct myr_tagged_peer *peer)
{
    const bool owed = 0 != peer->unreceived || NULL != peer->messages.first ||
                      NULL != peer->pulled.first || (peer->remote.same_nic && has_offer(t, peer));
    return owed && !myr_port_undeliverable(t->port, &peer->remote, MYR_DRAIN_SILENCE);
}

bool myr_tagged_owes(struct myr_tagged *t, bool (*matters)(uint64_t id), uint64_t *id)
{
    for (uint32_t b = 0; b < TAGGED_BUCKETS; ++b) {
        for (const struct myr_tagged_peer *peer = t->bucket[b]; NULL != peer; peer = peer->next) {
            if (matters(peer->id) && is_owed(t, peer)) {
                *id = peer->id;
                return true;
            }
        }
    }
    return false;
}
