/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts on a simulated cluster; see play_bcast.h. */
#include "bench/nicsim/play_bcast.h"

#include <stdlib.h>

#include "libmyr/groups/group_tables.h"
#include "libmyr/groups/nic_bcast.h"

/* A port's tokens, of each sort, are so many that those of answers are back in time. */
enum { CHILDREN = 2, TOKENS = 64 };

struct party;

struct process {
    struct party *party;
    uint32_t number; /* the last broadcast that it has begun (the root) or had (the others) */
    struct nicsim_port port;
    /* NICs play: */
    struct mcp_group *group;
    struct myr_nic_bcast *bcast;
    uint32_t epoch; /* halves of the window that it has read */
    bool held;      /* the window has no room for the root's block */
    /* Hosts play: */
    uint32_t children;
    uint32_t forwarded; /* messages to them */
    uint32_t connections[CHILDREN];
    uint32_t to_root; /* the last node's connection, for its answers */
};

struct party {
    const struct nicsim_bcast_game *game;
    struct nicbarr_among among;
    struct sim_machine machine;
    struct process *processes;
    uint32_t last;           /* broadcast of the game */
    uint32_t missing;        /* of the root's return and the answer */
    double began_us;         /* when the root began the present one, */
    double measured_from_us; /* ... and the first that is measured */
    double root_us;          /* sum */
    double ended_us;
    uint32_t finished;
    uint32_t block_bytes; /* as NICs know it: data and what is before it */
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

/* ---- the root begins them, one after the other ---- */

/* Its NIC gets the block, once the window has room for it. */
static void hand_over(struct sim_node *node, struct process *process)
{
    const struct party *party = process->party;
    const struct nicsim_bcast_game *game = party->game;
    const uint32_t done = myr_load_relaxed(&process->group->done);
    process->held =
        !myr_epoch_reached(mcp_bcast_credit(process->group->window, done), process->number);
    if (!process->held) {
        sim_host_spend(node, game->machine->nic.host_call_us +
                                 (NICSIM_MPI == game->level ? game->machine->mpi_barrier_us : 0));
        sim_host_copy(node, party->block_bytes);
        sim_host_bcast(node, process->number, party->block, party->block_bytes);
    }
}

static void forward(struct sim_node *node, struct process *process);

static void begin_bcast(struct sim_node *node, struct process *process)
{
    struct party *party = process->party;
    party->began_us = sim_host_now_us(node);
    party->missing = party->game->answered ? 2 : 1;
    if (process->number == party->game->warm_up) {
        party->measured_from_us = party->began_us;
    }
    ++process->number;
    if (party->game->on_nics) {
        hand_over(node, process);
    } else {
        forward(node, process);
    }
}

/* The root has returned, or has the answer; after both it goes on. */
static void go_on(struct sim_node *node, struct process *process)
{
    struct party *party = process->party;
    if (0 != --party->missing) {
        return;
    }
    if (process->number == party->last) {
        party->ended_us = sim_host_now_us(node);
    } else {
        begin_bcast(node, process);
    }
}

/* ---- everybody returns from them ---- */

/* It has read the block. At the end of half a window it says so. */
static void leave_slot(struct sim_node *node, struct process *process, uint32_t number)
{
    if (NULL != process->group && 0 == number % (process->group->window / 2)) {
        sim_host_spend(node, process->party->game->machine->nic.host_call_us);
        sim_host_start(node, process->group, ++process->epoch);
    }
}

static void returned(struct sim_node *node, struct process *process, uint32_t number)
{
    struct party *party = process->party;
    const struct nicsim_bcast_game *game = party->game;
    leave_slot(node, process, number);
    if (NULL != game->observe) {
        game->observe(game->observer, node->number, number, sim_host_now_us(node));
    }
    party->finished += number == party->last;
    if (is_root(node)) {
        party->root_us += number > game->warm_up ? sim_host_now_us(node) - party->began_us : 0;
        go_on(node, process);
    } else if (game->answered && node->number == game->nodes - 1) {
        (void)nicsim_port_send(&process->port, node, 0, process->to_root,
                               game->answer_bytes + envelope_bytes(game));
    }
}

/* ---- hosts that play ---- */

/* Send on what it has, as far as there are tokens. */
static void forward(struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = process->party->game;
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
    if (!nicsim_port_take(&process->port, node, &from)) { /* a token */
        forward(node, process);
    } else if (is_root(node)) { /* an answer */
        go_on(node, process);
    } else {
        ++process->number;
        forward(node, process);
        if (0 == process->children) {
            returned(node, process, process->number);
        }
    }
}

/* ---- what a host is told ---- */

static void take_block(struct sim_node *node, struct process *process)
{
    sim_host_spend(node, process->party->game->machine->nic.host_call_us);
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
    case SIM_RELEASE: /* half a window has room */
        if (process->held) {
            sim_host_spend(node, process->party->game->machine->nic.host_call_us);
            hand_over(node, process);
        }
        break;
    case SIM_EVENT:
        take_event(node, process);
        break;
    }
}

