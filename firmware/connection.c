/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of connections, with their queues and timers; see connection.h. */
#include "firmware/connection.h"

size_t mcp_messages_bytes(uint32_t ports, uint32_t connections)
{
    return myr_whole_lines(ports * sizeof(struct mcp_port)) +
           connections * sizeof(struct mcp_connection);
}

/* ---- lookup and creation ---- */

static uint32_t *bucket_of(struct mcp_nic *nic, uint64_t key)
{
    const uint64_t hash = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 56;
    return &nic->messages.bucket[hash % MCP_CONNECTION_BUCKETS];
}

struct mcp_connection *mcp_connection_find(struct mcp_nic *nic, uint64_t key)
{
    for (uint32_t i = *bucket_of(nic, key); 0 != i;) {
        struct mcp_connection *c = &mcp_connections(nic)[i - 1];
        if (key == c->key) {
            return c;
        }
        i = c->next_bucket;
    }
    return NULL;
}

static void set_mtu(struct mcp_connection *c, uint32_t mtu)
{
    mtu = 0 == mtu ? MCP_MTU : mtu;
    mtu = mtu < MCP_MTU_LEAST ? MCP_MTU_LEAST : mtu;
    mtu = mtu > MCP_MTU_MOST ? MCP_MTU_MOST : mtu;
    c->fragment = mtu - MCP_DATAGRAM_BYTES - MCP_MESSAGE_BYTES;
}

/* Returns the connection to the NIC that left first, or NULL if none has left. */
static struct mcp_connection *find_first_departed(struct mcp_nic *nic)
{
    struct mcp_connection *first = NULL;
    for (uint32_t i = 0; i < nic->messages.connections; ++i) {
        struct mcp_connection *c = &mcp_connections(nic)[i];
        if (0 != c->departure && (NULL == first || c->departure < first->departure)) {
            first = c;
        }
    }
    return first;
}

/* Takes an entry of the table, and removes it from its bucket. Returns NULL if the table is
 * full. */
static struct mcp_connection *take_entry(struct mcp_nic *nic, struct mcp_board *board)
{
    struct mcp_messages *m = &nic->messages;
    if (m->connections < m->nconnections) {
        return &mcp_connections(nic)[m->connections++];
    }
    struct mcp_connection *c = find_first_departed(nic);
    if (NULL != c) {
        uint32_t *bucket = bucket_of(nic, c->key);
        while (mcp_connection_index(nic, c) + 1 != *bucket) {
            bucket = &mcp_connections(nic)[*bucket - 1].next_bucket;
        }
        *bucket = c->next_bucket;
        board->ops.drop(board, c->link);
        ++c->generation;
    }
    return c;
}

/* Creates a connection with a new key. Returns NULL, and drops the link, if the table is full. */
static struct mcp_connection *make_connection(struct mcp_nic *nic, struct mcp_board *board,
                                              uint64_t key, mcp_link link)
{
    struct mcp_connection *c = take_entry(nic, board);
    if (NULL == c) {
        board->ops.drop(board, link);
        return NULL;
    }
    *c = (struct mcp_connection){
        .key = key,
        .generation = c->generation,
        .active = c->active, /* it may still be in the list */
        .next_active = c->next_active,
        .link = link,
        .round = MCP_FIRST_ROUND,
        .incoming_round = MCP_FIRST_ROUND,
        .base = MCP_FIRST_SEQUENCE,
        .next = MCP_FIRST_SEQUENCE,
        .highest = MCP_FIRST_SEQUENCE,
        .asked = MCP_FIRST_SEQUENCE - 1,
        .expected = MCP_FIRST_SEQUENCE,
        .window = MCP_WINDOW_FIRST,
        .threshold = MCP_WINDOW_MOST,
        .rto_ns = MCP_RETRY_NS,
    };
    set_mtu(c, 0);
    uint32_t *bucket = bucket_of(nic, key);
    c->next_bucket = *bucket;
    *bucket = mcp_connection_index(nic, c) + 1;
    ++nic->messages.peers;
    return c;
}

struct mcp_connection *mcp_connection_to_sender(struct mcp_nic *nic, struct mcp_board *board,
                                                uint64_t key)
{
    const mcp_link link = board->ops.hold_sender(board);
    return MCP_LINK_SENDER == link ? NULL : make_connection(nic, board, key, link);
}

