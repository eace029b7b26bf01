/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that NICs match, on a simulated cluster; see play_messages.h. */
#include "bench/nicsim/play_messages.h"

#include <stdlib.h>
#include <string.h>

#include "bench/nicsim/nic_port.h"
#include "libmyr/messages/tagged_inside.h"

enum {
    BUFFERS = 64, /* of each endpoint */
    STEPS_MOST = 3,
    ANY = 0xffffffff, /* source */
};

enum tag { TAG_DATA, TAG_CONTROL, TAG_OTHER };

/* What a process does, one after the other. */
struct step {
    bool receives, measured;
    uint32_t peer; /* or ANY */
    enum tag tag;
};

/* What a host hands its NIC. */
struct call {
    struct step step;
    struct myr_tagged_request request;
};

struct party;

struct process {
    struct party *party;
    struct myr_soft_nic nic;
    struct myr_tagged *endpoint;
    struct myr_tagged_peer **peers; /* by node */
    uint8_t *data;
    uint32_t fill; /* messages that it yet sends only to fill its channel */
    struct step step[STEPS_MOST];
    uint32_t steps, next;
    uint32_t round;
    struct call call;
    double called_us;
    uint32_t came; /* messages to be matched, in packets that the endpoint has not seen yet */
};

struct party {
    const struct nicsim_messages_game *game;
    struct sim_machine machine;
    struct process *processes;
    uint32_t last; /* round of the game */
    double measured_from_us, ended_us, receive_us;
    uint32_t finished;
};

/* ---- the host ---- */

/* The longest message that leaves with its envelope. A piece of a longer one is as long. Each fits
 * into a packet. */
static uint32_t eager_most(const struct nicsim_machine *machine)
{
    const double packet = machine->nic.mtu - MCP_DATAGRAM_BYTES - MCP_MESSAGE_BYTES - TAGGED_HEADS;
    return (uint32_t)(machine->eager_most < packet ? machine->eager_most : packet);
}

static uint32_t bytes_of(const struct nicsim_messages_game *game, const struct step *step)
{
    return TAG_DATA == step->tag ? game->bytes : 0;
}

static bool is_long(const struct nicsim_messages_game *game, uint32_t bytes)
{
    return bytes > eager_most(game->machine);
}

/* Hand over the next send or receive. The memory of a long message is pinned for it. */
static void post_operation(struct sim_node *node, struct process *process, const struct step *step)
{
    const struct nicsim_messages_game *game = process->party->game;
    const struct nicsim_machine *machine = game->machine;
    const uint32_t bytes = bytes_of(game, step);
    process->call.step = *step;
    process->called_us = sim_host_now_us(node);
    sim_host_spend(node, (is_long(game, bytes) ? machine->pin_us : 0) +
                             (step->receives ? machine->nic.host_call_us
                                             : nicsim_message_us(machine, 1, NICSIM_MPI).send));
    if (!step->receives) {
        const uint32_t envelope = (uint32_t)machine->mpi_envelope_bytes;
        sim_host_copy(node, envelope + (is_long(game, bytes) ? 0 : bytes));
    }
    sim_host_calls(node, &process->call);
}

static void go_on(struct sim_node *node, struct process *process)
{
    struct party *party = process->party;
    if (0 != process->fill) {
        const struct step filling = {.peer = 0, .tag = TAG_OTHER};
        --process->fill;
        post_operation(node, process, &filling);
        return;
    }
    if (process->next == process->steps) {
        process->next = 0;
        ++process->round;
    }
    if (0 == node->number && 0 == process->next) {
        if (process->round == party->game->warm_up) {
            party->measured_from_us = sim_host_now_us(node);
        }
        if (process->round == party->last) {
            party->ended_us = sim_host_now_us(node);
        }
    }
    if (0 == process->steps || process->round == party->last) {
        ++party->finished;
        return;
    }
    post_operation(node, process, &process->step[process->next++]);
}

static void returned(struct sim_node *node, struct process *process)
{
    struct party *party = process->party;
    const struct step *step = &process->call.step;
    sim_host_spend(node, step->receives
                             ? nicsim_message_us(party->game->machine, 1, NICSIM_MPI).receive
                             : party->game->machine->nic.host_return_us);
    if (step->measured && process->round >= party->game->warm_up) {
        party->receive_us += sim_host_now_us(node) - process->called_us;
    }
    go_on(node, process);
}

static void handle_message_notice(struct sim_node *node, enum sim_notice what)
{
    if (SIM_BEGIN == what) {
        go_on(node, node->process);
    } else {
        returned(node, node->process);
    }
}

