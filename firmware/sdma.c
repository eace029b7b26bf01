/* SPDX-License-Identifier: BSD-3-Clause */
/* SDMA: takes send tokens from the ports and queues their messages. A message to another NIC is
 * queued on the connection to that NIC; a message to a port of this NIC is queued at that port.
 *
 * SDMA does not divide messages into packets. SEND does so later, directly from host memory. A
 * message between ports of the same NIC is not sent in packets at all, but copied once, from buffer
 * to buffer. */
#include "firmware/connection.h"

void mcp_sending_done(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending,
                      uint8_t type, uint8_t why)
{
    struct mcp_port *port = &mcp_ports(nic)[sending->port];
    const struct mcp_event event = {.type = type, .why = why, .what = sending->token};
    sending->state = MCP_IDLE;
    --port->under_way;
    nic->counters.messages_sent += MCP_SENT == type;
    mcp_post_event(board, port, &event);
}

/* ---- to a port of this NIC ---- */

/* Delivers a message to a port of this NIC. Returns false if the message has to wait, for example
 * for a receive token. */
static bool deliver_locally(struct mcp_nic *nic, struct mcp_board *board,
                            struct mcp_sending *sending)
{
    struct mcp_port *to = &mcp_ports(nic)[sending->to_port];
    struct mcp_receive_token token;
    if (0 == to->key || to->key != sending->to_key) {
        return false;
    }
    switch (mcp_take_token(nic, board, to, sending->bytes, &token)) {
    case 0:
        break;
    case MCP_TOO_LONG:
        mcp_sending_done(nic, board, sending, MCP_FAILED, MCP_FAILED_TOO_LONG);
        return true;
    default:
        return false;
    }
    __builtin_memmove(mcp_at(board, token.memory), mcp_at(board, sending->memory), sending->bytes);
    const struct mcp_event event = {
        .type = MCP_RECEIVED,
        .from_port = sending->port,
        .what = token.memory,
        .bytes = sending->bytes,
        .from_nic = nic->key,
    };
    mcp_post_event(board, to, &event);
    ++nic->counters.messages_received;
    ++nic->counters.messages_local;
    mcp_sending_done(nic, board, sending, MCP_SENT, 0);
    return true;
}

/* Returns a message to the same port that is already queued on this list, and that this message
 * must not overtake, or NULL. */
static const struct mcp_sending *find_predecessor(struct mcp_board *board,
                                                  const struct mcp_queue *queue,
                                                  const struct mcp_sending *sending)
{
    const struct mcp_sending *other = mcp_sending_at(board, queue->first);
    while (NULL != other && !mcp_is_for_port(other, sending->to_port, sending->to_key)) {
        other = mcp_sending_at(board, other->next);
    }
    return other;
}

static void queue_locally(struct mcp_nic *nic, struct mcp_board *board, struct mcp_sending *sending)
{
    struct mcp_queue *waiting = &mcp_ports(nic)[sending->to_port].waiting;
    if (NULL != find_predecessor(board, waiting, sending) ||
        !deliver_locally(nic, board, sending)) {
        sending->state = MCP_WAITING;
        mcp_enqueue(board, waiting, sending);
    }
}

void mcp_deliver_waiting(struct mcp_nic *nic, struct mcp_board *board, uint32_t number)
{
    const struct mcp_port *port = &mcp_ports(nic)[number];
    struct mcp_queue waiting = port->waiting;
    mcp_ports(nic)[number].waiting = (struct mcp_queue){0, 0};
    bool blocked = false;
    while (0 != waiting.first) {
        struct mcp_sending *sending = mcp_at(board, waiting.first);
        waiting.first = sending->next;
        const bool meant = 0 != port->key && sending->to_key == port->key;
        if (!meant || blocked || !deliver_locally(nic, board, sending)) {
            blocked = blocked || meant;
            mcp_enqueue(board, &mcp_ports(nic)[number].waiting, sending);
        }
    }
}

/* ---- to a port of another NIC ---- */

static void queue_on_connection(struct mcp_nic *nic, struct mcp_board *board,
                                struct mcp_sending *sending)
{
    struct mcp_connection *c = mcp_connection_at(nic, sending->connection);
    if (NULL == c || 0 != c->departure) {
        sending->state = MCP_STRANDED;
        return;
    }
    const struct mcp_sending *other = find_predecessor(board, &c->aside, sending);
    if (NULL != other) {
        sending->state = MCP_ASIDE;
        sending->refused_why = other->refused_why;
        mcp_enqueue(board, &c->aside, sending);
    } else {
        mcp_queue_message(board, c, sending);
        mcp_send_packets(nic, board, c);
    }
}

/* ---- tokens ---- */

static bool is_valid_message(struct mcp_nic *nic, const struct mcp_board *board,
                             const struct mcp_sending *sending)
{
    if (0 != sending->bytes && !mcp_in_memory(board, sending->memory, sending->bytes)) {
        return false;
    }
    return MCP_SAME_NIC == sending->connection
               ? sending->to_port < nic->messages.nports
               : mcp_index_of(sending->connection) < nic->messages.connections;
}

/* Consumes the next send token; returns false if there is none. The host may modify the slot at any
 * time, so only a copy of the token is validated and used. */
static bool take_token(struct mcp_port *port, struct mcp_rings *rings, struct mcp_send_token *token)
{
    const struct mcp_send_token *slot = mcp_send_slot(port, rings, port->sends);
    if (myr_load_acquire(&slot->sequence) != port->sends + 1) {
        return false;
    }
    ++port->sends;
    token->token = slot->token;
    token->memory = slot->memory;
    token->bytes = slot->bytes;
    token->connection = slot->connection;
    token->to_key = slot->to_key;
    token->to_port = slot->to_port;
    return true;
}

static void start_message(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port,
                          struct mcp_rings *rings, const struct mcp_send_token *token)
{
    struct mcp_sending *sending = &mcp_sendings(port, rings)[token->token];
    *sending = (struct mcp_sending){
        .port = (uint16_t)(port - mcp_ports(nic)),
        .to_port = token->to_port,
        .token = token->token,
        .memory = token->memory,
        .bytes = token->bytes,
        .connection = token->connection,
        .to_key = token->to_key,
    };
    ++port->under_way;
    if (!is_valid_message(nic, board, sending)) {
        ++nic->counters.bad_tokens;
        mcp_sending_done(nic, board, sending, MCP_FAILED, MCP_FAILED_BAD_TOKEN);
    } else if (MCP_SAME_NIC == sending->connection) {
        queue_locally(nic, board, sending);
    } else {
        queue_on_connection(nic, board, sending);
    }
}

void mcp_messages_sdma(struct mcp_nic *nic, struct mcp_board *board, uint32_t number)
{
    struct mcp_port *port = mcp_port_at(nic, number);
    if (NULL == port || 0 == port->key) {
        return;
    }
    struct mcp_rings *rings = mcp_at(board, port->rings);
    struct mcp_send_token token;
    for (uint32_t i = 0; i < port->send_slots && take_token(port, rings, &token); ++i) {
        if (token.token < port->send_tokens &&
            MCP_IDLE == mcp_sendings(port, rings)[token.token].state) {
            start_message(nic, board, port, rings, &token);
        } else {
            ++nic->counters.bad_tokens;
        }
    }
}
