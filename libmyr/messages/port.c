/* SPDX-License-Identifier: BSD-3-Clause */
/* The host side of a port: opening, memory, messages; see port.h, and firmware/port.h for the part
 * that it shares with the NIC.
 *
 * Invariants: a send token is free, or its number is in the send ring, at the NIC, or in an event
 * that has not been consumed. The same applies to receive tokens and their ring. Since the rings
 * have as many entries as there are tokens, they are never full when a process puts a token or the
 * NIC puts an event into them. All registered memory of a port is in one list in shared memory, so
 * that other processes can free it after the process of the port has died. */
#include "libmyr/messages/port_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libmyr/seal.h"
#include "libmyr/soft/nic_thread.h"
#include "os/random.h"

enum {
    TOKENS = 64,                /* default number of tokens of each kind */
    INLETS_RECORD = 0x696e6c74, /* scope of a record's key: "inlt": inlets by port number */
    INLETS_MEMBERS = UINT32_MAX /* never left, so that it exists as long as the segment */
};

static uint32_t offset_of(const uint8_t *base, const void *memory)
{
    return (uint32_t)((const uint8_t *)memory - base);
}

/* ---- open and close ---- */

/* Closes the inlet of the port. The memory remains an inlet; see myr_inlet_open(). The inlet must
 * be closed before the port, because afterwards the port's number, and with it the inlet, may
 * belong to another port. */
static void close_inlet(struct myr_segment *segment, const struct mcp_rings *rings)
{
    struct myr_inlet *inlet = myr_port_inlet(segment, rings);
    if (NULL != inlet) {
        myr_inlet_close(inlet);
    }
}

/* Returns an inlet for the port, or NULL if there is no memory. The inlet of the previous port with
 * the same number is reused, unless a sender may still write into it. There are therefore as many
 * inlets as there ever were open ports at the same time, plus one for each inlet whose sender was
 * stopped or killed while it wrote. */
static struct myr_inlet *open_inlet(const struct myr_port *port, uint32_t ports,
                                    struct myr_error *error)
{
    const struct myr_key key = {.scope = INLETS_RECORD};
    struct myr_record *record =
        myr_record_join(port->segment, &key, INLETS_MEMBERS, ports * sizeof(uint32_t), 0, error);
    if (NULL == record) {
        return NULL;
    }
    uint32_t *offset = &((uint32_t *)record->slots)[port->number];
    if (0 != *offset) {
        struct myr_inlet *former = (struct myr_inlet *)(port->base + *offset);
        if (myr_inlet_open(former, port->key)) {
            return former;
        }
    }
    struct myr_inlet *made = myr_segment_alloc(port->segment, sizeof(*made));
    if (NULL == made) {
        (void)myr_fail(error, MYR_ERR_FULL, 0, "cannot allocate shared memory for a port's inlet");
        return NULL;
    }
    memset(made, 0, sizeof(*made));
    *offset = offset_of(port->base, made);
    (void)myr_inlet_open(made, port->key);
    return made;
}

static void discard_port(struct myr_port *port)
{
    myr_segment_free(port->segment, port->rings);
    free(port->free_send);
    free(port->sent);
    free(port);
}

/* Allocates a port's memory, in this process and in the segment. */
static enum myr_status allocate_port_memory(struct myr_port *port, const struct mcp_port_wish *wish,
                                            struct myr_error *error)
{
    size_t bytes;
    if (!mcp_port_shape(&port->shape, wish->send_tokens, wish->receive_tokens, &bytes)) {
        return myr_fail(error, MYR_ERR_FULL, 0,
                        "a port has at most %d send tokens and as many receive tokens",
                        (int)MCP_TOKENS_MOST);
    }
    port->free_send = calloc(wish->send_tokens, sizeof(*port->free_send));
    port->sent = calloc(wish->send_tokens, sizeof(*port->sent));
    if (NULL == port->free_send || NULL == port->sent) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    port->rings = myr_segment_alloc(port->segment, bytes);
    if (NULL == port->rings) {
        return myr_fail(error, MYR_ERR_FULL, 0,
                        "cannot allocate %zu KiB of shared memory for a port", bytes >> 10);
    }
    memset(port->rings, 0, bytes);
    for (uint32_t token = wish->send_tokens; token > 0; --token) {
        port->free_send[port->free_sends++] = token - 1;
    }
    port->free_receives = wish->receive_tokens;
    return MYR_OK;
}

