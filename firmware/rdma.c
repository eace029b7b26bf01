/* SPDX-License-Identifier: BSD-3-Clause */
/* RDMA: delivers in-order packets into the buffers of receive tokens, notifies the hosts, and
 * decides which packets to refuse.
 *
 * The first packet of a message takes a receive token, and the message is assembled in the buffer
 * of this token. If the message is dropped before it is complete, the token is returned. */
#include "firmware/connection.h"

void mcp_post_event(struct mcp_board *board, struct mcp_port *port, const struct mcp_event *event)
{
    struct mcp_event *slot = mcp_event_slot(port, mcp_at(board, port->rings), port->events);
    slot->type = event->type;
    slot->why = event->why;
    slot->from_port = event->from_port;
    slot->what = event->what;
    slot->bytes = event->bytes;
    slot->from_nic = event->from_nic;
    myr_store_release(&slot->sequence, ++port->events);
}

/* ---- receive tokens ---- */

/* Copies the next token without consuming it. Returns false if there is none. */
static bool peek_token(const struct mcp_port *port, struct mcp_rings *rings,
                       struct mcp_receive_token *token)
{
    const struct mcp_receive_token *slot = mcp_receive_slot(port, rings, port->receives);
    if (0 != port->spares) {
        slot = &mcp_spare_tokens(port, rings)[port->spares - 1];
    } else if (myr_load_seq_cst(&slot->sequence) != port->receives + 1) {
        return false;
    }
    token->memory = slot->memory;
    token->bytes = slot->bytes;
    return true;
}

uint32_t mcp_tokens_left(const struct mcp_board *board, const struct mcp_port *port)
{
    struct mcp_rings *rings = mcp_at(board, port->rings);
    uint32_t left = 0;
    while (left < port->receive_slots &&
           myr_load_acquire(&mcp_receive_slot(port, rings, port->receives + left)->sequence) ==
               port->receives + left + 1) {
        ++left;
    }
    return left + port->spares;
}

static void consume_token(struct mcp_port *port)
{
    if (0 != port->spares) {
        --port->spares;
    } else {
        ++port->receives;
    }
}

/* Skips tokens whose buffers are outside host memory. Returns false if no other token is left. */
static bool find_valid_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                             struct mcp_receive_token *token)
{
    struct mcp_rings *rings = mcp_at(board, port->rings);
    for (uint32_t i = 0; i < port->receive_slots && peek_token(port, rings, token); ++i) {
        if (mcp_in_memory(board, token->memory, token->bytes)) {
            return true;
        }
        const struct mcp_event event = {.type = MCP_UNFIT, .what = token->memory};
        consume_token(port);
        ++nic->counters.bad_tokens;
        mcp_post_event(board, port, &event);
    }
    return false;
}

uint8_t mcp_take_token(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                       uint32_t bytes, struct mcp_receive_token *token)
{
    struct mcp_rings *rings = mcp_at(board, port->rings);
    if (!find_valid_token(nic, board, port, token)) {
        myr_store_seq_cst(&rings->hungry, 1);
        if (!find_valid_token(nic, board, port, token)) {
            return MCP_NOT_READY;
        }
    }
    if (bytes > token->bytes) {
        return MCP_TOO_LONG;
    }
    consume_token(port);
    return 0;
}

/* Returns whether a port with the same bit in `refused_ports` waits for a token. */
static bool another_waits(struct mcp_nic *nic, const struct mcp_board *board, uint32_t number)
{
    const uint64_t bit = mcp_port_bit(number);
    bool waits = false;
    for (uint32_t n = 0; !waits && n < nic->messages.nports; ++n) {
        const struct mcp_port *port = &mcp_ports(nic)[n];
        const struct mcp_rings *rings = mcp_at(board, port->rings);
        waits = bit == mcp_port_bit(n) && 0 != port->key && 0 != myr_load_relaxed(&rings->hungry);
    }
    return waits;
}

