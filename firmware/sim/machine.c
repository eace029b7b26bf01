/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated cluster: network, NICs and time; see machine.h. */
#include "firmware/sim/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "firmware/bcast.h"
#include "firmware/sim/machine_inside.h"

/* ---- queued work ---- */

enum { SMALL = 128 }; /* bytes; work for packets up to this size is recycled */

struct sim_work *sim_work_new(struct sim_machine *m, enum sim_work_kind kind, size_t bytes)
{
    struct sim_work *work = m->spare;
    if (NULL != work && bytes <= SMALL) {
        m->spare = work->next;
    } else {
        work = malloc(sizeof(*work) + (bytes < SMALL ? SMALL : bytes));
    }
    if (NULL == work) {
        m->exhausted = m->stopped = true;
        return NULL;
    }
    memset(work, 0, sizeof(*work));
    work->kind = kind;
    work->bytes = (uint32_t)bytes;
    return work;
}

void sim_work_free(struct sim_machine *m, struct sim_work *work)
{
    if (work->bytes <= SMALL) {
        work->next = m->spare;
        m->spare = work;
    } else {
        free(work);
    }
}

void sim_schedule(struct sim_machine *m, uint64_t at_ps, enum sim_event_kind kind, uint32_t node,
                  struct sim_work *work)
{
    if (!sim_events_put(&m->events, at_ps, kind, node, work)) {
        m->exhausted = m->stopped = true;
    }
}

/* ---- time ---- */

static uint64_t cycles_to_ps(const struct sim_machine *m, double cycles)
{
    return sim_ps(cycles / m->parameters.nic_mhz);
}

static void charge_cycles(struct sim_node *node, double n)
{
    node->cursor_ps += cycles_to_ps(node->machine, n);
}

/* Performs a DMA transfer that begins at `from_ps` at the earliest. Returns its end. */
static uint64_t transfer_by_dma(struct sim_node *node, uint64_t from_ps, size_t bytes)
{
    const struct sim_parameters *p = &node->machine->parameters;
    const uint64_t begin_ps = node->bus_free_ps > from_ps ? node->bus_free_ps : from_ps;
    node->bus_free_ps = begin_ps + sim_ps(p->dma_us + (double)bytes / p->dma_bytes_per_us);
    ++node->machine->tally.dmas;
    return node->bus_free_ps;
}

/* Transfers bytes between the NIC and host memory. Returns when the transfer ends. */
static uint64_t transfer_bytes(struct sim_node *node, size_t bytes)
{
    if (0 == bytes) {
        return node->cursor_ps;
    }
    charge_cycles(node, node->machine->parameters.cycles_dma);
    return transfer_by_dma(node, node->cursor_ps, bytes);
}

/* Transfers a payload, part of a message of `whole` bytes, to the NIC. Returns when the NIC has
 * it. */
static uint64_t fetch_payload(struct sim_node *node, size_t bytes, size_t whole)
{
    return transfer_bytes(node, sim_host_copies(node->machine, whole) ? 0 : bytes);
}

