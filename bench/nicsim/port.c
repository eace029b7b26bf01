/* SPDX-License-Identifier: BSD-3-Clause */
/* The port of a simulated host; see port.h. */
#include "bench/nicsim/port.h"

#include <stdlib.h>

size_t nicsim_port_ring_bytes(uint32_t sends, uint32_t receives)
{
    struct mcp_port shape;
    size_t bytes = 0;
    (void)mcp_port_shape(&shape, sends, receives, &bytes);
    return bytes;
}

/* Returns the bytes of memory for one buffer per receive token, and one that all sends share. */
static size_t buffer_bytes(uint32_t receives, uint32_t bytes_most)
{
    return ((size_t)receives + 1) * bytes_most;
}

size_t nicsim_port_bytes(uint32_t sends, uint32_t receives, uint32_t bytes_most)
{
    return nicsim_port_ring_bytes(sends, receives) + buffer_bytes(receives, bytes_most) +
           (size_t)4 * MYR_LINE;
}

static void provide(struct nicsim_port *port, mcp_offset memory)
{
    const uint32_t number = port->provides++;
    struct mcp_receive_token *slot = mcp_receive_slot(&port->shape, port->rings, number);
    slot->memory = memory;
    slot->bytes = port->bytes_most;
    myr_store_release(&slot->sequence, number + 1);
}

bool nicsim_port_open(struct nicsim_port *port, struct sim_node *node, uint32_t sends,
                      uint32_t receives, uint32_t bytes_most, struct nicsim_message_us costs)
{
    size_t bytes = 0;
    *port = (struct nicsim_port){.bytes_most = bytes_most, .costs = costs};
    if (!mcp_port_shape(&port->shape, sends, receives, &bytes)) {
        return false;
    }
    port->rings = sim_memory(node, bytes);
    uint8_t *buffers = sim_memory(node, buffer_bytes(receives, bytes_most));
    port->free_token = calloc(sends, sizeof(*port->free_token));
    if (NULL == port->rings || NULL == buffers || NULL == port->free_token) {
        return false;
    }
    const struct mcp_port_wish wish = {
        .key = node->number + 1,
        .rings = mcp_offset_of(&node->board, port->rings),
        .send_tokens = sends,
        .receive_tokens = receives,
    };
    (void)mcp_port_open(node->mcp, &node->board, &wish);
    for (uint32_t r = 0; r < receives; ++r) {
        provide(port, mcp_offset_of(&node->board, buffers + (size_t)r * bytes_most));
    }
    port->payload = mcp_offset_of(&node->board, buffers + (size_t)receives * bytes_most);
    for (uint32_t t = sends; t > 0; --t) {
        port->free_token[port->free_tokens++] = t - 1;
    }
    return true;
}

void nicsim_port_free(struct nicsim_port *port)
{
    free(port->free_token);
}

uint32_t nicsim_port_connect(struct sim_node *node, uint32_t to)
{
    return mcp_connect(node->mcp, &node->board, sim_key(to), sim_link(to),
                       (uint32_t)node->machine->parameters.mtu, NULL);
}

bool nicsim_port_send(struct nicsim_port *port, struct sim_node *node, uint32_t to,
                      uint32_t connection, uint32_t bytes)
{
    if (0 == port->free_tokens) {
        return false;
    }
    const uint32_t number = port->sends++;
    struct mcp_send_token *slot = mcp_send_slot(&port->shape, port->rings, number);
    sim_host_spend(node, port->costs.send);
    sim_host_copy(node, bytes);
    slot->token = port->free_token[--port->free_tokens];
    slot->memory = port->payload;
    slot->bytes = bytes;
    slot->connection = connection;
    slot->to_key = to + 1;
    slot->to_port = 0;
    sim_host_sends(node, slot, number + 1);
    return true;
}

bool nicsim_port_take(struct nicsim_port *port, struct sim_node *node, uint32_t *from)
{
    const struct mcp_event *event = mcp_event_slot(&port->shape, port->rings, port->events++);
    if (MCP_RECEIVED != event->type) {
        sim_host_spend(node, node->machine->parameters.host_return_us);
        port->free_token[port->free_tokens++] = event->what;
        return false;
    }
    sim_host_spend(node, port->costs.receive);
    provide(port, event->what);
    if (0 != myr_load_seq_cst(&port->rings->hungry)) {
        sim_host_provides(node);
    }
    *from = (uint32_t)(event->from_nic - 1);
    return true;
}
