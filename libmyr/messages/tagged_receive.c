/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiving side of an endpoint: it matches messages, and processes the data and control
 * messages that follow them.
 *
 * The sender of a short unexpected message of this node is *released*: the message is copied to the
 * heap of this process, and the sender gets the answer for which its buffer or its request waits.
 * The messages of a peer that was released are limited to MYR_TAGGED_KEPT bytes. Senders of longer
 * messages are not released, because the additional copy would take too long.
 *
 * Input is not trusted, although it comes only from processes of the same user: unknown numbers,
 * fragments that exceed a buffer, and locations outside the segment are ignored. */
#include "libmyr/messages/tagged_inside.h"

#include <stdlib.h>
#include <string.h>

enum { COPIED_MOST = 4096 /* the longest message that is copied to release its sender */ };

/* ---- a message and its receive ---- */

static void copy_data(struct myr_tagged_request *request, const void *data)
{
    if (0 != request->wanted) {
        memcpy(request->buffer, data, request->wanted);
    }
}

/* Returns credits and slots to a sender. Usually they are piggybacked on the next message to it. A
 * separate message is sent if more than half of the credits, or of the slots in which no message
 * waits, have not been returned yet, so that the sender never stalls while slots are free. */
static void return_credits(struct myr_tagged *t, struct myr_tagged_peer *peer)
{
    if (2 * peer->owed_slots + peer->waiting > peer->granted ||
        peer->owed_credits > MYR_TAGGED_CREDITS / 2) {
        (void)tagged_answer(t, peer, TAGGED_CREDIT, NULL, NULL);
    }
}

/* If all slots of a peer are occupied by unexpected messages, doubles their number, as far as the
 * table has space. */
static void grant_slots(struct myr_tagged *t, struct myr_tagged_peer *peer)
{
    const uint32_t more = peer->granted < t->spare ? peer->granted : t->spare;
    if (peer->waiting >= peer->granted && 0 != more) {
        t->spare -= more;
        peer->granted += more;
        peer->owed_slots += more;
        (void)tagged_answer(t, peer, TAGGED_CREDIT, NULL, NULL);
    }
}

void tagged_make_room(struct myr_tagged *t)
{
    t->crowded = false;
    for (uint32_t b = 0; b < TAGGED_BUCKETS; ++b) {
        for (struct myr_tagged_peer *peer = t->bucket[b]; NULL != peer; peer = peer->next) {
            grant_slots(t, peer);
        }
    }
}

/* Returns a slot to the message's sender, because the message has been received. */
static void return_slot(struct myr_tagged *t, const struct myr_tagged_message *message)
{
    struct myr_tagged_peer *peer = message->peer;
    if (NULL == peer) {
        return;
    }
    ++peer->owed_slots;
    peer->owed_credits += message->credits;
    return_credits(t, peer);
}

/* Returns whether the first `bytes` of a stored message are inside the segment. */
static bool in_segment(const struct myr_tagged *t, const struct myr_tagged_message *message,
                       uint64_t bytes)
{
    const uint64_t at = message->more.at;
    return at <= t->segment_bytes && bytes <= t->segment_bytes - at;
}

static void deliver_stored(struct myr_tagged *t, struct myr_tagged_request *request,
                           const struct myr_tagged_message *message)
{
    if (in_segment(t, message, request->wanted)) {
        copy_data(request, t->base + message->more.at);
    } else {
        request->status = MYR_ERR_UNREGISTERED;
    }
    if (NULL != message->peer) {
        const struct tagged_more done = {.there = message->more.other};
        (void)tagged_answer(t, message->peer, TAGGED_DONE, &done, NULL);
    }
}

bool tagged_ask_for_data(struct myr_tagged *t, struct myr_tagged_peer *peer,
                         struct myr_tagged_request *request, uint32_t number)
{
    struct tagged_more pull = {.there = number, .bytes = request->wanted};
    if (!tagged_number_give(t, TAGGED_RECEIVER, request, &pull.other)) {
        return false;
    }
    request->here = pull.other;
    request->moved = 0;
    if (tagged_answer(t, peer, TAGGED_PULL, &pull, NULL)) {
        tagged_wake_peer(peer);
        if (!peer->near) {
            myr_pace_expect(&t->pace);
        }
        return true;
    }
    tagged_number_end(t, request->here);
    return false;
}

