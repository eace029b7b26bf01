/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation of messages that NICs match; see play_messages.h. */
#include "bench/nicsim/play_messages.h"

#include <stdlib.h>
#include <string.h>

#include "bench/nicsim/nic_port.h"
#include "libmyr/messages/tagged_inside.h"

enum {
    BUFFERS = 64, /* per endpoint */
    STEPS_MOST = 3,
    ANY = 0xffffffff, /* source */
};

enum tag { TAG_DATA, TAG_CONTROL, TAG_OTHER };

/* A step of a process's script. */
struct step {
    bool receives, measured;
    uint32_t peer; /* a node, or ANY */
    enum tag tag;
};

/* A call that the host passes to its NIC. */
struct call {
    struct step step;
    struct myr_tagged_request request;
};

struct cluster;

struct process {
    struct cluster *cluster;
    struct myr_soft_nic nic;
    struct myr_tagged *endpoint;
    struct myr_tagged_peer **peers; /* by node */
    uint8_t *data;
    uint32_t fill; /* messages that still have to be sent to fill the channel to node 0 */
    struct step step[STEPS_MOST];
    uint32_t steps, next;
    uint32_t round;
    struct call call;
    double called_us;
    uint32_t arrived; /* messages to match, in packets that the endpoint has not processed yet */
};

struct cluster {
    const struct nicsim_messages_game *game;
    struct sim_machine machine;
    struct process *processes;
    uint32_t last; /* number of the last round */
    double measured_from_us, ended_us, receive_us;
    uint32_t finished;
};

/* ---- the host ---- */

/* Returns the length of the longest message that is sent together with its envelope. It is also the
 * length of the chunks of longer messages, and fits into a packet. */
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

/* Passes the next send or receive to the NIC. The memory of a long message is pinned first. */
static void post_operation(struct sim_node *node, struct process *process, const struct step *step)
{
    const struct nicsim_messages_game *game = process->cluster->game;
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

static void proceed(struct sim_node *node, struct process *process)
{
    struct cluster *cluster = process->cluster;
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
        if (process->round == cluster->game->warm_up) {
            cluster->measured_from_us = sim_host_now_us(node);
        }
        if (process->round == cluster->last) {
            cluster->ended_us = sim_host_now_us(node);
        }
    }
    if (0 == process->steps || process->round == cluster->last) {
        ++cluster->finished;
        return;
    }
    post_operation(node, process, &process->step[process->next++]);
}

static void returned(struct sim_node *node, struct process *process)
{
    struct cluster *cluster = process->cluster;
    const struct step *step = &process->call.step;
    sim_host_spend(node, step->receives
                             ? nicsim_message_us(cluster->game->machine, 1, NICSIM_MPI).receive
                             : cluster->game->machine->nic.host_return_us);
    if (step->measured && process->round >= cluster->game->warm_up) {
        cluster->receive_us += sim_host_now_us(node) - process->called_us;
    }
    proceed(node, process);
}

static void handle_message_notice(struct sim_node *node, enum sim_notice what)
{
    if (SIM_BEGIN == what) {
        proceed(node, node->process);
    } else {
        returned(node, node->process);
    }
}

/* ---- the NIC ---- */

/* Returns the number of unexpected messages from one source, which in the thesis are in the list of
 * the source's channel. */
static uint32_t unexpected_from(const struct myr_tagged *t, uint32_t source)
{
    uint32_t count = 0;
    for (uint32_t index = 0; index < mcp_match_used(t->match); ++index) {
        if (mcp_match_is_message(t->match, index)) {
            const struct myr_tagged_message *message = t->waiting[index];
            count += message->head.envelope.source == source;
        }
    }
    return count;
}

static double receive_cycles(const struct process *process, const struct step *step)
{
    const struct nicsim_messages_game *game = process->cluster->game;
    return NICSIM_TABLE == game->structure || ANY == step->peer
               ? game->machine->cycles_hash
               : game->machine->cycles_check * unexpected_from(process->endpoint, step->peer);
}

static void notify_host(struct sim_node *node, struct process *process)
{
    while (NULL != myr_tagged_done(process->endpoint)) {
        sim_nic_notifies(node);
    }
}

static void on_call(struct sim_node *node, void *what)
{
    struct process *process = node->process;
    const struct nicsim_messages_game *game = process->cluster->game;
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
    notify_host(node, process);
}

static void on_events(struct sim_node *node)
{
    struct process *process = node->process;
    const struct nicsim_messages_game *game = process->cluster->game;
    if (NICSIM_TABLE == game->structure) {
        sim_nic_spend(node, process->arrived * game->machine->cycles_hash);
    }
    process->arrived = 0;
    while (0 != myr_tagged_run(process->endpoint)) {
    }
    notify_host(node, process);
}

