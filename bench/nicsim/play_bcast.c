/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation of broadcasts on a cluster; see play_bcast.h. */
#include "bench/nicsim/play_bcast.h"

#include <stdlib.h>

#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"

/* There are TOKENS tokens of each kind, which suffice for a reply always to find a free one. */
enum { CHILDREN = 2, TOKENS = 64 };

struct cluster;

struct process {
    struct cluster *cluster;
    uint32_t number; /* the last broadcast that it has begun (the root) or received (others) */
    struct nicsim_port port;
    /* NIC-based: */
    struct mcp_group *group;
    struct myr_nic_bcast *bcast;
    uint32_t epoch; /* epoch of the process in the group: number of half windows that it has read */
    bool held;      /* the root's block waits for space in the window */
    /* Host-based: */
    uint32_t children;
    uint32_t forwarded; /* messages sent to the children, of all broadcasts */
    uint32_t connections[CHILDREN];
    uint32_t to_root; /* the last node's connection to the root, for replies */
};

struct cluster {
    const struct nicsim_bcast_game *game;
    struct nicbarr_among among;
    struct sim_machine machine;
    struct process *processes;
    uint32_t last;           /* number of the last broadcast */
    uint32_t missing;        /* parts of the current broadcast that are missing: the root's return,
                                and the reply */
    double began_us;         /* start of the current broadcast */
    double measured_from_us; /* start of the first broadcast that is measured */
    double root_us;          /* sum over the broadcasts */
    double ended_us;
    uint32_t finished;
    uint32_t block_bytes; /* data and header, in the form in which the NICs transfer them */
    uint8_t block[MCP_PAYLOAD_MOST];
    size_t group_bytes;
};

static bool is_root(const struct sim_node *node)
{
    return 0 == node->number;
}

static uint32_t envelope_bytes(const struct nicsim_bcast_game *game)
{
    return NICSIM_MPI == game->level ? (uint32_t)game->machine->mpi_envelope_bytes : 0;
}

/* ---- the root begins the broadcasts, one after the other ---- */

/* Passes the block to the NIC, if the window has space for it. */
static void pass_block(struct sim_node *node, struct process *process)
{
    const struct cluster *cluster = process->cluster;
    const struct nicsim_bcast_game *game = cluster->game;
    const uint32_t done = myr_load_relaxed(&process->group->done);
    process->held =
        !myr_epoch_reached(mcp_bcast_credit(process->group->window, done), process->number);
    if (!process->held) {
        sim_host_spend(node, game->machine->nic.host_call_us +
                                 (NICSIM_MPI == game->level ? game->machine->mpi_barrier_us : 0));
        sim_host_copy(node, cluster->block_bytes);
        sim_host_bcast(node, process->number, cluster->block, cluster->block_bytes);
    }
}

static void forward(struct sim_node *node, struct process *process);

static void begin_bcast(struct sim_node *node, struct process *process)
{
    struct cluster *cluster = process->cluster;
    cluster->began_us = sim_host_now_us(node);
    cluster->missing = cluster->game->answered ? 2 : 1;
    if (process->number == cluster->game->warm_up) {
        cluster->measured_from_us = cluster->began_us;
    }
    ++process->number;
    if (cluster->game->on_nics) {
        pass_block(node, process);
    } else {
        forward(node, process);
    }
}

/* Called when the root returns from its call, and when it receives the reply. After both of these
 * events it begins the next broadcast. */
static void end_part(struct sim_node *node, struct process *process)
{
    struct cluster *cluster = process->cluster;
    if (0 != --cluster->missing) {
        return;
    }
    if (process->number == cluster->last) {
        cluster->ended_us = sim_host_now_us(node);
    } else {
        begin_bcast(node, process);
    }
}

/* ---- a process returns from a broadcast ---- */

/* Called when the process has read the block. The process announces each half window that it has
 * read. */
static void leave_slot(struct sim_node *node, struct process *process, uint32_t number)
{
    if (NULL != process->group && 0 == number % (process->group->window / 2)) {
        sim_host_spend(node, process->cluster->game->machine->nic.host_call_us);
        sim_host_start(node, process->group, ++process->epoch);
    }
}