void mcp_messages_provided(struct mcp_nic *nic, struct mcp_board *board, uint32_t number)
{
    struct mcp_port *port = mcp_port_at(nic, number);
    if (NULL == port || 0 == port->key) {
        return;
    }
    struct mcp_rings *rings = mcp_at(board, port->rings);
    myr_store_seq_cst(&rings->hungry, 0);
    mcp_deliver_waiting(nic, board, number);
    const uint64_t over = another_waits(nic, board, number) ? 0 : mcp_port_bit(number);
    for (uint32_t i = 0; i < nic->messages.connections; ++i) {
        struct mcp_connection *c = &mcp_connections(nic)[i];
        if (0 != (c->refused_ports & mcp_port_bit(number))) {
            c->refused_ports &= ~over;
            mcp_report_tokens(nic, board, c, (uint16_t)number, port->key,
                              mcp_tokens_left(board, port));
        }
    }
}

/* ---- packets ---- */

void mcp_incoming_drop(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    if (0 != c->incoming.port) {
        const uint32_t number = c->incoming.port - 1;
        struct mcp_port *port = &mcp_ports(nic)[number];
        if (port->spares < port->receive_slots) {
            struct mcp_receive_token *spare =
                &mcp_spare_tokens(port, mcp_at(board, port->rings))[port->spares++];
            spare->memory = c->incoming.memory;
            spare->bytes = c->incoming.room;
        }
        c->incoming.port = 0;
        /* The host may have no other token, by which it would resume these deliveries. (Messages of
         * other NICs are retried anyway.) */
        mcp_deliver_waiting(nic, board, number);
    }
}

static uint8_t begin_message(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                             const struct mcp_message_part *part)
{
    struct mcp_port *port = mcp_port_at(nic, part->to_port);
    if (NULL == port || 0 == port->key || port->key != part->port_key) {
        return MCP_CLOSED;
    }
    struct mcp_receive_token token;
    const uint8_t why = mcp_take_token(nic, board, port, part->length, &token);
    if (0 == why) {
        c->incoming = (struct mcp_incoming){
            .port = part->to_port + 1u,
            .memory = token.memory,
            .room = token.bytes,
            .length = part->length,
            .from_port = part->from_port,
        };
    }
    /* A dead process provides no more tokens. Whether it is dead is checked only here, because it
     * takes a system call. */
    return MCP_NOT_READY == why && mcp_port_is_over(board, port, part->port_key) ? MCP_CLOSED : why;
}

static void finish_message(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c)
{
    const struct mcp_event event = {
        .type = MCP_RECEIVED,
        .from_port = c->incoming.from_port,
        .what = c->incoming.memory,
        .bytes = c->incoming.length,
        .from_nic = c->key,
    };
    mcp_post_event(board, &mcp_ports(nic)[c->incoming.port - 1], &event);
    c->incoming.port = 0;
    ++nic->counters.messages_received;
}

uint8_t mcp_deliver_packet(struct mcp_nic *nic, struct mcp_board *board, struct mcp_connection *c,
                           const struct mcp_message_part *part, const void *payload,
                           uint32_t payload_bytes)
{
    if (0 != (part->flags & (MCP_FIRST | MCP_VOID))) {
        mcp_incoming_drop(nic, board, c);
    }
    if (0 != (part->flags & MCP_VOID)) {
        return 0;
    }
    if (0 != (part->flags & MCP_FIRST)) {
        const uint8_t why = begin_message(nic, board, c, part);
        if (0 != why) {
            return why;
        }
    }
    struct mcp_incoming *in = &c->incoming;
    if (part->to_port + 1u != in->port || part->length != in->length ||
        payload_bytes > in->length - in->received) {
        /* The message was dropped meanwhile, or its port was closed. */
        mcp_incoming_drop(nic, board, c);
        return MCP_CLOSED;
    }
    __builtin_memcpy((uint8_t *)mcp_at(board, in->memory) + in->received, payload, payload_bytes);
    in->received += payload_bytes;
    if (in->received == in->length) {
        finish_message(nic, board, c);
    }
    return 0;
}