/* ---- the NIC ---- */

/* Messages of one source that wait: so many are in its channel's list. */
static uint32_t waiting_of(const struct myr_tagged *t, uint32_t source)
{
    uint32_t count = 0;
    for (uint32_t place = 0; place < mcp_match_used(t->match); ++place) {
        if (mcp_match_is_message(t->match, place)) {
            const struct myr_tagged_message *message = t->waiting[place];
            count += message->head.envelope.source == source;
        }
    }
    return count;
}

static double receive_cycles(const struct process *process, const struct step *step)
{
    const struct nicsim_messages_game *game = process->party->game;
    return NICSIM_TABLE == game->structure || ANY == step->peer
               ? game->machine->cycles_hash
               : game->machine->cycles_check * waiting_of(process->endpoint, step->peer);
}

static void tell_done(struct sim_node *node, struct process *process)
{
    while (NULL != myr_tagged_done(process->endpoint)) {
        sim_nic_notifies(node);
    }
}

static void on_call(struct sim_node *node, void *what)
{
    struct process *process = node->process;
    const struct nicsim_messages_game *game = process->party->game;
    struct call *call = what;
    const struct step *step = &call->step;
    const uint32_t bytes = bytes_of(game, step);
    bool done;
    if (step->receives) {
        const struct mcp_pattern pattern = {
            .envelope = {.source = ANY == step->peer ? 0 : step->peer, .tag = step->tag},
            .open = ANY == step->peer ? MCP_OPEN_SOURCE : 0,
        };
        sim_nic_spend(node, receive_cycles(process, step));
        done =
            myr_tagged_receive(process->endpoint, &pattern, process->data, bytes, &call->request);
    } else {
        const struct mcp_envelope envelope = {.source = node->number, .tag = step->tag};
        done = myr_tagged_send(process->endpoint, process->peers[step->peer], &envelope,
                               process->data, bytes, is_long(game, bytes), &call->request);
    }
    if (done) {
        sim_nic_notifies(node);
    }
    tell_done(node, process);
}

static void on_events(struct sim_node *node)
{
    struct process *process = node->process;
    const struct nicsim_messages_game *game = process->party->game;
    if (NICSIM_TABLE == game->structure) {
        sim_nic_spend(node, process->came * game->machine->cycles_hash);
    }
    process->came = 0;
    while (0 != myr_tagged_run(process->endpoint)) {
    }
    tell_done(node, process);
}

/* Heads are the NICs' matter. Short messages the host has copied to its NIC, if it does. */
static size_t of_host(struct sim_node *node, const void *payload, size_t bytes, bool leaves)
{
    struct process *process = node->process;
    struct tagged_head head; /* (buffers may lie anywhere) */
    memcpy(&head, payload, sizeof(head));
    process->came += !leaves && head.kind <= TAGGED_OFFER;
    switch (head.kind) {
    case TAGGED_EAGER: {
        const size_t data = bytes - sizeof(head);
        return leaves && (double)data <= node->machine->parameters.copy_most ? 0 : data;
    }
    case TAGGED_DATA:
        return bytes - TAGGED_HEADS;
    default:
        return 0;
    }
}

/* ---- setting up ---- */

static uint32_t buffer_bytes(const struct nicsim_machine *machine)
{
    return eager_most(machine) + TAGGED_HEADS;
}

static void write_script(const struct nicsim_messages_game *game, struct process *process,
                         uint32_t node)
{
    const uint32_t last = game->nodes - 1, source = game->open ? ANY : last;
    const bool waiting = NICSIM_WAITING == game->script;
    const struct step of_waiting[2][STEPS_MOST] = {
        {{.receives = true, .peer = last, .tag = TAG_CONTROL},
         {.receives = true, .peer = source, .tag = TAG_DATA, .measured = true},
         {.peer = last, .tag = TAG_CONTROL}},
        {{.peer = 0, .tag = TAG_DATA},
         {.peer = 0, .tag = TAG_CONTROL},
         {.receives = true, .peer = 0, .tag = TAG_CONTROL}}};
    const struct step of_ping_pong[2][STEPS_MOST] = {
        {{.peer = 1}, {.receives = true, .peer = 1, .measured = true}},
        {{.receives = true, .peer = 0}, {.peer = 0}}};
    if (0 == node || last == node) {
        memcpy(process->step, waiting ? of_waiting[0 != node] : of_ping_pong[0 != node],
               sizeof(process->step));
        process->steps = waiting ? 3 : 2;
    }
    if (waiting && 0 != node) {
        process->fill = game->width - (last == node ? 2 : 0);
    }
}

