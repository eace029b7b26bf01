/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes what each message carries; see carry.h. The schedules of all nodes are simulated step by
 * step. The simulation records which blocks each node has, and in which order they arrived. */
#include "libmyr/groups/carry.h"

#include <stdlib.h>
#include <string.h>

/* A simulated node. */
struct player {
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

struct game {
    uint32_t nodes;
    struct player *players;
    bool given_up; /* set if out of memory, or if a buffer is too long */
};

static bool make_player(struct player *player, uint32_t nodes, uint32_t node,
                        myr_schedule_fn schedule_of, const void *context)
{
    if (!schedule_of(context, node, &player->schedule)) {
        return false;
    }
    const uint32_t peers = player->schedule.npeers;
    /* This is sufficient for most schedules. Some deliver the same blocks repeatedly. */
    player->room = 2 * nodes;
    player->buffer = malloc(player->room * sizeof(*player->buffer));
    player->knows = calloc(nodes, sizeof(*player->knows));
    player->blocks = calloc(peers + 1, sizeof(*player->blocks));
    player->at = calloc(peers + 1, sizeof(*player->at));
    player->taken = calloc(peers + 1, sizeof(*player->taken));
    if (NULL == player->buffer || NULL == player->knows || NULL == player->blocks ||
        NULL == player->at || NULL == player->taken) {
        return false;
    }
    player->buffer[player->count++] = (uint16_t)node;
    player->knows[node] = true;
    return true;
}

static void drop_player(struct player *player)
{
    free(player->schedule.steps);
    free(player->buffer);
    free(player->knows);
    free(player->blocks);
    free(player->at);
    free(player->taken);
}

/* Returns the index of the oldest message from `from` to `to` that was sent and not yet received,
 * or `npeers` if there is none. In the simulation a message carries the whole buffer, and the
 * receiver cuts it to what it needs. */
static uint32_t find_sent(const struct player *from, uint32_t to)
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
static bool make_room(struct player *player, uint32_t more)
{
    const uint32_t count = player->count + more;
    if (count > UINT16_MAX) {
        return false;
    }
    if (count > player->room) {
        uint16_t *buffer = realloc(player->buffer, (size_t)2 * count * sizeof(*buffer));
        if (NULL == buffer) {
            return false;
        }
        player->buffer = buffer;
        player->room = 2 * count;
    }
    return true;
}

/* Receives a message with the first `blocks[sent]` blocks of the sender, without trailing blocks
 * that the receiver already has. Returns false if they do not fit. */
static bool take_blocks(struct player *player, const struct player *from, uint32_t sent)
{
    uint32_t count = from->blocks[sent];
    while (count > 0 && player->knows[from->buffer[count - 1]]) {
        --count;
    }
    if (!make_room(player, count)) {
        return false;
    }
    from->blocks[sent] = (uint16_t)count;
    from->taken[sent] = true;
    player->blocks[player->peer] = (uint16_t)count;
    player->at[player->peer] = (uint16_t)player->count;
    for (uint32_t b = 0; b < count; ++b) {
        player->buffer[player->count++] = from->buffer[b];
        player->knows[from->buffer[b]] = true;
    }
    return true;
}

/* Advances the node by one message. Returns false if it has to wait for a message or is done, or if
 * the simulation was given up. */
static bool advance_node(struct game *game, uint32_t node)
{
    struct player *player = &game->players[node];
    if (player->step == player->schedule.nsteps) {
        return false;
    }
    const struct mcp_step *step = &player->schedule.steps[player->step];
    if (player->done == step->sends + step->waits) {
        ++player->step;
        player->done = 0;
        return true;
    }
    if (player->done < step->sends) {
        player->blocks[player->peer] = (uint16_t)player->count;
    } else {
        const struct player *from = &game->players[player->schedule.peers[player->peer]];
        const uint32_t sent = find_sent(from, node);
        if (sent == from->schedule.npeers) {
            return false;
        }
        if (!take_blocks(player, from, sent)) {
            game->given_up = true;
            return false;
        }
    }
    ++player->done;
    ++player->peer;
    return true;
}

/* Advances all nodes until none can. */
static void play_schedules(struct game *game)
{
    bool moved = true;
    while (moved && !game->given_up) {
        moved = false;
        for (uint32_t n = 0; n < game->nodes; ++n) {
            while (advance_node(game, n)) {
                moved = true;
            }
        }
    }
}

/* Returns whether all nodes have completed and know all blocks; then `carry` gets the sizes. */
static bool check_complete(const struct game *game, bool rooted, struct myr_carry *carry)
{
    for (uint32_t n = 0; n < game->nodes; ++n) {
        const struct player *player = &game->players[n];
        if (player->step != player->schedule.nsteps) {
            return false;
        }
        carry->buffer_blocks =
            player->count > carry->buffer_blocks ? player->count : carry->buffer_blocks;
        for (uint32_t p = 0; p < player->schedule.npeers; ++p) {
            carry->most = player->blocks[p] > carry->most ? player->blocks[p] : carry->most;
        }
        for (uint32_t other = 0; other < game->nodes; ++other) {
            if (!player->knows[other] && (0 == n || !rooted)) {
                return false;
            }
        }
    }
    return true;
}

/* Passes ownership of the node's tables to the caller. */
static bool hand_over_tables(struct game *game, uint32_t node, struct myr_carry *carry)
{
    struct player *player = &game->players[node];
    carry->position_of = calloc(game->nodes, sizeof(*carry->position_of));
    if (NULL == carry->position_of) {
        return false;
    }
    /* backwards, because the first position of a block counts */
    for (uint32_t b = player->count; b-- > 0;) {
        carry->position_of[player->buffer[b]] = (uint16_t)b;
    }
    carry->blocks = player->blocks;
    carry->at = player->at;
    player->blocks = player->at = NULL;
    return true;
}

bool myr_carry_plan(uint32_t nodes, uint32_t node, myr_schedule_fn schedule_of, const void *context,
                    bool rooted, struct myr_carry *carry)
{
    *carry = (struct myr_carry){.buffer_blocks = 0};
    struct game game = {nodes, NULL, false};
    if (nodes <= MYR_CARRY_NODES) {
        game.players = calloc(nodes, sizeof(*game.players));
    }
    bool good = NULL != game.players;
    for (uint32_t n = 0; good && n < nodes; ++n) {
        good = make_player(&game.players[n], nodes, n, schedule_of, context);
    }
    if (good) {
        play_schedules(&game);
        good = !game.given_up && check_complete(&game, rooted, carry) &&
               hand_over_tables(&game, node, carry);
    }
    for (uint32_t n = 0; NULL != game.players && n < nodes; ++n) {
        drop_player(&game.players[n]);
    }
    free(game.players);
    return good;
}

void myr_carry_free(struct myr_carry *carry)
{
    free(carry->blocks);
    free(carry->at);
    free(carry->position_of);
    *carry = (struct myr_carry){.buffer_blocks = 0};
}