double sim_random(struct sim_machine *m)
{
    uint64_t z = m->random += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64, Steele et al. 2014 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

/* ---- the network ---- */

mcp_link sim_link(uint32_t node)
{
    return node + 1; /* link 0 is MCP_LINK_SENDER */
}

uint64_t sim_key(uint32_t node)
{
    return node + UINT64_C(1);
}

uint64_t sim_network_ps(const struct sim_machine *m, uint32_t from, uint32_t to)
{
    const struct sim_parameters *p = &m->parameters;
    uint32_t levels = 1;
    if (m->nnodes > (uint32_t)p->switch_ports) {
        const uint32_t down = (uint32_t)p->switch_ports / 2;
        for (uint32_t a = from / down, b = to / down; a != b; a /= down, b /= down) {
            ++levels;
        }
    }
    const uint32_t switches = 2 * levels - 1;
    return sim_ps(switches * p->switch_us + (switches + 1) * p->cable_us);
}

static struct sim_node *node_of(struct mcp_board *board)
{
    return (struct sim_node *)board;
}

static void send_packet(struct mcp_board *board, mcp_link to, const struct mcp_header *header,
                        const void *payload, size_t payload_bytes)
{
    struct sim_node *node = node_of(board);
    struct sim_machine *m = node->machine;
    const struct sim_parameters *p = &m->parameters;
    const size_t header_bytes = mcp_header_bytes(header->type);
    struct sim_work *work = sim_work_new(m, WORK_PACKET, header_bytes + payload_bytes);
    if (NULL == work) {
        return;
    }
    memcpy(work->packet, header, header_bytes);
    charge_cycles(node, p->cycles_turn);
    uint64_t ready_ps = node->cursor_ps;
    if (0 != payload_bytes) {
        memcpy(work->packet + header_bytes, payload, payload_bytes);
        if (NULL != m->above) {
            ready_ps = transfer_bytes(node, m->above->of_host(node, payload, payload_bytes, true));
        } else if (!mcp_is_collective(header->type)) { /* payloads of collectives are in the NIC */
            ready_ps = fetch_payload(node, payload_bytes, header->message.length);
        }
    }
    work->from = node->number;
    work->link_ps = sim_ps(((double)work->bytes + p->link_header_bytes) / p->link_bytes_per_us);
    const uint64_t leaves_ps = ready_ps > node->out_free_ps ? ready_ps : node->out_free_ps;
    node->out_free_ps = leaves_ps + work->link_ps;
    ++m->tally.sent;
    /* The control program leaves this counter to the board. */
    ++node->mcp->counters.packets_sent;
    m->tally.bytes += work->bytes;
    if (p->loss > 0 && sim_random(m) < p->loss) {
        ++m->tally.lost;
        sim_work_free(m, work);
        return;
    }
    const uint32_t there = MCP_LINK_SENDER == to ? node->sender : to - 1;
    sim_schedule(m, leaves_ps + sim_network_ps(m, node->number, there), EVENT_HEAD, there, work);
}

static mcp_link hold_sender(struct mcp_board *board)
{
    return sim_link(node_of(board)->sender);
}

/* Links are not refcounted here. */
static void release_link(struct mcp_board *board, mcp_link link)
{
    (void)board;
    (void)link;
}

/* ---- NIC to host ---- */

static void notify_host(struct sim_node *node, enum sim_notice notice, size_t bytes)
{
    struct sim_machine *m = node->machine;
    struct sim_work *work = sim_work_new(m, WORK_NOTICE, 0);
    if (NULL != work) {
        work->notice = notice;
        charge_cycles(node, m->parameters.cycles_turn);
        sim_schedule(m, transfer_by_dma(node, node->cursor_ps, bytes), EVENT_HOST, node->number,
                     work);
    }
}

static void wake_host(struct mcp_board *board, myr_word *word)
{
    struct sim_node *node = node_of(board);
    ++node->machine->tally.releases;
    if (NULL == node->broadcasts || word == &node->broadcasts->done) {
        notify_host(node, SIM_RELEASE, sizeof(*word));
    } else {
        const struct mcp_bcast_slot *slot = (const struct mcp_bcast_slot *)word;
        notify_host(node, SIM_BLOCK, sizeof(*word) + (node->is_root ? 0 : slot->bytes));
    }
}

static uint64_t now_ns(struct mcp_board *board)
{
    return node_of(board)->cursor_ps / 1000;
}

void sim_nic_notifies(struct sim_node *node)
{
    ++node->machine->tally.posts;
    notify_host(node, SIM_EVENT, sizeof(struct mcp_event));
}

static void report_events(struct sim_node *node)
{
    if (0 == node->mcp->messages.nports) {
        return;
    }
    const struct sim_above *above = node->machine->above;
    const struct mcp_port *port = mcp_port_at(node->mcp, 0);
    while (node->events_reported != port->events) {
        if (NULL != above) {
            node->events_reported = port->events;
            above->events(node);
        } else {
            ++node->events_reported;
            sim_nic_notifies(node);
        }
    }
}

/* ---- the NIC's processor ---- */

void sim_nic_spend(struct sim_node *node, double cycles)
{
    charge_cycles(node, cycles);
}

static void handle_bcast(struct sim_node *node, const struct sim_work *work)
{
    charge_cycles(node, node->machine->parameters.cycles_turn);
    node->cursor_ps = fetch_payload(node, work->length, work->length);
    node->is_root = true;
    (void)mcp_collective_bcast(&node->board, &node->mcp->counters, work->group, work->epoch,
                               work->block, work->length);
    node->is_root = false;
}

static void handle_packet(struct sim_node *node, const struct sim_work *work)
{
    struct sim_machine *m = node->machine;
    const struct sim_parameters *p = &m->parameters;
    struct mcp_header header;
    ++m->tally.received;
    charge_cycles(node, p->cycles_turn);
    if (mcp_parse(work->packet, work->bytes, &header) && mcp_is_collective(header.type)) {
        charge_cycles(node, p->cycles_engine);
    } else if (MCP_DATA == header.type) {
        const size_t bytes = work->bytes - MCP_MESSAGE_BYTES;
        (void)transfer_bytes(
            node, NULL == m->above
                      ? bytes
                      : m->above->of_host(node, work->packet + MCP_MESSAGE_BYTES, bytes, false));
    }
    node->sender = work->from;
    mcp_receive(node->mcp, &node->board, work->packet, work->bytes);
}

static void handle_work(struct sim_node *node, const struct sim_work *work)
{
    struct sim_tally *tally = &node->machine->tally;
    const struct sim_parameters *p = &node->machine->parameters;
    switch (work->kind) {
    case WORK_PACKET:
        handle_packet(node, work);
        break;
    case WORK_START:
        ++tally->starts;
        charge_cycles(node, p->cycles_turn + p->cycles_start);
        mcp_collective_start(&node->mcp->collective, &node->board, &node->mcp->counters,
                             work->group, work->epoch);
        break;
    case WORK_SENDS:
        ++tally->tokens;
        charge_cycles(node, p->cycles_turn);
        myr_store_release(&work->token->sequence, work->sequence);
        mcp_messages_sdma(node->mcp, &node->board, 0);
        break;
    case WORK_PROVIDES:
        mcp_messages_provided(node->mcp, &node->board, 0);
        break;
    case WORK_BCAST:
        ++tally->starts;
        handle_bcast(node, work);
        break;
    case WORK_CALL:
        charge_cycles(node, p->cycles_turn);
        node->machine->above->call(node, work->what);
        break;
    case WORK_TIMER:
        ++tally->timers;
        node->timer_ps = 0;
        mcp_timer(node->mcp, &node->board);
        break;
    case WORK_NOTICE:
        break;
    }
    report_events(node);
}

/* Schedules a call of the MCP at its next deadline. */
static void set_timer(struct sim_node *node)
{
    const uint64_t deadline_ps = 1000 * mcp_deadline_ns(node->mcp);
    if (0 != deadline_ps && (0 == node->timer_ps || deadline_ps < node->timer_ps)) {
        const uint64_t now_ps = node->machine->now_ps;
        node->timer_ps = deadline_ps > now_ps ? deadline_ps : now_ps + 1;
        sim_schedule(node->machine, node->timer_ps, EVENT_TIMER, node->number, NULL);
    }
}

/* Schedules the first unit of work, for when the processor is free and the work has been
 * noticed. */
static void schedule_nic(struct sim_node *node)
{
    const uint64_t ready_ps = node->nic_work.first->ready_ps;
    sim_schedule(node->machine, ready_ps > node->nic_free_ps ? ready_ps : node->nic_free_ps,
                 EVENT_NIC_FREE, node->number, NULL);
}

static void run_nic(struct sim_node *node)
{
    struct sim_machine *m = node->machine;
    struct sim_work *work = sim_work_take(&node->nic_work);
    node->cursor_ps = m->now_ps;
    handle_work(node, work);
    sim_work_free(m, work);
    node->nic_free_ps = node->cursor_ps;
    set_timer(node);
    if (NULL != node->nic_work.first) {
        schedule_nic(node);
    }
}

static void queue_nic_work(struct sim_node *node, struct sim_work *work)
{
    struct sim_machine *m = node->machine;
    const struct sim_parameters *p = &m->parameters;
    const bool first = NULL == node->nic_work.first;
    work->ready_ps = m->now_ps + cycles_to_ps(m, p->cycles_loop + p->cycles_look * (m->nnodes - 1));
    sim_work_append(&node->nic_work, work);
    if (first) {
        schedule_nic(node);
    }
}

static void handle_timer(struct sim_node *node)
{
    struct sim_machine *m = node->machine;
    if (node->timer_ps != m->now_ps) {
        return; /* superseded by an earlier timer */
    }
    struct sim_work *work = sim_work_new(m, WORK_TIMER, 0);
    if (NULL != work) {
        queue_nic_work(node, work);
    }
}

/* ---- the machine ---- */

/* Handles the arrival of a packet's first bytes. The link receives the rest when it is done with
 * the previous packet. */
static void handle_head(struct sim_node *node, struct sim_work *work)
{
    const uint64_t now_ps = node->machine->now_ps;
    const uint64_t begin_ps = node->in_free_ps > now_ps ? node->in_free_ps : now_ps;
    node->in_free_ps = begin_ps + work->link_ps;
    sim_schedule(node->machine, node->in_free_ps, EVENT_NIC, node->number, work);
}

void sim_run(struct sim_machine *m)
{
    struct sim_event event;
    while (!m->stopped && sim_events_take(&m->events, &event)) {
        struct sim_node *node = &m->nodes[event.node];
        m->now_ps = event.at_ps;
        switch ((enum sim_event_kind)event.kind) {
        case EVENT_HEAD:
            handle_head(node, event.what);
            break;
        case EVENT_NIC:
            queue_nic_work(node, event.what);
            break;
        case EVENT_NIC_FREE:
            run_nic(node);
            break;
        case EVENT_HOST:
            sim_host_queue(node, event.what);
            break;
        case EVENT_HOST_FREE:
            sim_host_run(node);
            break;
        case EVENT_TIMER:
            handle_timer(node);
            break;
        }
    }
}

struct mcp_counters sim_counters(const struct sim_machine *m)
{
    struct mcp_counters sum = {0};
    for (uint32_t n = 0; n < m->nnodes; ++n) {
        const struct mcp_counters *one = &m->nodes[n].mcp->counters;
#define ADD(name, text) sum.name += one->name;
        MCP_COUNTERS(ADD)
#undef ADD
    }
    return sum;
}

void *sim_memory(struct sim_node *node, size_t bytes)
{
    const size_t whole = myr_whole_lines(bytes);
    if (whole > node->board.memory_bytes - node->taken) {
        return NULL;
    }
    void *memory = node->board.memory + node->taken;
    node->taken += (uint32_t)whole;
    return memory;
}

bool sim_create(struct sim_machine *m, const struct sim_parameters *parameters,
                const struct sim_shape *shape, uint64_t seed)
{
    const size_t nic_bytes = mcp_nic_bytes(shape->ports, shape->connections);
    const size_t bytes = nic_bytes + shape->memory_bytes + (size_t)3 * MYR_LINE;
    const size_t each = bytes / MYR_LINE * MYR_LINE;
    *m = (struct sim_machine){
        .parameters = *parameters,
        .nnodes = shape->nodes,
        .random = seed,
        .memory_bytes = each * shape->nodes,
    };
    m->nodes = calloc(shape->nodes, sizeof(*m->nodes));
    /* Only the address space is reserved, because a run touches a fraction of the memory. */
    void *memory = mmap(NULL, m->memory_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m->memory = MAP_FAILED == memory ? NULL : memory;
    if (NULL == m->nodes || NULL == m->memory) {
        sim_destroy(m);
        return false;
    }
    for (uint32_t n = 0; n < shape->nodes; ++n) {
        struct sim_node *node = &m->nodes[n];
        node->board = (struct mcp_board){
            .ops = {.send = send_packet,
                    .hold_sender = hold_sender,
                    .drop = release_link,
                    .now_ns = now_ns,
                    .wake = wake_host},
            .memory = m->memory + n * each,
            .memory_bytes = (uint32_t)each,
        };
        node->machine = m;
        node->number = n;
        (void)sim_memory(node, 1); /* offset 0 means none */
        node->mcp = sim_memory(node, nic_bytes);
        mcp_init(node->mcp, sim_key(n), shape->ports, shape->connections);
    }
    return true;
}

void sim_destroy(struct sim_machine *m)
{
    struct sim_event event;
    while (sim_events_take(&m->events, &event)) {
        free(event.what);
    }
    for (uint32_t n = 0; NULL != m->nodes && n < m->nnodes; ++n) {
        while (NULL != m->nodes[n].nic_work.first) {
            free(sim_work_take(&m->nodes[n].nic_work));
        }
        while (NULL != m->nodes[n].host_work.first) {
            free(sim_work_take(&m->nodes[n].host_work));
        }
    }
    while (NULL != m->spare) {
        struct sim_work *next = m->spare->next;
        free(m->spare);
        m->spare = next;
    }
    sim_events_free(&m->events);
    free(m->nodes);
    if (NULL != m->memory) {
        munmap(m->memory, m->memory_bytes);
    }
    *m = (struct sim_machine){0};
}