static void returned(struct sim_node *node, struct process *process, uint32_t number)
{
    struct cluster *cluster = process->cluster;
    const struct nicsim_bcast_game *game = cluster->game;
    leave_slot(node, process, number);
    if (NULL != game->observe) {
        game->observe(game->observer, node->number, number, sim_host_now_us(node));
    }
    cluster->finished += number == cluster->last;
    if (is_root(node)) {
        cluster->root_us += number > game->warm_up ? sim_host_now_us(node) - cluster->began_us : 0;
        end_part(node, process);
    } else if (game->answered && node->number == game->nodes - 1) {
        (void)nicsim_port_send(&process->port, node, 0, process->to_root,
                               game->answer_bytes + envelope_bytes(game));
    }
}

/* ---- host-based broadcasts ---- */

/* Forwards received blocks to the children while there are send tokens. */
static void forward(struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = process->cluster->game;
    while (process->forwarded != process->number * process->children) {
        const uint32_t child = process->forwarded % process->children;
        if (!nicsim_port_send(&process->port, node, CHILDREN * node->number + 1 + child,
                              process->connections[child], game->bytes + envelope_bytes(game))) {
            return;
        }
        if (0 == ++process->forwarded % process->children) {
            returned(node, process, process->forwarded / process->children);
        }
    }
}

static void take_event(struct sim_node *node, struct process *process)
{
    uint32_t from;
    if (!nicsim_port_take(&process->port, node, &from)) { /* a send token has returned */
        forward(node, process);
    } else if (is_root(node)) { /* the reply */
        end_part(node, process);
    } else {
        ++process->number;
        forward(node, process);
        if (0 == process->children) {
            returned(node, process, process->number);
        }
    }
}

/* ---- the host's notices ---- */

static void take_block(struct sim_node *node, struct process *process)
{
    sim_host_spend(node, process->cluster->game->machine->nic.host_call_us);
    process->number += !is_root(node);
    returned(node, process, process->number);
}

static void handle_bcast_notice(struct sim_node *node, enum sim_notice what)
{
    struct process *process = node->process;
    switch (what) {
    case SIM_BEGIN:
        begin_bcast(node, process);
        break;
    case SIM_BLOCK:
        take_block(node, process);
        break;
    case SIM_RELEASE: /* space for half a window has become free */
        if (process->held) {
            sim_host_spend(node, process->cluster->game->machine->nic.host_call_us);
            pass_block(node, process);
        }
        break;
    case SIM_EVENT:
        take_event(node, process);
        break;
    }
}

/* ---- setting up ---- */

static bool open_group(struct cluster *cluster, struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = cluster->game;
    const struct myr_nic_members members = {
        .nodes = game->nodes,
        .node = node->number,
        .unit_most = game->bytes,
        .broadcasts = true,
    };
    struct myr_schedule schedule;
    struct myr_error error;
    if (!nicbarr_schedule_of(&cluster->among, node->number, &schedule)) {
        return false;
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    struct mcp_group *group = NULL;
    if (MYR_OK == myr_nic_bcast_new(&members, &schedule, &process->bcast, &error)) {
        const struct myr_nic_bcast *bcast = process->bcast;
        const size_t bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                             (size_t)bcast->window * bcast->slot_bytes;
        cluster->group_bytes = bytes > cluster->group_bytes ? bytes : cluster->group_bytes;
        cluster->block_bytes = bcast->slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot);
        group = sim_memory(node, bytes);
    }
    bool good = NULL != group;
    if (good) {
        mcp_group_init(group, 1, game->nodes, node->number, lengths.steps, lengths.sends,
                       lengths.waits, 0);
        group->window = process->bcast->window;
        group->slot_bytes = process->bcast->slot_bytes;
        good = myr_fill_tables(&schedule, node->number, nicbarr_schedule_of, &cluster->among, NULL,
                               process->bcast, mcp_group_steps(group), mcp_group_sends(group));
    }
    nicbarr_schedule_destroy(&schedule);
    if (!good) {
        return false;
    }
    struct mcp_peer *peers = mcp_group_sends(group);
    for (uint32_t p = 0; p < lengths.sends + lengths.waits; ++p) {
        peers[p].link = sim_link(peers[p].node);
    }
    process->group = node->broadcasts = group;
    mcp_collective_open(&node->mcp->collective, &node->board, &node->mcp->counters, group);
    return true;
}

static uint32_t message_most(const struct nicsim_bcast_game *game)
{
    const uint32_t data = game->bytes > game->answer_bytes ? game->bytes : game->answer_bytes;
    return data + envelope_bytes(game);
}

