/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SEND: transmits acknowledgements, refusals and, within the congestion window, packets of queued
 * messages, and goes back (go-back-N) after a loss.
 *
 * Packets are not buffered. The offset of a packet in its message follows from the sequence number,
 * so a packet can be rebuilt for any retransmission. */
#include "firmware/connection.h"

/* ---- headers ---- */

/* Returns a header. Every packet acknowledges all packets that were received so far
 * (piggybacking). */
static struct mcp_header header_for(const struct mcp_nic *nic, struct mcp_connection *c,
                                    uint8_t type)
{
    struct mcp_header header = {.type = type, .key = c->key};
    header.message.source = nic->key;
    header.message.expected = c->expected;
    c->unacknowledged = 0;
    c->acknowledge_ns = 0;
    return header;
}

static void send_sealed(struct mcp_board *board, const struct mcp_connection *c,
                        struct mcp_header *header, const void *payload, size_t payload_bytes)
{
    mcp_seal_message(header, &c->secret, mcp_nh_of(board, c, payload_bytes), payload,
                     payload_bytes);
    board->ops.send(board, c->link, header, payload, payload_bytes);
}

void mcp_send_acknowledgement(struct mcp_nic *nic, struct mcp_board *board,
                              struct mcp_connection *c, uint8_t flags, uint8_t detail)
{
    struct mcp_header header = header_for(nic, c, MCP_ACK);
    header.message.flags = flags;
    header.message.detail = detail;
    send_sealed(board, c, &header, NULL, 0);
}

void mcp_report_tokens(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                       uint16_t port, uint32_t key, uint32_t tokens)
{
    struct mcp_header header = header_for(nic, c, MCP_ACK);
    header.message.flags = MCP_READY;
    header.message.from_port = port;
    header.message.port_key = key;
    header.message.length = tokens;
    send_sealed(board, c, &header, NULL, 0);
}

void mcp_send_refusal(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      const struct mcp_message_part *refused, uint8_t reason)
{
    struct mcp_header header = header_for(nic, c, MCP_REFUSE);
    header.message.sequence = refused->sequence;
    header.message.round = refused->round;
    header.message.detail = reason;
    send_sealed(board, c, &header, NULL, 0);
}

/* ---- void packets ---- */

static uint32_t *void_word(struct mcp_connection *c, uint32_t sequence)
{
    return &c->voids[sequence % MCP_VOIDS / 32];
}

static uint32_t void_bit(uint32_t sequence)
{
    return UINT32_C(1) << sequence % 32;
}

static bool is_void(struct mcp_connection *c, uint32_t sequence)
{
    return 0 != c->nvoids && 0 != (*void_word(c, sequence) & void_bit(sequence));
}

static void set_void(struct mcp_connection *c, uint32_t sequence)
{
    *void_word(c, sequence) |= void_bit(sequence);
    ++c->nvoids;
}

static void clear_void(struct mcp_connection *c, uint32_t sequence)
{
    if (is_void(c, sequence)) {
        *void_word(c, sequence) &= ~void_bit(sequence);
        --c->nvoids;
    }
}

/* ---- packets ---- */

static uint32_t packets_of(const struct mcp_sending *sending)
{
    const uint32_t bytes = 0 == sending->bytes ? 1 : sending->bytes;
    /* The fragment size was set when the message was queued, and is never 0. */
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    return bytes / sending->fragment + (0 != bytes % sending->fragment);
}

/* Returns whether the last packet of a message under way precedes `sequence`. */
static bool ends_before(const struct mcp_sending *sending, uint32_t sequence)
{
    return mcp_not_after(sending->first + packets_of(sending), sequence);
}

/* Returns the message that packet `next` belongs to, if that is not void, or NULL if there is
 * nothing to send. */
static struct mcp_sending *sending_of_next(struct mcp_board *board, struct mcp_connection *c)
{
    struct mcp_sending *sending = mcp_sending_at(board, c->current);
    while (NULL != sending && sending->begun && ends_before(sending, c->next)) {
        c->current = sending->next;
        sending = mcp_sending_at(board, c->current);
    }
    if (NULL != sending && !sending->begun) {
        sending->begun = 1;
        sending->first = c->next;
        sending->fragment = c->fragment;
    }
    return sending;
}