/* Closes the port on the NIC, which no longer uses its rings afterwards. Returns false if the lock
 * of the NIC could not be taken, because a process that ran the NIC was stopped. When that process
 * continues, it may still use the rings, so their memory must not be freed. */
static bool close_on_nic(const struct myr_port *port)
{
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    if (NULL != nic) {
        mcp_port_close(nic, board, port->number);
    }
    const bool entered = myr_soft_entered(port->nic);
    myr_soft_leave(port->nic);
    return entered;
}

static enum myr_status open_on_nic(struct myr_port *port, struct mcp_port_wish *wish, bool inlet,
                                   struct myr_error *error)
{
    const enum myr_status status = allocate_port_memory(port, wish, error);
    if (MYR_OK != status) {
        return status;
    }
    if (!os_draw_key(&wish->key, sizeof(wish->key))) {
        return myr_fail(error, MYR_ERR_SYSTEM, errno,
                        "cannot get random numbers for the port's key");
    }
    wish->rings = offset_of(port->base, port->rings);
    myr_key_pair_of(port->segment, &port->pair);
    myr_soft_expect_messages(port->nic);
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    const bool signs = NULL != nic && nic->messages.known_only,
               able = !signs || myr_port_has_keys(port);
    port->number = NULL == nic || !able ? MCP_NO_PORT : mcp_port_open(nic, board, wish);
    const uint32_t ports = NULL == nic ? 0 : nic->messages.nports;
    myr_soft_leave(port->nic);
    if (NULL == nic) {
        return myr_soft_is_broken(port->nic, error);
    }
    if (!able) {
        return myr_fail(error, MYR_ERR_NOT_THERE, 0,
                        "the node's NIC signs messages, which takes libsodium, and this process's "
                        "nicbarr was built without it");
    }
    if (!signs) {
        memset(&port->pair, 0, sizeof(port->pair));
    }
    if (MCP_NO_PORT == port->number) {
        return MCP_ANY_PORT == wish->number
                   ? myr_fail(error, MYR_ERR_FULL, 0, "all %u ports of the NIC are open", ports)
                   : myr_fail(error, MYR_ERR_FULL, 0,
                              "port %u is already open, or there is no such port (0 to %u)",
                              wish->number, ports - 1);
    }
    port->key = wish->key;
    if (inlet) {
        const struct myr_inlet *made = open_inlet(port, ports, error);
        if (NULL == made) {
            if (!close_on_nic(port)) {
                port->rings = NULL;
            }
            return MYR_ERR_FULL;
        }
        port->rings->inlet = offset_of(port->base, made);
    }
    return MYR_OK;
}

enum myr_status myr_port_open(struct myr_soft_nic *nic, const struct myr_port_options *options,
                              struct myr_port **port, struct myr_error *error)
{
    struct mcp_port_wish wish = {
        .number = options->number,
        .owner = (uint32_t)getpid(),
        .send_tokens = 0 != options->send_tokens ? options->send_tokens : TOKENS,
        .receive_tokens = 0 != options->receive_tokens ? options->receive_tokens : TOKENS,
    };
    struct myr_port *opening = calloc(1, sizeof(*opening));
    if (NULL == opening) {
        return myr_fail(error, MYR_ERR_OUT_OF_MEMORY, 0, "out of memory");
    }
    opening->nic = nic;
    opening->segment = myr_soft_segment(nic);
    opening->base = myr_segment_base(opening->segment);
    opening->watched = options->watch;
    const enum myr_status status = open_on_nic(opening, &wish, options->inlet, error);
    if (MYR_OK != status) {
        discard_port(opening);
        return status;
    }
    *port = opening;
    return MYR_OK;
}

