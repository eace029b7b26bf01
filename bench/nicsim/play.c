/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation of barriers on a cluster; see play.h. */
#include "bench/nicsim/play.h"

#include <stdlib.h>
#include <string.h>

#include "libmyr/groups/group_tables.h"

struct cluster;

/* A process: its state outside the node's memory. */
struct process {
    struct cluster *cluster;
    struct mcp_group *group; /* in the NIC's memory, or in the host's own */
    uint32_t epoch;          /* number of the barrier that it has entered last */
    double began_us, ended_us;
    /* Host-based barriers: port 0, and the connections to the peers. */
    struct nicsim_port port;
    uint32_t *connections; /* connections, by index in the table of sends */
    uint32_t *received;    /* messages received from each sender, by the index of the sender's first
                              entry in the table of waits */
    bool held;             /* `message` waits for a send token */
    struct mcp_message message;
};

/* The simulated cluster and its processes. */
struct cluster {
    const struct nicsim_game *game;
    struct sim_machine machine;
    struct process *processes;
    uint32_t finished;
    size_t group_bytes, port_bytes;
    uint32_t connections;
    double barrier_us; /* sum over nodes */
};

static bool schedule_of(const void *context, uint32_t rank, struct myr_schedule *schedule)
{
    const struct nicsim_game *game = context;
    if (game->ping_pong) {
        return nicbarr_schedule_ping_pong(game->nodes - 1, rank, schedule);
    }
    return nicbarr_schedule_create(game->choice, game->nodes, rank, schedule);
}

/* ---- host-based barriers ---- */

struct nicsim_message_us nicsim_message_us(const struct nicsim_machine *machine, uint32_t others,
                                           enum nicsim_level level)
{
    const double call_us = machine->nic.host_call_us, poll_us = machine->mpi_look_us * others;
    return NICSIM_MPI == level
               ? (struct nicsim_message_us){call_us + machine->mpi_send_us + poll_us,
                                            call_us + machine->mpi_receive_us + poll_us}
               : (struct nicsim_message_us){call_us, call_us};
}

static bool send_message(struct sim_node *node, struct process *process)
{
    const struct nicsim_game *game = process->cluster->game;
    const uint32_t peer = process->message.peer;
    return nicsim_port_send(&process->port, node, mcp_group_sends(process->group)[peer].node,
                            process->connections[peer],
                            NICSIM_MPI == game->level ? (uint32_t)game->machine->mpi_envelope_bytes
                                                      : 0);
}

static void completed(struct sim_node *node, struct process *process);

/* Sends the messages that the schedule permits, and leaves the barrier if it is complete. */
static void progress(struct sim_node *node, struct process *process)
{
    while (process->held || mcp_group_next(process->group, &process->message)) {
        process->held = !send_message(node, process);
        if (process->held) {
            return;
        }
    }
    if (process->epoch == myr_load_relaxed(&process->group->done)) {
        completed(node, process);
    }
}

/* Records the arrival of a message from a node. If several entries of the table of waits refer to
 * that node, its messages complete them in order. */
static void record(struct process *process, uint32_t from)
{
    const struct mcp_peer *waits = mcp_group_waits(process->group);
    uint32_t first = 0, of_sender = 0;
    while (first < process->group->nwaits && waits[first].node != from) {
        ++first;
    }
    for (uint32_t w = first; w < process->group->nwaits; ++w) {
        of_sender += waits[w].node == from;
    }
    if (0 == of_sender) {
        return;
    }
    const uint32_t number = process->received[first]++;
    uint32_t slot = first;
    for (uint32_t left = number % of_sender; left > 0; --left) {
        do {
            ++slot;
        } while (waits[slot].node != from);
    }
    (void)mcp_group_record(process->group, slot, 1 + number / of_sender);
}

static void take_event(struct sim_node *node, struct process *process)
{
    uint32_t from;
    if (nicsim_port_take(&process->port, node, &from)) {
        record(process, from);
        progress(node, process);
    } else if (process->held) {
        progress(node, process);
    }
}

/* ---- barrier after barrier ---- */

static void notify_observer(const struct sim_node *node, const struct process *process,
                            enum nicsim_moment moment)
{
    const struct nicsim_game *game = process->cluster->game;
    if (NULL != game->observe) {
        game->observe(game->observer, node->number, process->epoch, moment, sim_host_now_us(node));
    }
}