bool mcp_is_connected(struct mcp_nic *nic, uint64_t key)
{
    return NULL != mcp_connection_find(nic, key);
}

uint32_t mcp_connect(struct mcp_nic *nic, struct mcp_board *board, uint64_t key, mcp_link link,
                     uint32_t mtu, const struct mcp_secret *secret)
{
    struct mcp_connection *c = mcp_connection_find(nic, key);
    if (0 == key) {
        board->ops.drop(board, link);
        return MCP_NO_CONNECTION;
    }
    if (NULL == c) {
        c = make_connection(nic, board, key, link);
        if (NULL == c) {
            return MCP_NO_CONNECTION;
        }
    } else {
        /* The connection may have been created by a packet that came from another address, so its
         * link is replaced. */
        board->ops.drop(board, c->link);
        c->link = link;
    }
    if (0 != mtu) {
        set_mtu(c, mtu);
    }
    if (NULL != secret) {
        c->secret = *secret;
    }
    if (key == nic->messages.stranger && 0 != myr_load_relaxed(&nic->messages.knocked)) {
        myr_store_release(&nic->messages.knocked, 0);
        /* The last packet of this peer was dropped, because there was no connection. The report of
         * a gap makes the peer retransmit it immediately. */
        mcp_send_acknowledgement(nic, board, c, MCP_GAP, nic->messages.stranger_attempt);
    }
    return mcp_connection_handle(nic, c);
}

/* ---- queues ---- */

void mcp_enqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending)
{
    const mcp_offset offset = mcp_offset_of(board, sending);
    sending->next = 0;
    if (0 == queue->first) {
        queue->first = offset;
    } else {
        mcp_sending_at(board, queue->last)->next = offset;
    }
    queue->last = offset;
}

void mcp_unqueue(struct mcp_board *board, struct mcp_queue *queue, struct mcp_sending *sending)
{
    const mcp_offset offset = mcp_offset_of(board, sending);
    mcp_offset before = 0, *link = &queue->first;
    while (offset != *link) {
        before = *link;
        link = &mcp_sending_at(board, before)->next;
    }
    *link = sending->next;
    if (offset == queue->last) {
        queue->last = before;
    }
}

/* ---- timers ---- */

static void lower_deadline(uint64_t *deadline_ns, uint64_t at_ns)
{
    if (0 != at_ns && (0 == *deadline_ns || at_ns < *deadline_ns)) {
        *deadline_ns = at_ns;
    }
}

void mcp_connection_due(struct mcp_nic *nic, struct mcp_connection *c, uint64_t at_ns)
{
    lower_deadline(&nic->messages.deadline_ns, at_ns);
    if (!c->active) {
        c->active = true;
        c->next_active = nic->messages.active;
        nic->messages.active = mcp_connection_index(nic, c) + 1;
    }
}

static bool is_due(uint64_t at_ns, uint64_t now_ns)
{
    return 0 != at_ns && at_ns <= now_ns;
}

static void run_due_timers(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                           uint64_t now_ns)
{
    if (is_due(c->resume_ns, now_ns)) {
        mcp_retry_aside(nic, board, c);
    }
    if (is_due(c->retry_ns, now_ns)) {
        mcp_retransmit_cautiously(nic, board, c);
    }
    if (is_due(c->acknowledge_ns, now_ns)) {
        mcp_send_acknowledgement(nic, board, c, 0, 0);
    }
}

void mcp_messages_timer(struct mcp_nic *nic, struct mcp_board *board)
{
    struct mcp_messages *m = &nic->messages;
    const uint64_t now_ns = board->ops.now_ns(board);
    if (!is_due(m->deadline_ns, now_ns)) {
        return;
    }
    m->deadline_ns = 0;
    for (uint32_t *link = &m->active; 0 != *link;) {
        struct mcp_connection *c = &mcp_connections(nic)[*link - 1];
        run_due_timers(nic, board, c, now_ns);
        if (0 == c->resume_ns && 0 == c->retry_ns && 0 == c->acknowledge_ns) {
            *link = c->next_active;
            c->active = false;
        } else {
            lower_deadline(&m->deadline_ns, c->resume_ns);
            lower_deadline(&m->deadline_ns, c->retry_ns);
            lower_deadline(&m->deadline_ns, c->acknowledge_ns);
            link = &c->next_active;
        }
    }
}

