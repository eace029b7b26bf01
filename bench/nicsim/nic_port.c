/* SPDX-License-Identifier: BSD-3-Clause */
/* The port of a simulated NIC; see nic_port.h. */
#include "bench/nicsim/nic_port.h"

#include <stdlib.h>
#include <string.h>

#include "libmyr/messages/pace.h"
#include "libmyr/node/segment.h"

/* An outstanding send. */
struct sent {
    myr_sent_fn callback;
    void *context, *buffer;
};

struct myr_port {
    struct sim_node *node;
    struct mcp_port shape;
    struct mcp_rings *rings;
    uint32_t sends, provides, events; /* numbers of tokens written, and of events read */
    uint32_t free_tokens;
    uint32_t *free_token; /* stack of the numbers of free tokens */
    struct sent *sent;    /* by token */
};

size_t nicsim_nic_port_bytes(uint32_t sends, uint32_t receives, size_t buffers)
{
    struct mcp_port shape;
    size_t bytes = 0;
    (void)mcp_port_shape(&shape, sends, receives, &bytes);
    return bytes + buffers + (size_t)2 * MYR_LINE;
}

enum myr_status myr_port_open(struct myr_soft_nic *nic, const struct myr_port_options *options,
                              struct myr_port **opened, struct myr_error *error)
{
    struct sim_node *node = nic->node;
    const uint32_t sends = options->send_tokens;
    struct myr_port *port = calloc(1, sizeof(*port));
    size_t bytes = 0;
    if (NULL == port) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    port->node = node;
    port->free_token = calloc(sends, sizeof(*port->free_token));
    port->sent = calloc(sends, sizeof(*port->sent));
    if (mcp_port_shape(&port->shape, sends, options->receive_tokens, &bytes)) {
        port->rings = sim_memory(node, bytes);
    }
    if (NULL == port->free_token || NULL == port->sent || NULL == port->rings) {
        myr_port_close(port);
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    const struct mcp_port_wish wish = {
        .key = node->number + 1,
        .rings = mcp_offset_of(&node->board, port->rings),
        .send_tokens = sends,
        .receive_tokens = options->receive_tokens,
    };
    (void)mcp_port_open(node->mcp, &node->board, &wish);
    for (uint32_t t = sends; t > 0; --t) {
        port->free_token[port->free_tokens++] = t - 1;
    }
    *opened = port;
    return MYR_OK;
}

void myr_port_close(struct myr_port *port)
{
    free(port->free_token);
    free(port->sent);
    free(port);
}

/* Gets the NIC's name. The key of a simulated NIC contains its node's number, see sim_key(). */
void myr_port_get_name(const struct myr_port *port, struct myr_port_name *name)
{
    name->nic.key = sim_key(port->node->number);
    name->key = port->node->number + 1;
}

void *myr_port_alloc(struct myr_port *port, size_t bytes)
{
    return sim_memory(port->node, bytes);
}

void myr_port_forget(struct myr_port *port, void *memory)
{
    (void)port, (void)memory; /* it is freed with the node */
}

enum myr_status myr_port_connect(struct myr_port *port, const struct myr_port_name *name,
                                 struct myr_remote *remote, struct myr_error *error)
{
    struct sim_node *node = port->node;
    *remote = (struct myr_remote){.key = name->key};
    remote->connection =
        mcp_connect(node->mcp, &node->board, name->nic.key, sim_link(name->key - 1),
                    (uint32_t)node->machine->parameters.mtu, NULL);
    return MCP_NO_CONNECTION != remote->connection
               ? MYR_OK
               : myr_fail(error, MYR_ERR_FULL, 0,
                          "the NIC has no memory left for another connection");
}

enum myr_status myr_port_send(struct myr_port *port, const struct myr_remote *to,
                              const void *buffer, size_t bytes, myr_sent_fn callback, void *context)
{
    struct sim_node *node = port->node;
    if (0 == port->free_tokens) {
        return MYR_ERR_FULL;
    }
    const uint32_t number = port->sends++, token = port->free_token[--port->free_tokens];
    struct mcp_send_token *slot = mcp_send_slot(&port->shape, port->rings, number);
    port->sent[token] = (struct sent){callback, context, (void *)(uintptr_t)buffer};
    slot->token = token;
    slot->memory = mcp_offset_of(&node->board, buffer);
    slot->bytes = (uint32_t)bytes;
    slot->connection = to->connection;
    slot->to_key = to->key;
    slot->to_port = to->number;
    myr_store_release(&slot->sequence, number + 1);
    mcp_messages_sdma(node->mcp, &node->board, 0);
    return MYR_OK;
}

enum myr_status myr_port_provide(struct myr_port *port, void *buffer, size_t bytes)
{
    struct sim_node *node = port->node;
    const uint32_t number = port->provides++;
    struct mcp_receive_token *slot = mcp_receive_slot(&port->shape, port->rings, number);
    slot->memory = mcp_offset_of(&node->board, buffer);
    slot->bytes = (uint32_t)bytes;
    myr_store_release(&slot->sequence, number + 1);
    if (0 != myr_load_seq_cst(&port->rings->hungry)) {
        mcp_messages_provided(node->mcp, &node->board, 0);
    }
    return MYR_OK;
}

static const struct mcp_event *next_event(struct myr_port *port)
{
    const struct mcp_event *event = mcp_event_slot(&port->shape, port->rings, port->events);
    if (port->events + 1 != myr_load_relaxed(&event->sequence)) {
        return NULL;
    }
    ++port->events;
    return event;
}

static void give_back(struct myr_port *port, uint32_t token, enum myr_status status)
{
    const struct sent *sent = &port->sent[token];
    port->free_token[port->free_tokens++] = token;
    sent->callback(port, sent->context, sent->buffer, status);
}

bool myr_port_check(struct myr_port *port, struct myr_received *received)
{
    const struct mcp_event *event;
    while (NULL != (event = next_event(port))) {
        if (MCP_RECEIVED == event->type) {
            *received = (struct myr_received){
                .buffer = mcp_at(&port->node->board, event->what),
                .bytes = event->bytes,
                .from_nic = event->from_nic,
            };
            return true;
        }
        give_back(port, event->what, MCP_SENT == event->type ? MYR_OK : MYR_ERR_TOO_LONG);
    }
    return false;
}

/* ---- stubs of what a simulated NIC does not need ---- */

/* Returns an empty intake, because there are no sends within the node that bypass the NIC. */
struct myr_intake myr_port_intake(const struct myr_port *port)
{
    (void)port;
    return (struct myr_intake){0};
}

/* Returns NULL, because no other process maps the NIC's memory. */
struct myr_segment *myr_soft_segment(const struct myr_soft_nic *nic)
{
    (void)nic;
    return NULL;
}

uint8_t *myr_segment_base(const struct myr_segment *segment)
{
    (void)segment;
    return NULL;
}

size_t myr_segment_size(const struct myr_segment *segment)
{
    (void)segment;
    return 0;
}

/* Returns false, because the simulation does not report unresponsive peers. */
bool myr_port_unresponsive(struct myr_port *port, uint32_t who, uint32_t least_s,
                           struct myr_unresponsive *unresponsive)
{
    (void)port;
    (void)who;
    (void)least_s;
    (void)unresponsive;
    return false;
}

void myr_port_met_other_job(struct myr_port *port)
{
    (void)port;
}

bool myr_port_undeliverable(struct myr_port *port, const struct myr_remote *to, uint32_t least_s)
{
    (void)port;
    (void)to;
    (void)least_s;
    return false;
}

/* Does nothing, because the board notifies the NIC of each packet, so nothing is polled. */
void myr_pace_expect(struct myr_pace *pace)
{
    (void)pace;
}

uint32_t myr_pace_poll(struct myr_pace *pace, struct myr_soft_nic *nic)
{
    (void)pace;
    (void)nic;
    return 0;
}

bool myr_pace_broken(const struct myr_pace *pace, struct myr_soft_nic *nic)
{
    (void)pace;
    (void)nic;
    return false;
}