static void enter_simulated_barrier(struct sim_node *node, struct process *process)
{
    const struct nicsim_game *game = process->cluster->game;
    const uint32_t epoch = ++process->epoch;
    if (0 != game->works) {
        const double factor = 1 + game->variation * (2 * sim_random(node->machine) - 1);
        sim_host_spend(node, game->work_us[(epoch - 1) % game->works] * factor);
    }
    notify_observer(node, process, NICSIM_ENTERS);
    if (game->on_nics) {
        sim_host_spend(node, game->machine->nic.host_call_us +
                                 (NICSIM_MPI == game->level ? game->machine->mpi_barrier_us : 0));
        sim_host_start(node, process->group, epoch);
    } else {
        mcp_group_start(process->group, epoch);
        progress(node, process);
    }
}

static void completed(struct sim_node *node, struct process *process)
{
    struct cluster *cluster = process->cluster;
    const struct nicsim_game *game = cluster->game;
    notify_observer(node, process, NICSIM_LEAVES);
    if (process->epoch == game->warm_up) {
        process->began_us = sim_host_now_us(node);
    }
    if (process->epoch < game->warm_up + game->barriers) {
        enter_simulated_barrier(node, process);
        return;
    }
    process->ended_us = sim_host_now_us(node);
    cluster->barrier_us += (process->ended_us - process->began_us) / game->barriers;
    ++cluster->finished;
}

static void handle_barrier_notice(struct sim_node *node, enum sim_notice what)
{
    struct process *process = node->process;
    switch (what) {
    case SIM_BEGIN:
        process->began_us = sim_host_now_us(node);
        enter_simulated_barrier(node, process);
        break;
    case SIM_RELEASE:
        sim_host_spend(node, process->cluster->game->machine->nic.host_call_us);
        completed(node, process);
        break;
    case SIM_EVENT:
        take_event(node, process);
        break;
    case SIM_BLOCK: /* there are no broadcasts */
        break;
    }
}

/* ---- setting up ---- */

static bool open_group(struct cluster *cluster, struct sim_node *node, struct process *process,
                       const struct myr_schedule *schedule)
{
    const struct nicsim_game *game = cluster->game;
    const struct myr_lengths lengths = myr_schedule_lengths(schedule);
    const size_t bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits);
    struct mcp_group *group = process->group = sim_memory(node, bytes);
    if (NULL == group) {
        return false;
    }
    mcp_group_init(group, 1, game->nodes, node->number, lengths.steps, lengths.sends, lengths.waits,
                   0);
    cluster->group_bytes = bytes > cluster->group_bytes ? bytes : cluster->group_bytes;
    struct mcp_peer *peers = mcp_group_sends(group);
    if (!myr_fill_tables(schedule, node->number, schedule_of, game, NULL, NULL,
                         mcp_group_steps(group), peers)) {
        return false;
    }
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        peers[p].link = sim_link(peers[p].node);
    }
    return true;
}

/* Returns the number of tokens of a host, which suffice for the messages of two consecutive
 * barriers, because some of its peers may already be in the next barrier. */
static uint32_t tokens_for(uint32_t messages)
{
    return 2 * messages + 8;
}

static bool open_port(struct cluster *cluster, struct sim_node *node, struct process *process,
                      const struct myr_lengths *lengths)
{
    const struct nicsim_game *game = cluster->game;
    process->connections = calloc(lengths->sends + 1, sizeof(*process->connections));
    process->received = calloc(lengths->waits + 1, sizeof(*process->received));
    if (NULL == process->connections || NULL == process->received ||
        !nicsim_port_open(&process->port, node, tokens_for(lengths->sends),
                          tokens_for(lengths->waits), NICSIM_ENVELOPE_MOST,
                          nicsim_message_us(game->machine, game->nodes - 1, game->level))) {
        return false;
    }
    for (uint32_t s = 0; s < lengths->sends; ++s) {
        process->connections[s] =
            nicsim_port_connect(node, mcp_group_sends(process->group)[s].node);
    }
    return true;
}