static bool open_port(struct cluster *cluster, struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = cluster->game;
    if (!nicsim_port_open(&process->port, node, TOKENS, TOKENS, message_most(game),
                          nicsim_message_us(game->machine, 1, game->level))) {
        return false;
    }
    for (uint32_t c = 0; !game->on_nics && c < CHILDREN; ++c) {
        const uint32_t child = CHILDREN * node->number + 1 + c;
        if (child < game->nodes) {
            process->connections[process->children++] = nicsim_port_connect(node, child);
        }
    }
    if (node->number == game->nodes - 1) {
        process->to_root = nicsim_port_connect(node, 0);
    }
    return true;
}

static bool has_ports(const struct nicsim_bcast_game *game)
{
    return game->answered || !game->on_nics;
}

static bool set_up_node(struct cluster *cluster, uint32_t number)
{
    struct sim_node *node = &cluster->machine.nodes[number];
    struct process *process = &cluster->processes[number];
    process->cluster = cluster;
    node->process = process;
    if ((cluster->game->on_nics && !open_group(cluster, node, process)) ||
        (has_ports(cluster->game) && !open_port(cluster, node, process))) {
        return false;
    }
    if (is_root(node)) {
        sim_host_begin(node, 0);
    }
    return true;
}

static bool create_bcast_cluster(struct cluster *cluster)
{
    const struct nicsim_bcast_game *game = cluster->game;
    const bool ports = has_ports(game);
    struct myr_schedule schedule;
    if (!nicbarr_schedule_of(&cluster->among, 0, &schedule)) {
        return false;
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule); /* equal on all nodes */
    nicbarr_schedule_destroy(&schedule);
    const struct sim_shape shape = {
        .nodes = game->nodes,
        .ports = ports,
        .connections = ports ? 2 * (CHILDREN + 1) : 0, /* to and from the peers */
        .memory_bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                        MCP_BCAST_BYTES + MYR_LINE +
                        (ports ? nicsim_port_bytes(TOKENS, TOKENS, message_most(game)) : 0),
    };
    struct sim_parameters parameters = game->machine->nic;
    parameters.cycles_loop += parameters.cycles_look; /* it polls one other node instead of all */
    parameters.cycles_look = 0;
    cluster->processes = calloc(game->nodes, sizeof(*cluster->processes));
    if (NULL == cluster->processes ||
        !sim_create(&cluster->machine, &parameters, &shape, game->seed)) {
        return false;
    }
    cluster->machine.notice = handle_bcast_notice;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        if (!set_up_node(cluster, n)) {
            return false;
        }
    }
    return true;
}

static void destroy_bcast_cluster(struct cluster *cluster)
{
    for (uint32_t n = 0; NULL != cluster->processes && n < cluster->game->nodes; ++n) {
        myr_nic_bcast_free(cluster->processes[n].bcast);
        nicsim_port_free(&cluster->processes[n].port);
    }
    free(cluster->processes);
    sim_destroy(&cluster->machine);
}

static void sum_up(const struct cluster *cluster, struct nicsim_bcast_outcome *outcome)
{
    const uint32_t measured = cluster->game->broadcasts;
    *outcome = (struct nicsim_bcast_outcome){
        .round_us = (cluster->ended_us - cluster->measured_from_us) / measured,
        .root_us = cluster->root_us / measured,
        .finished = cluster->finished,
        .tally = cluster->machine.tally,
        .counters = sim_counters(&cluster->machine),
        .group_bytes = cluster->group_bytes,
        .events = cluster->machine.events.next_order,
    };
}

bool nicsim_play_bcast(const struct nicsim_bcast_game *game, struct nicsim_bcast_outcome *outcome)
{
    struct cluster cluster = {
        .game = game,
        .among = {{.algorithm = NICBARR_DISSEMINATION, .parameter = game->fan_out}, game->nodes},
        .last = game->warm_up + game->broadcasts,
    };
    bool good = create_bcast_cluster(&cluster);
    *outcome = (struct nicsim_bcast_outcome){0};
    if (good) {
        sim_run(&cluster.machine);
        good = !cluster.machine.exhausted;
        sum_up(&cluster, outcome);
    }
    destroy_bcast_cluster(&cluster);
    return good;
}