/* Frees all memory of a closed port. */
static void free_blocks(struct myr_segment *segment, const struct mcp_rings *rings)
{
    uint8_t *base = myr_segment_base(segment);
    for (uint32_t offset = rings->blocks; 0 != offset;) {
        void *memory = base + offset;
        offset = myr_segment_links(memory)->next;
        myr_segment_free(segment, memory);
    }
}

void myr_port_close(struct myr_port *port)
{
    myr_soft_watch_stop(port->watch);
    close_inlet(port->segment, port->rings);
    if (close_on_nic(port)) {
        free_blocks(port->segment, port->rings);
    } else {
        port->rings = NULL;
    }
    discard_port(port);
}

/* Closes the next port of the dead process with this PID. Returns its rings, or NULL if there is
 * none. */
static struct mcp_rings *reap_next_port(struct myr_soft_nic *outer, uint32_t process)
{
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(outer, &board);
    uint32_t offset = 0;
    const uint32_t ports = NULL == nic ? 0 : nic->messages.nports;
    for (uint32_t number = 0; 0 == offset && number < ports; ++number) {
        const struct mcp_port *port = mcp_port_at(nic, number);
        if (0 != port->key && process == port->owner) {
            offset = port->rings;
            close_inlet(myr_soft_segment(outer), mcp_at(board, offset));
            mcp_port_close(nic, board, number);
        }
    }
    myr_soft_leave(outer);
    uint8_t *base = myr_segment_base(myr_soft_segment(outer));
    return 0 == offset ? NULL : (struct mcp_rings *)(base + offset);
}

uint32_t myr_ports_reap(struct myr_soft_nic *nic, uint32_t process)
{
    struct myr_segment *segment = myr_soft_segment(nic);
    struct mcp_rings *rings;
    uint32_t reaped = 0;
    while (NULL != (rings = reap_next_port(nic, process))) {
        free_blocks(segment, rings);
        myr_segment_free(segment, rings);
        ++reaped;
    }
    return reaped;
}

void myr_port_get_name(const struct myr_port *port, struct myr_port_name *name)
{
    memset(name, 0, sizeof(*name));
    myr_soft_get_name(port->nic, &name->nic);
    name->number = (uint16_t)port->number;
    name->key = port->key;
    name->public = port->pair.public;
}

/* ---- registered memory ---- */

static struct myr_links *links_at(const struct myr_port *port, uint32_t offset)
{
    return myr_segment_links(port->base + offset);
}

void *myr_port_alloc(struct myr_port *port, size_t bytes)
{
    void *memory = myr_segment_alloc(port->segment, bytes);
    if (NULL != memory) {
        const uint32_t offset = offset_of(port->base, memory), first = port->rings->blocks;
        *myr_segment_links(memory) = (struct myr_links){.next = first};
        if (0 != first) {
            links_at(port, first)->before = offset;
        }
        port->rings->blocks = offset;
    }
    return memory;
}

void myr_port_forget(struct myr_port *port, void *memory)
{
    const struct myr_links links = *myr_segment_links(memory);
    if (0 != links.before) {
        links_at(port, links.before)->next = links.next;
    } else {
        port->rings->blocks = links.next;
    }
    if (0 != links.next) {
        links_at(port, links.next)->before = links.before;
    }
}

void myr_port_free(struct myr_port *port, void *memory)
{
    if (NULL != memory) {
        myr_port_forget(port, memory);
        myr_segment_free(port->segment, memory);
    }
}

/* ---- send and provide ---- */

struct myr_intake myr_port_intake(const struct myr_port *port)
{
    struct myr_inlet *inlet = myr_port_inlet(port->segment, port->rings);
    if (NULL == inlet) {
        return (struct myr_intake){.inlet = NULL};
    }
    return myr_intake_of(inlet);
}

uint32_t myr_port_send_tokens(const struct myr_port *port)
{
    return port->free_sends;
}

uint32_t myr_port_receive_tokens(const struct myr_port *port)
{
    return port->free_receives;
}