static bool set_up_node(struct cluster *cluster, uint32_t number)
{
    struct sim_node *node = &cluster->machine.nodes[number];
    struct process *process = &cluster->processes[number];
    struct myr_schedule schedule;
    process->cluster = cluster;
    node->process = process;
    if (!schedule_of(cluster->game, number, &schedule)) {
        return false;
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    bool good = open_group(cluster, node, process, &schedule);
    nicbarr_schedule_destroy(&schedule);
    if (good && cluster->game->on_nics) {
        mcp_collective_open(&node->mcp->collective, &node->board, &node->mcp->counters,
                            process->group);
    } else if (good) {
        good = open_port(cluster, node, process, &lengths);
    }
    if (good) {
        sim_host_begin(node, 0);
    }
    return good;
}

/* Finds the maximum lengths of the tables over all nodes. All nodes get memory for these, because
 * memory that is not used has no effect on the simulation. */
static bool find_maximum(const struct nicsim_game *game, struct myr_lengths *most)
{
    *most = (struct myr_lengths){0};
    for (uint32_t n = 0; n < game->nodes; ++n) {
        struct myr_schedule schedule;
        if (!schedule_of(game, n, &schedule)) {
            return false;
        }
        const struct myr_lengths one = myr_schedule_lengths(&schedule);
        nicbarr_schedule_destroy(&schedule);
        most->steps = one.steps > most->steps ? one.steps : most->steps;
        most->sends = one.sends > most->sends ? one.sends : most->sends;
        most->waits = one.waits > most->waits ? one.waits : most->waits;
    }
    return true;
}

static bool create_barrier_cluster(struct cluster *cluster)
{
    const struct nicsim_game *game = cluster->game;
    struct sim_parameters parameters = game->machine->nic;
    struct myr_lengths most;
    if (!find_maximum(game, &most)) {
        return false;
    }
    const struct sim_shape shape = {
        .nodes = game->nodes,
        .ports = !game->on_nics,
        .connections = game->on_nics ? 0 : most.sends + most.waits,
        .memory_bytes =
            mcp_group_bytes(most.steps, most.sends, most.waits) + MYR_LINE +
            (game->on_nics ? 0
                           : nicsim_port_bytes(tokens_for(most.sends), tokens_for(most.waits),
                                               NICSIM_ENVELOPE_MOST)),
    };
    cluster->connections = shape.connections;
    cluster->port_bytes =
        game->on_nics ? 0 : nicsim_port_ring_bytes(tokens_for(most.sends), tokens_for(most.waits));
    parameters.loss = game->loss > parameters.loss ? game->loss : parameters.loss;
    if (game->on_nics && NICSIM_MPI == game->level) {
        parameters.cycles_start += game->machine->mpi_step_cycles * most.steps;
    }
    cluster->processes = calloc(game->nodes, sizeof(*cluster->processes));
    if (NULL == cluster->processes ||
        !sim_create(&cluster->machine, &parameters, &shape, game->seed)) {
        return false;
    }
    cluster->machine.notice = handle_barrier_notice;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        if (!set_up_node(cluster, n)) {
            return false;
        }
    }
    return true;
}

static void destroy_barrier_cluster(struct cluster *cluster)
{
    for (uint32_t n = 0; NULL != cluster->processes && n < cluster->game->nodes; ++n) {
        free(cluster->processes[n].connections);
        free(cluster->processes[n].received);
        nicsim_port_free(&cluster->processes[n].port);
    }
    free(cluster->processes);
    sim_destroy(&cluster->machine);
}

static void sum_up(const struct cluster *cluster, struct nicsim_outcome *outcome)
{
    *outcome = (struct nicsim_outcome){
        .barrier_us = cluster->barrier_us / cluster->game->nodes,
        .finished = cluster->finished,
        .tally = cluster->machine.tally,
        .counters = sim_counters(&cluster->machine),
        .group_bytes = cluster->group_bytes,
        .port_bytes = cluster->port_bytes,
        .connections = cluster->connections,
        .events = cluster->machine.events.next_order,
    };
}

bool nicsim_play(const struct nicsim_game *game, struct nicsim_outcome *outcome)
{
    struct cluster cluster = {.game = game};
    bool good = create_barrier_cluster(&cluster);
    *outcome = (struct nicsim_outcome){0};
    if (good) {
        sim_run(&cluster.machine);
        good = !cluster.machine.exhausted;
        sum_up(&cluster, outcome);
    }
    destroy_barrier_cluster(&cluster);
    return good;
}
