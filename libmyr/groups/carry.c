/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what each message carries; see carry.h. The schedules of all nodes are simulated step by
 * step. The simulation records which blocks each node has, and in which order they arrived. */
#include "libmyr/groups/carry.h"

#include <stdlib.h>
#include <string.h>

/* A simulated node. */
struct simulated_node {
    struct myr_schedule schedule;
    uint32_t step, peer; /* its position in the schedule: the step, and the next peer */
    uint32_t done;       /* number of messages of the step that are done */
    uint16_t *buffer;    /* the nodes whose blocks have arrived, in order */
    uint32_t count, room;
    bool *knows;      /* per node: whether its block has arrived */
    uint16_t *blocks; /* per peer */
    uint16_t *at;
    bool *taken; /* per destination: whether the message has been received */
};

struct simulation {
    uint32_t nodes;
    struct simulated_node *states;
    bool given_up; /* set if out of memory, or if a buffer is too long */
};

static bool make_node(struct simulated_node *state, uint32_t nodes, uint32_t node,
                      myr_schedule_fn schedule_of, const void *context)
{
    if (!schedule_of(context, node, &state->schedule)) {
        return false;
    }
    const uint32_t peers = state->schedule.npeers;
    /* This is sufficient for most schedules. Some deliver the same blocks repeatedly. */
    state->room = 2 * nodes;
    state->buffer = malloc(state->room * sizeof(*state->buffer));
    state->knows = calloc(nodes, sizeof(*state->knows));
    state->blocks = calloc(peers + 1, sizeof(*state->blocks));
    state->at = calloc(peers + 1, sizeof(*state->at));
    state->taken = calloc(peers + 1, sizeof(*state->taken));
    if (NULL == state->buffer || NULL == state->knows || NULL == state->blocks ||
        NULL == state->at || NULL == state->taken) {
        return false;
    }
    state->buffer[state->count++] = (uint16_t)node;
    state->knows[node] = true;
    return true;
}

static void drop_node(struct simulated_node *state)
{
    free(state->schedule.steps);
    free(state->buffer);
    free(state->knows);
    free(state->blocks);
    free(state->at);
    free(state->taken);
}

/* Returns the index of the oldest message from `from` to `to` that was sent and not yet received,
 * or `npeers` if there is none. In the simulation a message first carries the whole buffer of its
 * sender, and is shortened to the blocks that the receiver needs when it is received. */
static uint32_t find_sent(const struct simulated_node *from, uint32_t to)
{
    uint32_t peer = 0;
    for (uint32_t s = 0; s <= from->step && s < from->schedule.nsteps; ++s) {
        const struct mcp_step *step = &from->schedule.steps[s];
        const uint32_t sent = s < from->step             ? step->sends
                              : from->done < step->sends ? from->done
                                                         : step->sends;
        for (uint32_t i = 0; i < sent; ++i) {
            if (to == from->schedule.peers[peer + i] && !from->taken[peer + i]) {
                return peer + i;
            }
        }
        peer += step->sends + step->waits;
    }
    return from->schedule.npeers;
}

/* Ensures that `more` blocks fit. Returns false if out of memory, or if indices would exceed 16
 * bits. */
static bool make_room(struct simulated_node *state, uint32_t more)
{
    const uint32_t count = state->count + more;
    if (count > UINT16_MAX) {
        return false;
    }
    if (count > state->room) {
        uint16_t *buffer = realloc(state->buffer, (size_t)2 * count * sizeof(*buffer));
        if (NULL == buffer) {
            return false;
        }
        state->buffer = buffer;
        state->room = 2 * count;
    }
    return true;
}

/* Simulates the reception of a message that carries the first `blocks[sent]` blocks of the sender's
 * buffer, except for those at its end that the receiver already has. Returns false if the blocks do
 * not fit into the receiver's buffer. */
static bool take_blocks(struct simulated_node *state, const struct simulated_node *from,
                        uint32_t sent)
{
    uint32_t count = from->blocks[sent];
    while (count > 0 && state->knows[from->buffer[count - 1]]) {
        --count;
    }
    if (!make_room(state, count)) {
        return false;
    }
    from->blocks[sent] = (uint16_t)count;
    from->taken[sent] = true;
    state->blocks[state->peer] = (uint16_t)count;
    state->at[state->peer] = (uint16_t)state->count;
    for (uint32_t b = 0; b < count; ++b) {
        state->buffer[state->count++] = from->buffer[b];
        state->knows[from->buffer[b]] = true;
    }
    return true;
}

