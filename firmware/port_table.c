/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes ports; see messages.h. */
#include "firmware/connection.h"

bool mcp_port_shape(struct mcp_port *port, uint32_t send_tokens, uint32_t receive_tokens,
                    size_t *bytes)
{
    if (0 == send_tokens || send_tokens > MCP_TOKENS_MOST || 0 == receive_tokens ||
        receive_tokens > MCP_TOKENS_MOST) {
        return false;
    }
    port->send_tokens = send_tokens;
    port->send_slots = mcp_slots(send_tokens);
    port->receive_slots = mcp_slots(receive_tokens);
    port->event_slots = mcp_slots(send_tokens + receive_tokens);
    *bytes = sizeof(struct mcp_rings) + port->send_slots * sizeof(struct mcp_send_token) +
             port->event_slots * sizeof(struct mcp_event) +
             2 * (size_t)port->receive_slots * sizeof(struct mcp_receive_token) +
             send_tokens * sizeof(struct mcp_sending);
    return true;
}

struct mcp_port *mcp_port_at(struct mcp_nic *nic, uint32_t number)
{
    return number < nic->messages.nports ? &mcp_ports(nic)[number] : NULL;
}

static uint32_t free_number(struct mcp_nic *nic)
{
    uint32_t number = 0;
    while (number < nic->messages.nports && 0 != mcp_ports(nic)[number].key) {
        ++number;
    }
    return number;
}

uint32_t mcp_port_open(struct mcp_nic *nic, struct mcp_board *board,
                       const struct mcp_port_wish *wish)
{
    const uint32_t number = MCP_ANY_PORT == wish->number ? free_number(nic) : wish->number;
    struct mcp_port *port = mcp_port_at(nic, number);
    struct mcp_port opened = {
        .key = wish->key,
        .owner = wish->owner,
        .rings = wish->rings,
    };
    size_t bytes;
    if (NULL == port || 0 != port->key || 0 == wish->key ||
        !mcp_port_shape(&opened, wish->send_tokens, wish->receive_tokens, &bytes) ||
        !mcp_in_memory(board, wish->rings, (uint32_t)bytes)) {
        return MCP_NO_PORT;
    }
    /* The list of waiting messages may still contain messages to a previous port with the same
     * number. These stay there until their sender cancels them or closes its own port. */
    opened.waiting = port->waiting;
    *port = opened;
    return number;
}

static void cut_messages(struct mcp_nic *nic, struct mcp_board *board, struct mcp_port *port)
{
    struct mcp_sending *sending = mcp_sendings(port, mcp_at(board, port->rings));
    for (uint32_t token = 0; token < port->send_tokens; ++token, ++sending) {
        if (MCP_WAITING == sending->state) {
            mcp_unqueue(board, &mcp_ports(nic)[sending->to_port].waiting, sending);
        } else if (MCP_QUEUED == sending->state || MCP_ASIDE == sending->state) {
            mcp_cancel_message(board, mcp_connection_of(nic, sending), sending);
        }
        sending->state = MCP_IDLE;
    }
}

void mcp_port_close(struct mcp_nic *nic, struct mcp_board *board, uint32_t number)
{
    struct mcp_port *port = mcp_port_at(nic, number);
    if (NULL == port || 0 == port->key) {
        return;
    }
    cut_messages(nic, board, port);
    *port = (struct mcp_port){.waiting = port->waiting};
    for (uint32_t i = 0; i < nic->messages.connections; ++i) {
        struct mcp_connection *c = &mcp_connections(nic)[i];
        if (number + 1 == c->incoming.port) {
            c->incoming.port = 0; /* the buffer belongs to the host again */
        }
        /* Void packets, and messages that were queued behind messages of this port, can be sent
         * now. */
        mcp_send_packets(nic, board, c);
    }
}