/* Receives an offer (rendezvous). Returns true if that completes the request. */
static bool deliver_offer(struct myr_tagged *t, struct myr_tagged_request *request,
                          const struct myr_tagged_message *message)
{
    struct myr_tagged_peer *peer = message->peer;
    const struct tagged_more answer = {.there = message->more.other};
    if (NULL == peer) {
        request->status = MYR_ERR_NOT_THERE;
        return true;
    }
    if (peer->direct && 0 != t->options.chunk_bytes && request->wanted > t->options.chunk_bytes) {
        tagged_read_begin(t, request, message);
        return false;
    }
    if (peer->direct &&
        myr_direct_read(peer->pid, request->buffer, message->more.at, request->wanted)) {
        return tagged_last_answer(t, peer, TAGGED_DONE, &answer, request);
    }
    if (0 == request->wanted) {
        return tagged_last_answer(t, peer, TAGGED_PULL, &answer, request);
    }
    if (!tagged_ask_for_data(t, peer, request, message->more.other)) {
        request->status = MYR_ERR_OUT_OF_MEMORY;
        return true;
    }
    return false;
}

bool tagged_deliver(struct myr_tagged *t, struct myr_tagged_request *request,
                    const struct myr_tagged_message *message)
{
    const uint64_t room = request->wanted;
    request->envelope = message->head.envelope;
    request->bytes = message->more.bytes;
    request->status = request->bytes > room ? MYR_ERR_TOO_LONG : MYR_OK;
    request->wanted = request->bytes > room ? room : request->bytes;
    request->posted = false;
    return_slot(t, message);
    switch (message->head.kind) {
    case TAGGED_EAGER:
        copy_data(request, message->data);
        if (NULL != message->answer) { /* see tagged_last_answer() */
            message->answer->request = request;
            message->answer->place = NULL;
        }
        return NULL == message->answer;
    case TAGGED_STORED:
        deliver_stored(t, request, message);
        return true;
    default:
        return deliver_offer(t, request, message);
    }
}

/* ---- matching ---- */

/* Returns whether the sender of an unexpected message may be released. */
static bool may_release(const struct myr_tagged *t, const struct myr_tagged_message *message)
{
    const struct myr_tagged_peer *peer = message->peer;
    const uint64_t bytes = message->more.bytes;
    if (NULL == peer || bytes > COPIED_MOST || bytes > MYR_TAGGED_KEPT - peer->kept) {
        return false;
    }
    const bool stored = TAGGED_STORED == message->head.kind && in_segment(t, message, bytes);
    return stored ||
           (TAGGED_OFFER == message->head.kind && peer->direct && 0 == message->more.there);
}

/* Copies a message, and releases its sender. The message stays as it is if it cannot be read, or if
 * memory is exhausted. */
static void release_sender(struct myr_tagged *t, struct myr_tagged_message *kept, void *copy)
{
    struct myr_tagged_peer *peer = kept->peer;
    const struct tagged_more done = {.there = kept->more.other};
    const bool stored = TAGGED_STORED == kept->head.kind;
    if (stored) {
        memcpy(copy, t->base + kept->more.at, kept->more.bytes);
    } else if (!myr_direct_read(peer->pid, copy, kept->more.at, kept->more.bytes)) {
        return;
    }
    if (tagged_answer(t, peer, TAGGED_DONE, &done, stored ? NULL : &kept->answer)) {
        kept->head.kind = TAGGED_EAGER;
        kept->kept = (uint32_t)kept->more.bytes;
        peer->kept += kept->kept;
    }
}

/* Returns a copy for the queue of unexpected messages, or NULL if out of memory. */
static struct myr_tagged_message *keep_message(struct myr_tagged *t,
                                               const struct myr_tagged_message *message)
{
    const bool eager = TAGGED_EAGER == message->head.kind, releases = may_release(t, message);
    const size_t bytes = eager || releases ? message->more.bytes : 0;
    struct myr_tagged_message *kept = malloc(sizeof(*kept) + bytes);
    if (NULL == kept) {
        return NULL;
    }
    *kept = *message;
    kept->data = kept + 1;
    if (releases) {
        release_sender(t, kept, kept + 1);
    } else if (0 != bytes) {
        memcpy(kept + 1, message->data, bytes);
    }
    return kept;
}

/* Matches a message. Returns false if the table has no space for it. */
static bool match_message(struct myr_tagged *t, const struct myr_tagged_message *message)
{
    mcp_match_index index;
    switch (mcp_match_arrive(t->match, &message->head.envelope, &index)) {
    case MCP_MATCHED: {
        struct myr_tagged_request *request = t->waiting[index];
        if (tagged_deliver(t, request, message)) {
            tagged_append(&t->done, request);
        }
        return true;
    }
    case MCP_WAITS:
        t->waiting[index] = keep_message(t, message);
        if (NULL == t->waiting[index]) {
            mcp_match_remove(t->match, index);
            return false;
        }
        ++t->counted.unexpected;
        if (NULL != message->peer) {
            ++message->peer->waiting;
            t->crowded = t->crowded || message->peer->waiting >= message->peer->granted;
            return_credits(t, message->peer);
        }
        return true;
    default:
        return tagged_grow(t, true) && match_message(t, message);
    }
}