/* ---- setting up ---- */

static bool open_group(struct party *party, struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = party->game;
    const struct myr_nic_members members = {
        .nodes = game->nodes,
        .node = node->number,
        .unit_most = game->bytes,
        .broadcasts = true,
    };
    struct myr_schedule schedule;
    struct myr_error error;
    if (!nicbarr_schedule_of(&party->among, node->number, &schedule)) {
        return false;
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule);
    struct mcp_group *group = NULL;
    if (MYR_OK == myr_nic_bcast_new(&members, &schedule, &process->bcast, &error)) {
        const struct myr_nic_bcast *bcast = process->bcast;
        const size_t bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                             (size_t)bcast->window * bcast->slot_bytes;
        party->group_bytes = bytes > party->group_bytes ? bytes : party->group_bytes;
        party->block_bytes = bcast->slot_bytes - (uint32_t)sizeof(struct mcp_bcast_slot);
        group = sim_memory(node, bytes);
    }
    bool good = NULL != group;
    if (good) {
        mcp_group_init(group, 1, game->nodes, node->number, lengths.steps, lengths.sends,
                       lengths.waits, 0);
        group->window = process->bcast->window;
        group->slot_bytes = process->bcast->slot_bytes;
        good = myr_fill_tables(&schedule, node->number, nicbarr_schedule_of, &party->among, NULL,
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

static bool open_port(struct party *party, struct sim_node *node, struct process *process)
{
    const struct nicsim_bcast_game *game = party->game;
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

static bool seat(struct party *party, uint32_t number)
{
    struct sim_node *node = &party->machine.nodes[number];
    struct process *process = &party->processes[number];
    process->party = party;
    node->process = process;
    if ((party->game->on_nics && !open_group(party, node, process)) ||
        (has_ports(party->game) && !open_port(party, node, process))) {
        return false;
    }
    if (is_root(node)) {
        sim_host_begin(node, 0);
    }
    return true;
}

static bool create_bcast_party(struct party *party)
{
    const struct nicsim_bcast_game *game = party->game;
    const bool ports = has_ports(game);
    struct myr_schedule schedule;
    if (!nicbarr_schedule_of(&party->among, 0, &schedule)) {
        return false;
    }
    const struct myr_lengths lengths = myr_schedule_lengths(&schedule); /* all nodes' */
    nicbarr_schedule_destroy(&schedule);
    const struct sim_shape shape = {
        .nodes = game->nodes,
        .ports = ports,
        .connections = ports ? 2 * (CHILDREN + 1) : 0, /* those it sends to, and those it hears */
        .memory_bytes = mcp_group_bytes(lengths.steps, lengths.sends, lengths.waits) +
                        MCP_BCAST_BYTES + MYR_LINE +
                        (ports ? nicsim_port_bytes(TOKENS, TOKENS, message_most(game)) : 0),
    };
    struct sim_parameters parameters = game->machine->nic;
    parameters.cycles_loop += parameters.cycles_look; /* it looks at one other node, not at all */
    parameters.cycles_look = 0;
    party->processes = calloc(game->nodes, sizeof(*party->processes));
    if (NULL == party->processes || !sim_create(&party->machine, &parameters, &shape, game->seed)) {
        return false;
    }
    party->machine.notice = handle_bcast_notice;
    for (uint32_t n = 0; n < game->nodes; ++n) {
        if (!seat(party, n)) {
            return false;
        }
    }
    return true;
}

static void destroy_bcast_party(struct party *party)
{
    for (uint32_t n = 0; NULL != party->processes && n < party->game->nodes; ++n) {
        myr_nic_bcast_free(party->processes[n].bcast);
        nicsim_port_free(&party->processes[n].port);
    }
    free(party->processes);
    sim_destroy(&party->machine);
}

static void sum_up(const struct party *party, struct nicsim_bcast_outcome *outcome)
{
    const uint32_t measured = party->game->broadcasts;
    *outcome = (struct nicsim_bcast_outcome){
        .round_us = (party->ended_us - party->measured_from_us) / measured,
        .root_us = party->root_us / measured,
        .finished = party->finished,
        .tally = party->machine.tally,
        .counters = sim_counters(&party->machine),
        .group_bytes = party->group_bytes,
        .events = party->machine.events.next_order,
    };
}

bool nicsim_play_bcast(const struct nicsim_bcast_game *game, struct nicsim_bcast_outcome *outcome)
{
    struct party party = {
        .game = game,
        .among = {{.algorithm = NICBARR_DISSEMINATION, .parameter = game->fan_out}, game->nodes},
        .last = game->warm_up + game->broadcasts,
    };
    bool good = create_bcast_party(&party);
    *outcome = (struct nicsim_bcast_outcome){0};
    if (good) {
        sim_run(&party.machine);
        good = !party.machine.exhausted;
        sum_up(&party, outcome);
    }
    destroy_bcast_party(&party);
    return good;
}