/* Returns whether the packet should request an acknowledgement. It should if the sender cannot
 * continue without one, unless a packet in flight has already requested one. Without this
 * exception, a long stream would request acknowledgements more and more often. */
static bool must_request_ack(struct mcp_nic *nic, const struct mcp_connection *c,
                             const struct mcp_sending *sending)
{
    if (c->asked - c->base < c->next - c->base) {
        return false;
    }
    if (c->next + 1 - c->base >= c->window || (c->next == c->base && c->next != c->highest)) {
        return true; /* the window ends here, or this is a retransmission */
    }
    if (NULL == sending || !ends_before(sending, c->next + 1)) {
        return false;
    }
    const struct mcp_port *port = &mcp_ports(nic)[sending->port];
    return port->under_way == port->send_tokens || /* the port has no tokens left */
           0 != c->aside.first;                    /* messages set aside may follow */
}

static void fill_in_part(struct mcp_message_part *part, const struct mcp_sending *sending,
                         const struct mcp_connection *c)
{
    part->to_port = sending->to_port;
    part->from_port = sending->port;
    part->port_key = sending->to_key;
    part->length = sending->bytes;
    part->flags = c->next == sending->first ? MCP_FIRST : 0;
}

static void start_rtt_sample(struct mcp_connection *c, uint64_t now_ns)
{
    if (0 == c->timed_ns) {
        c->timed = c->next;
        c->timed_ns = now_ns;
    }
}

/* Sends packet `next`. Returns false if there is none. */
static bool send_next_packet(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                             uint64_t now_ns)
{
    struct mcp_sending *sending = NULL;
    const void *payload = NULL;
    uint32_t bytes = 0;
    const bool again = c->next != c->highest, empty = again && is_void(c, c->next);
    if (!empty) {
        sending = sending_of_next(board, c);
        if (NULL == sending) {
            return false;
        }
    }
    struct mcp_header header = header_for(nic, c, MCP_DATA);
    if (empty) {
        header.message.flags = MCP_VOID;
    } else {
        const uint32_t offset = (c->next - sending->first) * sending->fragment;
        const uint32_t rest = sending->bytes - offset;
        bytes = rest < sending->fragment ? rest : sending->fragment;
        payload = (const uint8_t *)mcp_at(board, sending->memory) + offset;
        fill_in_part(&header.message, sending, c);
    }
    if (must_request_ack(nic, c, sending)) {
        header.message.flags |= MCP_PLEASE;
        c->asked = c->next;
    }
    header.message.sequence = c->next;
    header.message.round = c->round;
    header.message.detail = c->attempt;
    send_sealed(board, c, &header, 0 == bytes ? NULL : payload, bytes);
    if (again) {
        ++nic->counters.retransmissions;
    } else {
        start_rtt_sample(c, now_ns);
        ++c->highest;
    }
    ++c->next;
    return true;
}

void mcp_send_packets(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    if ((c->next == c->highest && 0 == c->current) || c->next - c->base >= c->window) {
        return;
    }
    const uint64_t now_ns = board->ops.now_ns(board);
    while (c->next - c->base < c->window && send_next_packet(nic, board, c, now_ns)) {
    }
    if (c->base != c->next && 0 == c->retry_ns) {
        c->retry_ns = now_ns + c->rto_ns;
        mcp_connection_due(nic, c, c->retry_ns);
    }
}

/* ---- going back ---- */

void mcp_go_back(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    ++c->attempt;
    c->next = c->base;
    c->asked = c->base - 1;
    c->current = c->queue.first;
    c->timed_ns = 0; /* Karn: an acknowledgement could be for either transmission */
    c->retry_ns = 0;
    mcp_send_packets(nic, board, c);
}