/* ---- data and control messages ---- */

static void receive_pull(struct myr_tagged *t, const struct tagged_more *more)
{
    struct myr_tagged_request *request = tagged_number_owner(t, TAGGED_SENDER, more->there);
    if (NULL != request) {
        tagged_number_end(t, more->there);
        tagged_pull(t, request, more->other, more->bytes);
    }
}

static void receive_data(struct myr_tagged *t, const struct tagged_more *more, const void *data,
                         uint32_t bytes)
{
    struct myr_tagged_request *request = tagged_number_owner(t, TAGGED_RECEIVER, more->there);
    if (NULL == request || more->at > request->wanted || bytes > request->wanted - more->at) {
        return;
    }
    memcpy(request->buffer + more->at, data, bytes);
    request->moved += bytes;
    if (request->moved >= request->wanted) {
        tagged_number_end(t, more->there);
        tagged_append(&t->done, request);
    }
}

static void receive_done(struct myr_tagged *t, const struct tagged_more *more)
{
    struct myr_tagged_request *request = tagged_number_owner(t, TAGGED_SENDER, more->there);
    struct tagged_buffer *buffer = tagged_number_owner(t, TAGGED_BUFFER, more->there);
    if (NULL != request) {
        tagged_number_end(t, more->there);
        tagged_append(&t->done, request);
    } else if (NULL != buffer) {
        tagged_number_end(t, more->there);
        tagged_buffer_end(buffer);
    }
}

static void receive_credits(struct myr_tagged_peer *peer, const struct tagged_head *head)
{
    if (NULL != peer && head->credits <= MYR_TAGGED_CREDITS - peer->credits &&
        head->slots <= MCP_MATCH_MOST - peer->slots) {
        peer->credits += head->credits;
        peer->slots += head->slots;
    }
}

/* Gets the sender of a message. With `by_host`, the host may connect to a sender that is new. */
static struct myr_tagged_peer *sender_of(struct myr_tagged *t, const struct tagged_head *head)
{
    struct myr_tagged_peer *peer = myr_tagged_peer(t, head->from);
    return NULL != peer || !t->by_host || NULL == t->options.meet
               ? peer
               : t->options.meet(t->options.context, head->from);
}

/* Reads the second part of the header. Returns false if it is missing. */
static bool read_more(struct tagged_more *more, const uint8_t *what, uint32_t bytes)
{
    if (bytes < TAGGED_HEADS) {
        return false;
    }
    memcpy(more, what + sizeof(struct tagged_head), sizeof(*more));
    return true;
}

/* Processes one message. Returns false if there is no space for it at present. */
static bool receive_message(struct myr_tagged *t, const uint8_t *what, uint32_t bytes, bool far)
{
    struct myr_tagged_message message = {.kept = 0};
    if (bytes < sizeof(message.head)) {
        return true;
    }
    memcpy(&message.head, what, sizeof(message.head));
    const struct tagged_head *head = &message.head;
    message.peer = sender_of(t, head);
    if (NULL == message.peer && !t->by_host) {
        return false; /* an answer will be necessary, so the host must connect to the peer first */
    }
    if (TAGGED_EAGER == head->kind) {
        message.data = what + sizeof(*head);
        message.more.bytes = bytes - sizeof(*head);
        message.credits = far ? tagged_credits(message.more.bytes) : 0;
    } else if (TAGGED_CREDIT != head->kind && !read_more(&message.more, what, bytes)) {
        return true;
    }
    if (head->kind <= TAGGED_OFFER && !match_message(t, &message)) {
        return false;
    }
    if (0 != head->credits || 0 != head->slots) {
        receive_credits(message.peer, head);
    }
    switch (head->kind) {
    case TAGGED_PULL:
        receive_pull(t, &message.more);
        break;
    case TAGGED_DATA:
        receive_data(t, &message.more, what + TAGGED_HEADS, bytes - TAGGED_HEADS);
        break;
    case TAGGED_DONE:
        receive_done(t, &message.more);
        break;
    default:
        break;
    }
    return true;
}

bool tagged_take_short(struct myr_tagged *t)
{
    uint32_t bytes;
    const void *message = myr_intake_check(&t->intake, &bytes);
    if (NULL == message || !receive_message(t, message, bytes, false)) {
        return false;
    }
    myr_intake_done(&t->intake);
    return true;
}

bool tagged_take_long(struct myr_tagged *t)
{
    if (!t->holds && !myr_port_check(t->port, &t->held)) {
        return false;
    }
    t->holds = !receive_message(t, t->held.buffer, t->held.bytes, true);
    if (t->holds) {
        return false;
    }
    (void)myr_port_provide(t->port, t->held.buffer, t->options.buffer_bytes);
    return true;
}