/* Returns the number of payload bytes of a packet that the NIC transfers from or to the memory of
 * its host. Headers stay in the NIC. Short messages are not transferred when they leave if the host
 * has copied them to the NIC (copy_most). */
static size_t host_bytes(struct sim_node *node, const void *payload, size_t bytes, bool leaves)
{
    struct process *process = node->process;
    struct tagged_head head; /* a copy, because the buffer may be unaligned */
    memcpy(&head, payload, sizeof(head));
    process->arrived += !leaves && head.kind <= TAGGED_OFFER;
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

static bool open_endpoint(struct cluster *cluster, uint32_t number)
{
    const struct nicsim_messages_game *game = cluster->game;
    struct process *process = &cluster->processes[number];
    const struct myr_tagged_options options = {
        .id = number + 1,
        .messages = game->width,
        .buffers = BUFFERS,
        .buffer_bytes = buffer_bytes(game->machine),
    };
    process->nic.node = &cluster->machine.nodes[number];
    process->cluster = cluster;
    process->nic.node->process = process;
    process->data = calloc(1, game->bytes + 1);
    process->peers = calloc(game->nodes, sizeof(struct myr_tagged_peer *));
    write_script(game, process, number);
    for (uint32_t b = 0; 0 == number && NULL != process->data && b < game->bytes; ++b) {
        process->data[b] = (uint8_t)(1 + b % 251); /* chunks differ, and no byte is 0 */
    }
    return NULL != process->data && NULL != process->peers &&
           MYR_OK == myr_tagged_open(&process->nic, &options, &process->endpoint, NULL);
}

/* Connects a node with node 0, in both directions. */
static bool connect_both(struct cluster *cluster, uint32_t number)
{
    for (uint32_t side = 0; side < 2; ++side) {
        struct myr_tagged_name name;
        const uint32_t from = 0 == side ? 0 : number, to = 0 == side ? number : 0;
        struct process *process = &cluster->processes[from];
        myr_tagged_get_name(cluster->processes[to].endpoint, &name);
        if (MYR_OK !=
            myr_tagged_connect(process->endpoint, to + 1, &name, &process->peers[to], NULL)) {
            return false;
        }
    }
    return true;
}

static const struct sim_above above = {on_events, on_call, host_bytes};

static bool create_message_cluster(struct cluster *cluster)
{
    const struct nicsim_messages_game *game = cluster->game;
    const uint32_t sends = 3 * BUFFERS / 2 + TAGGED_ADDED; /* as tagged.c opens its port */
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
    cluster->last = game->warm_up + game->rounds;
    cluster->processes = calloc(game->nodes, sizeof(*cluster->processes));
    if (NULL == cluster->processes ||
        !sim_create(&cluster->machine, &parameters, &shape, game->seed)) {
        return false;
    }
    cluster->machine.notice = handle_message_notice;
    cluster->machine.above = &above;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        if (!open_endpoint(cluster, n)) {
            return false;
        }
    }
    for (uint32_t n = 1; n < game->nodes; ++n) {
        if (!connect_both(cluster, n)) {
            return false;
        }
    }
    for (uint32_t n = 0; n < game->nodes; ++n) {
        sim_host_begin(&cluster->machine.nodes[n], 0);
    }
    return true;
}

static void destroy_message_cluster(struct cluster *cluster)
{
    for (uint32_t n = 0; NULL != cluster->processes && n < cluster->game->nodes; ++n) {
        if (NULL != cluster->processes[n].endpoint) {
            myr_tagged_close(cluster->processes[n].endpoint);
        }
        free(cluster->processes[n].peers);
        free(cluster->processes[n].data);
    }
    free(cluster->processes);
    sim_destroy(&cluster->machine);
}

static void sum_up(const struct cluster *cluster, struct nicsim_messages_outcome *outcome)
{
    const uint32_t measured = cluster->game->rounds;
    *outcome = (struct nicsim_messages_outcome){
        .round_us = (cluster->ended_us - cluster->measured_from_us) / measured,
        .receive_us = cluster->receive_us / measured,
        .finished = cluster->finished,
        .waiting = mcp_match_messages(cluster->processes[0].endpoint->match),
        .intact = 0 == memcmp(cluster->processes[0].data, cluster->processes[1].data,
                              cluster->game->bytes),
        .tally = cluster->machine.tally,
        .counters = sim_counters(&cluster->machine),
        .events = cluster->machine.events.next_order,
    };
}

bool nicsim_play_messages(const struct nicsim_messages_game *game,
                          struct nicsim_messages_outcome *outcome)
{
    struct cluster cluster = {.game = game};
    bool good = create_message_cluster(&cluster);
    *outcome = (struct nicsim_messages_outcome){0};
    if (good) {
        sim_run(&cluster.machine);
        good = !cluster.machine.exhausted;
        sum_up(&cluster, outcome);
    }
    destroy_message_cluster(&cluster);
    return good;
}