void mcp_retransmit_cautiously(struct mcp_nic *nic, struct mcp_board *board,
                               struct mcp_connection *c)
{
    const uint32_t half = c->window / 2;
    c->threshold = half < MCP_WINDOW_LEAST ? MCP_WINDOW_LEAST : half;
    c->window = MCP_WINDOW_LEAST;
    c->silent_ms += (uint32_t)(c->rto_ns / 1000000);
    c->rto_ns *= 2;
    if (c->rto_ns > MCP_RETRY_MOST_NS) {
        c->rto_ns = MCP_RETRY_MOST_NS;
    }
    mcp_go_back(nic, board, c);
}

struct mcp_sending *mcp_next_round(struct mcp_board *board, struct mcp_connection *c)
{
    struct mcp_sending *refused = NULL;
    if (!is_void(c, c->base)) {
        refused = mcp_at(board, c->queue.first);
        mcp_unqueue(board, &c->queue, refused);
    }
    for (mcp_offset o = c->queue.first; 0 != o; o = mcp_sending_at(board, o)->next) {
        mcp_sending_at(board, o)->begun = 0;
    }
    c->nvoids = 0;
    __builtin_memset(c->voids, 0, sizeof(c->voids));
    ++c->round;
    ++c->attempt;
    c->next = c->highest = c->base;
    c->asked = c->base - 1;
    c->current = c->queue.first;
    c->timed_ns = 0;
    c->retry_ns = 0;
    return refused;
}

/* ---- the queue ---- */

void mcp_queue_message(struct mcp_board *board, struct mcp_connection *c,
                       struct mcp_sending *sending)
{
    sending->state = MCP_QUEUED;
    sending->begun = 0;
    sending->resume_ns = 0;
    mcp_enqueue(board, &c->queue, sending);
    if (0 == c->current) {
        c->current = c->queue.last;
    }
}

/* ---- setting aside ---- */

static void schedule_retry(struct mcp_nic *nic, struct mcp_connection *c,
                           struct mcp_sending *sending, uint64_t at_ns)
{
    sending->resume_ns = at_ns;
    if (0 == c->resume_ns || at_ns < c->resume_ns) {
        c->resume_ns = at_ns;
    }
    mcp_connection_due(nic, c, at_ns);
}

void mcp_set_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                   struct mcp_sending *refused, uint8_t why)
{
    struct mcp_queue queue = c->queue, later = c->aside;
    uint64_t pause_ns = MCP_CLOSED == why ? MCP_PAUSE_CLOSED_NS : MCP_PAUSE_NOT_READY_NS;
    c->queue = c->aside = (struct mcp_queue){0, 0};
    refused->state = MCP_ASIDE;
    refused->refused_why = why;
    mcp_enqueue(board, &c->aside, refused);
    while (0 != queue.first) {
        struct mcp_sending *sending = mcp_at(board, queue.first);
        const bool same = mcp_is_for_port(sending, refused->to_port, refused->to_key);
        queue.first = sending->next;
        sending->state = same ? MCP_ASIDE : MCP_QUEUED;
        sending->refused_why = same ? why : sending->refused_why;
        mcp_enqueue(board, same ? &c->aside : &c->queue, sending);
    }
    while (0 != later.first) { /* messages that were set aside earlier stay behind these */
        struct mcp_sending *sending = mcp_at(board, later.first);
        later.first = sending->next;
        if (mcp_is_for_port(sending, refused->to_port, refused->to_key)) {
            sending->resume_ns = 0;
            sending->refused_why = why;
        }
        mcp_enqueue(board, &c->aside, sending);
    }
    c->current = c->queue.first;
    for (uint32_t i = 0; i < refused->refusals && pause_ns < MCP_PAUSE_MOST_NS; ++i) {
        pause_ns *= 2;
    }
    pause_ns = pause_ns < MCP_PAUSE_MOST_NS ? pause_ns : MCP_PAUSE_MOST_NS;
    ++refused->refusals;
    schedule_retry(nic, c, refused, board->ops.now_ns(board) + pause_ns);
}

/* Requeues up to `messages` messages that were set aside for a port. The timer of the next message
 * is restarted. */