/* Simulates the next message that the node sends or receives. Returns false if the node has
 * completed its schedule or has to wait for a message, or if the simulation was given up. */
static bool advance_node(struct simulation *simulation, uint32_t node)
{
    struct simulated_node *state = &simulation->states[node];
    if (state->step == state->schedule.nsteps) {
        return false;
    }
    const struct mcp_step *step = &state->schedule.steps[state->step];
    if (state->done == step->sends + step->waits) {
        ++state->step;
        state->done = 0;
        return true;
    }
    if (state->done < step->sends) {
        state->blocks[state->peer] = (uint16_t)state->count;
    } else {
        const struct simulated_node *from = &simulation->states[state->schedule.peers[state->peer]];
        const uint32_t sent = find_sent(from, node);
        if (sent == from->schedule.npeers) {
            return false;
        }
        if (!take_blocks(state, from, sent)) {
            simulation->given_up = true;
            return false;
        }
    }
    ++state->done;
    ++state->peer;
    return true;
}

/* Advances all nodes until none can. */
static void play_schedules(struct simulation *simulation)
{
    bool moved = true;
    while (moved && !simulation->given_up) {
        moved = false;
        for (uint32_t n = 0; n < simulation->nodes; ++n) {
            while (advance_node(simulation, n)) {
                moved = true;
            }
        }
    }
}

/* Returns whether all nodes have completed their schedules and have the blocks that they need. If
 * so, the sizes of buffers and messages are stored in `carry`. */
static bool check_complete(const struct simulation *simulation, bool rooted,
                           struct myr_carry *carry)
{
    for (uint32_t n = 0; n < simulation->nodes; ++n) {
        const struct simulated_node *state = &simulation->states[n];
        if (state->step != state->schedule.nsteps) {
            return false;
        }
        carry->buffer_blocks =
            state->count > carry->buffer_blocks ? state->count : carry->buffer_blocks;
        for (uint32_t p = 0; p < state->schedule.npeers; ++p) {
            carry->most = state->blocks[p] > carry->most ? state->blocks[p] : carry->most;
        }
        for (uint32_t other = 0; other < simulation->nodes; ++other) {
            if (!state->knows[other] && (0 == n || !rooted)) {
                return false;
            }
        }
    }
    return true;
}

/* Moves the tables of the node from the simulation to `carry`. */
static bool hand_over_tables(struct simulation *simulation, uint32_t node, struct myr_carry *carry)
{
    struct simulated_node *state = &simulation->states[node];
    carry->position_of = calloc(simulation->nodes, sizeof(*carry->position_of));
    if (NULL == carry->position_of) {
        return false;
    }
    /* backwards, because the first position of a block counts */
    for (uint32_t b = state->count; b-- > 0;) {
        carry->position_of[state->buffer[b]] = (uint16_t)b;
    }
    carry->blocks = state->blocks;
    carry->at = state->at;
    state->blocks = state->at = NULL;
    return true;
}

bool myr_carry_plan(uint32_t nodes, uint32_t node, myr_schedule_fn schedule_of, const void *context,
                    bool rooted, struct myr_carry *carry)
{
    *carry = (struct myr_carry){.buffer_blocks = 0};
    struct simulation simulation = {nodes, NULL, false};
    if (nodes <= MYR_CARRY_NODES) {
        simulation.states = calloc(nodes, sizeof(*simulation.states));
    }
    bool good = NULL != simulation.states;
    for (uint32_t n = 0; good && n < nodes; ++n) {
        good = make_node(&simulation.states[n], nodes, n, schedule_of, context);
    }
    if (good) {
        play_schedules(&simulation);
        good = !simulation.given_up && check_complete(&simulation, rooted, carry) &&
               hand_over_tables(&simulation, node, carry);
    }
    for (uint32_t n = 0; NULL != simulation.states && n < nodes; ++n) {
        drop_node(&simulation.states[n]);
    }
    free(simulation.states);
    return good;
}

void myr_carry_free(struct myr_carry *carry)
{
    free(carry->blocks);
    free(carry->at);
    free(carry->position_of);
    *carry = (struct myr_carry){.buffer_blocks = 0};
}