/* ---- NICs that are closed ---- */

static void strand_messages(struct mcp_board *board, struct mcp_queue *queue)
{
    for (mcp_offset o = queue->first; 0 != o; o = mcp_sending_at(board, o)->next) {
        mcp_sending_at(board, o)->state = MCP_STRANDED;
    }
    *queue = (struct mcp_queue){0, 0};
}

void mcp_connection_end(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    c->departure = ++nic->messages.departures;
    --nic->messages.peers;
    strand_messages(board, &c->queue);
    strand_messages(board, &c->aside);
    mcp_incoming_drop(nic, board, c);
    c->current = 0;
    c->next = c->highest = c->base;
    c->retry_ns = c->resume_ns = c->acknowledge_ns = 0;
    c->refused_ports = 0;
}

static bool is_unaware(const struct mcp_connection *c)
{
    return 0 == c->departure && !c->aware;
}

uint32_t mcp_messages_unaware(struct mcp_nic *nic)
{
    uint32_t unaware = 0;
    for (uint32_t i = 0; i < nic->messages.connections; ++i) {
        unaware += is_unaware(&mcp_connections(nic)[i]);
    }
    return unaware;
}

uint32_t mcp_messages_leave(struct mcp_nic *nic, struct mcp_board *board)
{
    for (uint32_t i = 0; i < nic->messages.connections; ++i) {
        struct mcp_connection *c = &mcp_connections(nic)[i];
        if (is_unaware(c)) {
            mcp_send_acknowledgement(nic, board, c, MCP_LEFT, 0);
        }
    }
    return mcp_messages_unaware(nic);
}

/* ---- unresponsive peers ---- */

/* Returns whether this recipient has already been notified of the present silence of the peer.
 * Otherwise records that it is notified now. */
static bool was_notified(struct mcp_connection *c, uint32_t recipient)
{
    const uint32_t bit = UINT32_C(1) << (recipient ^ recipient >> 16) % 32;
    const bool notified = 0 != (c->notified & bit);
    c->notified |= bit;
    return notified;
}

bool mcp_messages_unresponsive(struct mcp_nic *nic, struct mcp_board *board, uint32_t number,
                               uint32_t recipient, uint32_t least_ms,
                               struct mcp_unresponsive *unresponsive)
{
    const struct mcp_port *port = mcp_port_at(nic, number);
    if (NULL == port || 0 == port->key) {
        return false;
    }
    const struct mcp_sending *sendings = mcp_sendings(port, mcp_at(board, port->rings));
    for (uint32_t token = 0; token < port->send_tokens; ++token) {
        const uint16_t state = sendings[token].state;
        if (MCP_QUEUED != state && MCP_ASIDE != state) {
            continue;
        }
        struct mcp_connection *c = mcp_connection_of(nic, &sendings[token]);
        if (c->silent_ms >= least_ms && !was_notified(c, recipient)) {
            *unresponsive = (struct mcp_unresponsive){.connection = mcp_connection_handle(nic, c),
                                                      .link = c->link,
                                                      .silence_ms = c->silent_ms};
            return true;
        }
    }
    return false;
}

/* ---- undeliverable messages ---- */

static bool was_refused_as_closed(const struct mcp_sending *sending,
                                  const struct mcp_destination *to)
{
    return MCP_IDLE != sending->state && MCP_CLOSED == sending->refused_why &&
           to->connection == sending->connection && mcp_is_for_port(sending, to->port, to->key);
}

bool mcp_messages_undeliverable(struct mcp_nic *nic, struct mcp_board *board, uint32_t number,
                                const struct mcp_destination *to, uint32_t silence_ms)
{
    const struct mcp_port *port = mcp_port_at(nic, number);
    if (NULL == port || 0 == port->key) {
        return true;
    }
    if (MCP_SAME_NIC == to->connection) {
        return mcp_port_is_over(board, mcp_port_at(nic, to->port), to->key);
    }
    bool closed = false;
    const struct mcp_sending *sendings = mcp_sendings(port, mcp_at(board, port->rings));
    for (uint32_t token = 0; !closed && token < port->send_tokens; ++token) {
        closed = was_refused_as_closed(&sendings[token], to);
    }
    const struct mcp_connection *c = mcp_connection_at(nic, to->connection);
    return closed || NULL == c || 0 != c->departure || c->silent_ms >= silence_ms;
}