static void requeue_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                          uint16_t port, uint32_t key, uint32_t messages)
{
    struct mcp_queue aside = c->aside;
    bool more = true;
    c->aside = (struct mcp_queue){0, 0};
    while (0 != aside.first) {
        struct mcp_sending *sending = mcp_at(board, aside.first);
        aside.first = sending->next;
        const bool meant = mcp_is_for_port(sending, port, key);
        if (meant && 0 != messages) {
            --messages;
            mcp_queue_message(board, c, sending);
            continue;
        }
        mcp_enqueue(board, &c->aside, sending);
        if (meant && more) {
            more = false;
            schedule_retry(nic, c, sending, board->ops.now_ns(board) + MCP_PAUSE_NOT_READY_NS);
        }
    }
}

void mcp_retry_aside(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    const uint64_t now_ns = board->ops.now_ns(board);
    c->resume_ns = 0;
    for (mcp_offset o = c->aside.first; 0 != o;) {
        struct mcp_sending *sending = mcp_at(board, o);
        if (0 != sending->resume_ns && sending->resume_ns <= now_ns) {
            requeue_aside(nic, board, c, sending->to_port, sending->to_key, 1);
            o = c->aside.first;
            continue;
        }
        if (0 != sending->resume_ns) {
            schedule_retry(nic, c, sending, sending->resume_ns);
        }
        o = sending->next;
    }
    mcp_send_packets(nic, board, c);
}

void mcp_requeue_port(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      uint16_t port, uint32_t key, uint32_t tokens)
{
    if (0 != c->aside.first) {
        requeue_aside(nic, board, c, port, key, tokens);
        mcp_send_packets(nic, board, c);
    }
}

/* ---- leaving the queue ---- */

static void leave_queue(struct mcp_board *board, struct mcp_connection *c,
                        struct mcp_sending *sending)
{
    if (mcp_offset_of(board, sending) == c->current) {
        c->current = sending->next;
    }
    mcp_unqueue(board, &c->queue, sending);
}

void mcp_advance_base(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                      uint32_t expected)
{
    for (; c->base != expected; ++c->base) {
        clear_void(c, c->base);
    }
    struct mcp_sending *sending = mcp_sending_at(board, c->queue.first);
    while (NULL != sending && sending->begun && ends_before(sending, c->base)) {
        leave_queue(board, c, sending);
        mcp_sending_done(nic, board, sending, MCP_SENT, 0);
        if (0 != c->aside.first) {
            requeue_aside(nic, board, c, sending->to_port, sending->to_key, 2);
        }
        sending = mcp_sending_at(board, c->queue.first);
    }
    if (!mcp_not_after(c->base, c->next)) { /* packets to be retransmitted are acknowledged now */
        c->next = c->base;
        c->current = c->queue.first;
    }
}

/* Replaces the packets of a cancelled message by void packets with the same sequence numbers, which
 * cannot be reused because the peer may already have accepted some of the packets. If only a part
 * of the message was sent, the receiver has an incomplete message, and another void packet makes it
 * free the buffer. */
static void leave_voids(struct mcp_connection *c, const struct mcp_sending *sending)
{
    const uint32_t end = sending->first + packets_of(sending);
    uint32_t sequence = mcp_not_after(sending->first, c->base) ? c->base : sending->first;
    while (sequence != end && sequence != c->highest) {
        set_void(c, sequence++);
    }
    if (sequence != end) {
        set_void(c, c->highest++);
    }
}

void mcp_cancel_message(struct mcp_board *board, struct mcp_connection *c,
                        struct mcp_sending *sending)
{
    if (MCP_QUEUED == sending->state) {
        leave_queue(board, c, sending);
        if (sending->begun) {
            leave_voids(c, sending);
        }
        return;
    }
    /* The next message to the same port inherits the retry time. */
    struct mcp_sending *heir = mcp_sending_at(board, sending->next);
    mcp_unqueue(board, &c->aside, sending);
    while (0 != sending->resume_ns && NULL != heir &&
           !mcp_is_for_port(heir, sending->to_port, sending->to_key)) {
        heir = mcp_sending_at(board, heir->next);
    }
    if (0 != sending->resume_ns && NULL != heir) {
        heir->resume_ns = sending->resume_ns;
    }
}