static void ring_send(struct myr_port *port)
{
    struct mcp_board *board;
    struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
    if (NULL != nic) {
        mcp_messages_sdma(nic, board, port->number);
    }
    myr_soft_leave(port->nic);
}

enum myr_status myr_port_send(struct myr_port *port, const struct myr_remote *to,
                              const void *buffer, size_t bytes, myr_sent_fn callback, void *context)
{
    if (0 == port->free_sends) {
        return MYR_ERR_FULL;
    }
    if (!myr_port_registered(port, buffer, bytes)) {
        return MYR_ERR_UNREGISTERED;
    }
    const uint32_t token = port->free_send[--port->free_sends];
    port->sent[token] = (struct myr_port_sent){callback, context, (void *)buffer};
    struct mcp_send_token *slot = mcp_send_slot(&port->shape, port->rings, port->sends);
    slot->token = token;
    slot->memory = offset_of(port->base, buffer);
    slot->bytes = (uint32_t)bytes;
    slot->connection = to->connection;
    slot->to_key = to->key;
    slot->to_port = to->number;
    myr_store_release(&slot->sequence, ++port->sends);
    ring_send(port);
    return MYR_OK;
}

enum myr_status myr_port_provide(struct myr_port *port, void *buffer, size_t bytes)
{
    if (0 == port->free_receives) {
        return MYR_ERR_FULL;
    }
    if (!myr_port_registered(port, buffer, bytes)) {
        return MYR_ERR_UNREGISTERED;
    }
    --port->free_receives;
    struct mcp_receive_token *slot = mcp_receive_slot(&port->shape, port->rings, port->provides);
    slot->memory = offset_of(port->base, buffer);
    slot->bytes = (uint32_t)bytes;
    myr_store_seq_cst(&slot->sequence, ++port->provides);
    if (0 != myr_load_seq_cst(&port->rings->hungry)) {
        struct mcp_board *board;
        struct mcp_nic *nic = myr_soft_enter(port->nic, &board);
        if (NULL != nic) {
            mcp_messages_provided(nic, board, port->number);
        }
        myr_soft_leave(port->nic);
    }
    return MYR_OK;
}

/* ---- events ---- */

static enum myr_status status_of(const struct mcp_event *event)
{
    if (MCP_SENT == event->type) {
        return MYR_OK;
    }
    return MCP_FAILED_TOO_LONG == event->why ? MYR_ERR_TOO_LONG : MYR_ERR_UNREGISTERED;
}

static void complete_send(struct myr_port *port, const struct mcp_event *event)
{
    const uint32_t token = event->what;
    const struct myr_port_sent sent = port->sent[token];
    const enum myr_status status = status_of(event);
    port->free_send[port->free_sends++] = token;
    if (NULL != sent.callback) {
        sent.callback(port, sent.context, sent.buffer, status);
    }
}

/* Returns the next event. It remains in the ring until its token is used again. */
static const struct mcp_event *next_event(struct myr_port *port)
{
    const struct mcp_event *event = mcp_event_slot(&port->shape, port->rings, port->events);
    if (myr_load_acquire(&event->sequence) != port->events + 1) {
        return NULL;
    }
    ++port->events;
    return event;
}

bool myr_port_check(struct myr_port *port, struct myr_received *received)
{
    const struct mcp_event *event;
    while (NULL != (event = next_event(port))) {
        if (MCP_RECEIVED == event->type || MCP_UNFIT == event->type) {
            ++port->free_receives;
        }
        if (MCP_RECEIVED == event->type) {
            *received = (struct myr_received){
                .buffer = port->base + event->what,
                .bytes = event->bytes,
                .from_port = event->from_port,
                .from_nic = event->from_nic,
            };
            return true;
        }
        if (MCP_UNFIT != event->type) {
            complete_send(port, event);
        }
    }
    return false;
}

bool myr_port_receive(struct myr_port *port, struct myr_received *received)
{
    if (myr_port_check(port, received)) {
        return true;
    }
    myr_soft_poll(port->nic);
    return myr_port_check(port, received);
}