static bool open_endpoint(struct party *party, uint32_t number)
{
    const struct nicsim_messages_game *game = party->game;
    struct process *process = &party->processes[number];
    const struct myr_tagged_options options = {
        .id = number + 1,
        .messages = game->width,
        .buffers = BUFFERS,
        .buffer_bytes = buffer_bytes(game->machine),
    };
    process->nic.node = &party->machine.nodes[number];
    process->party = party;
    process->nic.node->process = process;
    process->data = calloc(1, game->bytes + 1);
    process->peers = calloc(game->nodes, sizeof(struct myr_tagged_peer *));
    write_script(game, process, number);
    for (uint32_t b = 0; 0 == number && NULL != process->data && b < game->bytes; ++b) {
        process->data[b] = (uint8_t)(1 + b % 251); /* pieces differ, and nothing is 0 */
    }
    return NULL != process->data && NULL != process->peers &&
           MYR_OK == myr_tagged_open(&process->nic, &options, &process->endpoint, NULL);
}

/* With node 0, and node 0 with all. */
static bool connect_both(struct party *party, uint32_t number)
{
    for (uint32_t side = 0; side < 2; ++side) {
        struct myr_tagged_name name;
        const uint32_t from = 0 == side ? 0 : number, to = 0 == side ? number : 0;
        struct process *process = &party->processes[from];
        myr_tagged_get_name(party->processes[to].endpoint, &name);
        if (MYR_OK !=
            myr_tagged_connect(process->endpoint, to + 1, &name, &process->peers[to], NULL)) {
            return false;
        }
    }
    return true;
}

static const struct sim_above above = {on_events, on_call, of_host};

static bool create_message_party(struct party *party)
{
    const struct nicsim_messages_game *game = party->game;
    const uint32_t sends = 3 * BUFFERS / 2;
    const size_t buffers = (size_t)BUFFERS * (TAGGED_SMALL + buffer_bytes(game->machine) * 3 / 2);
    const struct sim_shape shape = {
        .nodes = game->nodes,
        .ports = 1,
        .connections = game->nodes,
        .memory_bytes = nicsim_nic_port_bytes(sends, BUFFERS, buffers),
    };
    struct sim_parameters parameters = game->machine->nic;
    parameters.cycles_loop += parameters.cycles_look; /* as in broadcasts, see play_bcast.h */
    parameters.cycles_look = 0;
    party->last = game->warm_up + game->rounds;
    party->processes = calloc(game->nodes, sizeof(*party->processes));
    if (NULL == party->processes || !sim_create(&party->machine, &parameters, &shape, game->seed)) {
        return false;
    }
    party->machine.notice = handle_message_notice;
    party->machine.above = &above;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        if (!open_endpoint(party, n)) {
            return false;
        }
    }
    for (uint32_t n = 1; n < game->nodes; ++n) {
        if (!connect_both(party, n)) {
            return false;
        }
    }
    for (uint32_t n = 0; n < game->nodes; ++n) {
        sim_host_begin(&party->machine.nodes[n], 0);
    }
    return true;
}

static void destroy_message_party(struct party *party)
{
    for (uint32_t n = 0; NULL != party->processes && n < party->game->nodes; ++n) {
        if (NULL != party->processes[n].endpoint) {
            myr_tagged_close(party->processes[n].endpoint);
        }
        free(party->processes[n].peers);
        free(party->processes[n].data);
    }
    free(party->processes);
    sim_destroy(&party->machine);
}

static void sum_up(const struct party *party, struct nicsim_messages_outcome *outcome)
{
    const uint32_t measured = party->game->rounds;
    *outcome = (struct nicsim_messages_outcome){
        .round_us = (party->ended_us - party->measured_from_us) / measured,
        .receive_us = party->receive_us / measured,
        .finished = party->finished,
        .waiting = mcp_match_messages(party->processes[0].endpoint->match),
        .intact =
            0 == memcmp(party->processes[0].data, party->processes[1].data, party->game->bytes),
        .tally = party->machine.tally,
        .counters = sim_counters(&party->machine),
        .events = party->machine.events.next_order,
    };
}

bool nicsim_play_messages(const struct nicsim_messages_game *game,
                          struct nicsim_messages_outcome *outcome)
{
    struct party party = {.game = game};
    bool good = create_message_party(&party);
    *outcome = (struct nicsim_messages_outcome){0};
    if (good) {
        sim_run(&party.machine);
        good = !party.machine.exhausted;
        sum_up(&party, outcome);
    }
    destroy_message_party(&party);
    return good;
}
